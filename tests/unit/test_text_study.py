"""Study 002's text: losses per byte, what samples share with the corpus, the rules on it, figures and tables."""

import math
from collections.abc import Callable, Iterable
from pathlib import Path
from types import SimpleNamespace

import numpy as np
import pandas as pd
import pytest
import torch
from hypothesis import given, settings
from hypothesis import strategies as st

from allmlp import models
from allmlp.data import tokens
from allmlp.data.corpora.identity import vocabulary
from allmlp.data.corpora.spec import CorpusSpec
from allmlp.judging.rules import NotPlannedError
from allmlp.pipeline import tokenize
from allmlp.plan import params
from allmlp.plan.context import Context
from allmlp.plan.plan import Plan
from allmlp.studies.copying.measures.texts import SAMPLES, text_curve, text_samples
from allmlp.studies.shared import overlap
from tests import exhibits, judging, tiny
from tests.conftest import lay
from tests.unit.known_copying import KEPT, OF_TEXT, SEEDS, TEXT_STEPS, tables, texts

TOKENS = "tiny-00000000"


@pytest.fixture
def corpus(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """Tokens of counted sentences, in a folder of the test's own."""
    monkeypatch.chdir(tmp_path)
    tiny.write_tokens(tmp_path)
    return tmp_path / "results/tokens" / TOKENS


def trained(end: float = 1.5, seed: int = 0) -> SimpleNamespace:
    """A text run as measures see it, its losses falling to `end` nats a token."""
    rng = np.random.default_rng(seed)
    loss = end + 4 * np.exp(-np.arange(TEXT_STEPS) / 10) + 0.05 * rng.normal(size=TEXT_STEPS)
    log = pd.DataFrame({"step": range(TEXT_STEPS), "loss": loss})
    log["validation_loss"] = (log["loss"] + 0.1).where(log["step"].isin(KEPT))

    def model() -> torch.nn.Module:
        torch.manual_seed(seed)
        return models.build("linear-causal-rn", vocabulary=257, context=12, d_model=8, n_blocks=1).eval()

    ending = {"steps_done": TEXT_STEPS, "validation_loss": end}
    return SimpleNamespace(log=log, ending=ending, run=SimpleNamespace(tokens=TOKENS), model=model)


def test_bits_per_byte_count_the_ends_of_documents_as_tokens_and_not_as_bytes(corpus: Path) -> None:
    rows = text_curve(trained(end=1.25))
    split = tokens.TokenFile(corpus).meta["splits"]["validation"]
    assert split["tokens"] == split["bytes"] + split["documents"]
    assert rows["step"].iloc[-1] == TEXT_STEPS
    assert rows["validation_bits_per_byte"].iloc[-1] == pytest.approx(
        1.25 / math.log(2) * (1 + split["documents"] / split["bytes"])
    )
    assert rows.dropna(subset=["validation_nats", "loss_nats"])["step"].tolist() == list(KEPT)
    assert rows["floor_bits_per_byte"].isna().all(), "the entropy of text that is of no grammar is not known"


@pytest.mark.parametrize("measure", [text_curve, text_samples])
def test_a_measure_gives_the_same_twice(measure, corpus: Path) -> None:
    rows = measure(trained())
    pd.testing.assert_frame_equal(rows, measure(trained()))


def test_samples_are_of_their_own_seeds_and_go_on_from_the_papers_prompt(corpus: Path) -> None:
    rows = text_samples(trained())
    assert rows["sample"].tolist() == list(range(SAMPLES))
    assert rows["text"].nunique() == SAMPLES
    assert (rows["prompt"] == "Three years later,").all()
    compared = {name for name, column in text_samples.columns.items() if column.kind != "timing"}
    assert compared == {"sample", "temperature_1", "prompt"}, "what a model writes is not compared between machines"


def test_the_training_text_is_that_of_the_train_split(corpus: Path) -> None:
    text = overlap.training_text(corpus)
    file = tokens.TokenFile(corpus)
    assert b"\n".join(file.decode(ids).encode() for ids in file.documents("train")) == text
    assert not any(file.decode(ids).encode() in text.split(b"\n") for ids in file.documents("validation"))
    assert {b"story", b"cat"} <= overlap.known_words(corpus)


@settings(max_examples=200, deadline=None)
@given(st.text("ab c", max_size=30), st.text("ab c", max_size=60))
def test_the_longest_copy_is_the_longest_of_all_parts(sample: str, text: str) -> None:
    parts = {sample[i:j] for i in range(len(sample) + 1) for j in range(i, len(sample) + 1)}
    longest = max(len(part) for part in parts if part in text)
    assert overlap.longest_copy(sample.encode(), text.encode()) == longest


def test_a_word_that_may_be_cut_off_is_not_counted() -> None:
    known = frozenset([b"the", b"cat"])
    assert overlap.known_share(b" The caat. the ca", known) == pytest.approx(2 / 3)
    assert math.isnan(overlap.known_share(b" 12 ...", known))


def judged(claim: str, rows: pd.DataFrame, planned: Iterable[str] = OF_TEXT):
    return judging.judged(claim, models=list(planned), text_curve=rows)


@pytest.mark.parametrize(
    ("claim", "corpus"), [("002-7", "wikitext-bytes"), ("002-own-2", "stories-bytes"), ("002-own-5", "classics-bytes")]
)
@pytest.mark.parametrize(
    ("ends", "spread", "expected"),
    [
        ((1.00, 1.01, 0.99), 0.003, "reproduced"),
        ((1.00, 1.01, 0.90), 0.003, "contradicted"),  # one of the two outside is enough
        ((1.00, 1.10, 0.90), 0.003, "contradicted"),  # on whichever side
        ((1.00, 1.00, 0.95), 0.010, "undecided"),
        ((1.00, 1.00, 1.00), 0.200, "undecided"),
    ],
)
def test_curves_are_alike_where_both_differences_lie_within_the_margin(claim, corpus, ends, spread, expected) -> None:
    found = judged(claim, texts(ends, corpus, spread))
    assert found.verdict == expected
    assert found.text.startswith(f"on {corpus}, mean loss at the end in nats per byte: linear-causal-rn 1.")
    assert (found.n, found.unit) == (len(SEEDS), "nats per byte")


def test_a_claim_on_one_corpus_is_not_judged_on_another() -> None:
    for claim, other in (("002-7", "stories-bytes"), ("002-7", "classics-bytes"), ("002-own-2", "wikitext-bytes")):
        with pytest.raises(NotPlannedError, match=r"needs runs on (wikitext|stories)-bytes, which are not planned"):
            judged(claim, texts((1.0, 1.0, 1.0), other))
    with pytest.raises(NotPlannedError, match="needs runs of transformer"):
        judged("002-own-2", texts((1.0, 1.0, 1.0)), planned=("linear-causal-rn", "linear-transformer"))


def test_the_figure_marks_the_floor_only_where_it_is_known() -> None:
    figure, rows = exhibits.figure("copying", "text_curves"), texts((1.2, 1.0, 1.1))
    assert b"entropy of the grammar" in exhibits.svg(figure, {"text_curve": rows})
    unknown = rows.assign(floor_bits_per_byte=math.nan)
    assert b"entropy of the grammar" not in exhibits.svg(figure, {"text_curve": unknown})


def test_the_table_of_losses_has_the_text_runs_only() -> None:
    found = exhibits.table("copying", "text_losses", tables()).set_index("model")
    assert sorted(found.index) == sorted(OF_TEXT)
    assert found.loc["transformer", "nats_per_byte"] == pytest.approx(1.0 + 0.05 * np.mean(SEEDS), abs=0.01)
    assert (found["low"] < found["nats_per_byte"]).all()
    assert found["bits_per_byte"].to_numpy() == pytest.approx(found["nats_per_byte"].to_numpy() / math.log(2))


def test_the_table_of_samples_shows_the_first_one_in_one_line() -> None:
    found = exhibits.table("copying", "text_samples", tables()).set_index("model")
    assert found.loc["transformer", "text"] == " sample 0 of transformer-0·¶ |"
    assert found.loc["transformer", "samples"] == 2 * len(SEEDS)


def test_bytes_need_no_tokens_to_be_planned(published: Path, tmp_path: Path) -> None:
    """No corpora.lock and no network: the vocabulary of bytes is known, and the Hub's corpus is its revision."""
    found = params.load(published)
    for name in ("stories-bytes", "wikitext-bytes"):
        assert vocabulary(name, found.corpora[name], tmp_path) == 257
        assert Context(found, tmp_path, "cpu").tokens(name).startswith(f"{name}-")


def test_real_text_of_the_users_own_is_read_as_bytes(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, shared_data: Callable[[str], Path]
) -> None:
    from allmlp.data.tasks.next_token import NextToken

    source = {"source": "local", "files": [str(shared_data("wikitext/wikitext2_test_raw.txt.xz"))], "passage": 4096}
    spec = CorpusSpec.model_validate({**source, "tokenizer": {"kind": "bytes"}})
    lay(tmp_path)  # the corpora of git: `wiki` is none of them
    monkeypatch.chdir(tmp_path)
    plan = Plan(params.Params("laptop", None, (), {"wiki": spec}, {}), tmp_path)
    file = tokens.TokenFile(tokenize.tokenize_corpus(plan, "wiki"))
    assert file.meta["tokens"] == file.meta["bytes"] + file.meta["documents"]
    batch = NextToken(file.folder, context=64, batch_size=8).batch(0, 0)
    assert file.decode(batch.tokens[0].numpy()).encode() in b"".join(
        file.decode(ids).encode() for ids in file.documents("train")
    )
