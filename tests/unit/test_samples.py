"""What last-token models write, what of it is known, and how context counts (000-17); contexts and sizes (000-14)."""

from pathlib import Path
from types import SimpleNamespace

import numpy as np
import pandas as pd
import pytest
import torch

from allmlp import models
from allmlp.data.tokens import TokenFile
from allmlp.judging.rules import NotPlannedError
from allmlp.studies.language import prompts
from allmlp.studies.language.figures.losses import contexts
from allmlp.studies.language.measures.formulas import context_parameters
from allmlp.studies.language.measures.samples import context_gain, samples
from allmlp.studies.shared import overlap
from tests import exhibits, judging, tiny
from tests.unit.known_language import lengths, written

TOKENS = "tiny-00000000"


@pytest.fixture
def corpus(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    monkeypatch.chdir(tmp_path)
    tiny.write_tokens(tmp_path)
    return tmp_path / "results/tokens" / TOKENS


def trained(seed: int = 0) -> SimpleNamespace:
    def model() -> torch.nn.Module:
        torch.manual_seed(seed)
        return models.build("mlp", **tiny.SIZES["mlp"]).eval()

    return SimpleNamespace(run=SimpleNamespace(tokens=TOKENS, seed=seed), model=model)


def test_the_papers_prompts_probe_a_bat_and_a_bank() -> None:
    assert len(prompts.PROMPTS) == 6
    assert [prompts.split_prompt(one)[2] for one in prompts.PROBING] == [" bat", " bat", " bank", " bank"]
    assert [prompts.split_prompt(one)[1] for one in prompts.PROBING] == ["the", "A", "a", "river"]


def test_known_trigrams_are_those_of_documents_of_the_train_split(corpus: Path) -> None:
    file = TokenFile(corpus)
    documents = [ids.tolist() for ids in file.documents("train")]
    seen = {tuple(ids[i : i + 3]) for ids in documents for i in range(len(ids) - 2)}
    rng = np.random.default_rng(0)
    for ids in (documents[3], rng.integers(0, 257, 40).tolist(), [*documents[0][:5], 7, 7, 7]):
        found = [tuple(ids[i : i + 3]) for i in range(len(ids) - 2)]
        assert overlap.known_trigrams(ids, corpus) == pytest.approx(np.mean([one in seen for one in found]))
    assert np.isnan(overlap.known_trigrams([1, 2], corpus))


def test_context_gain_is_the_difference_of_two_log_probabilities(corpus: Path) -> None:
    tokenizer, model, pad = TokenFile(corpus).tokenizer, trained().model(), 256
    text = "Once. A bat"

    def log_p(before: str) -> float:
        ids, total = list(before.encode()), 0.0
        for byte in b" bat":
            window = ([pad] * 7 + ids)[-7:]
            total += torch.log_softmax(model(torch.tensor([window])).double(), -1)[0, byte].item()
            ids.append(byte)
        return total

    with torch.no_grad():
        assert context_gain(model, tokenizer, text) == pytest.approx(log_p("Once. A") - log_p("A"))


def test_the_measure_writes_for_each_prompt_and_the_same_twice(corpus: Path) -> None:
    rows = samples(trained())
    assert rows["prompt_text"].tolist() == list(prompts.PROMPTS)
    pd.testing.assert_frame_equal(rows, samples(trained()))
    assert samples(trained(1))["text"].tolist() != rows["text"].tolist()


@pytest.mark.parametrize(("known", "verdict"), [(0.95, "reproduced"), (0.5, "contradicted"), (0.8, "undecided")])
def test_samples_are_judged_by_known_trigrams_and_not_by_context(known: float, verdict: str) -> None:
    found = judging.judged("000-17", samples=written(known, 1.0))
    assert [part.verdict for part in found.parts] == [verdict, "undecided"]
    assert "nats gained by the context: gpt2-last" in found.parts[1].text


def test_one_model_that_fails_does_not_refute_what_is_claimed_of_all() -> None:
    rows = written(0.95, 1.0)
    rows.loc[rows["model"].eq("mlp"), "known_trigrams_1"] = 0.0
    assert [part.verdict for part in judging.judged("000-17", samples=rows).parts] == ["undecided", "undecided"]


def test_samples_need_both_architectures() -> None:
    with pytest.raises(NotPlannedError, match="gpt2-last"):
        judging.judged("000-17", models=["mlp"], samples=written())


def test_the_table_prints_one_line_per_prompt_and_model() -> None:
    found = exhibits.table("language", "samples", {"samples": written()})
    assert len(found) == 12
    assert not found["text"].str.contains("\n|\x07").any()
    assert found["text"].str.contains("¶").all()


def test_weights_beyond_the_context_are_the_same_at_every_length() -> None:
    rows = context_parameters()
    at_paper = rows.query("context == 15").set_index("reading")["parameters"]
    assert at_paper.to_dict() == {"all": 37_589_504, "without norms": 37_520_896, "matrices": 37_486_592}
    assert judging.judged("000-14", context_parameters=rows).verdict == "reproduced"
    grows = rows.assign(beyond_context=rows["beyond_context"] + rows["context"])
    assert judging.judged("000-14", context_parameters=grows).verdict == "contradicted"
    other = rows.assign(beyond_context=rows["beyond_context"] + 1_000_000)
    assert judging.judged("000-14", context_parameters=other).verdict == "contradicted"


def test_the_figure_draws_measured_perplexity_and_counted_weights() -> None:
    paper = exhibits.paper("language")
    figure = contexts(cost=lengths(), context_parameters=context_parameters(), paper=paper)
    left, right = figure.axes
    np.testing.assert_allclose(left.lines[0].get_ydata(), np.exp([2.61, 2.21]), rtol=1e-3)
    assert right.lines[0].get_ydata()[4] == pytest.approx(37.589504)
