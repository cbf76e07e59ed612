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

from allmlp import models, params, tokenizing, tokens
from allmlp.corpora import CorpusSpec, vocabulary
from allmlp.plan import Context, Plan
from allmlp.studies import overlap
from allmlp.studies.copying.measures import text_curve, text_samples
from allmlp.studies.rules import NotPlannedError
from tests import exhibits, judging, tiny
from tests.conftest import lay

MODELS = ("linear-causal-rn", "transformer", "linear-transformer")
STEPS, KEPT, SEEDS = 60, (0, 1, 10, 30), range(6)
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
    loss = end + 4 * np.exp(-np.arange(STEPS) / 10) + 0.05 * rng.normal(size=STEPS)
    log = pd.DataFrame({"step": range(STEPS), "loss": loss})
    log["validation_loss"] = (log["loss"] + 0.1).where(log["step"].isin(KEPT))

    def model() -> torch.nn.Module:
        torch.manual_seed(seed)
        return models.build("linear-causal-rn", vocabulary=257, context=12, d_model=8, n_blocks=1).eval()

    ending = {"steps_done": STEPS, "validation_loss": end}
    return SimpleNamespace(log=log, ending=ending, run=SimpleNamespace(tokens=TOKENS), model=model)


def test_bits_per_byte_count_the_ends_of_documents_as_tokens_and_not_as_bytes(corpus: Path) -> None:
    rows = text_curve.measure(trained(end=1.25))
    split = tokens.TokenFile(corpus).meta["splits"]["validation"]
    assert split["tokens"] == split["bytes"] + split["documents"]
    assert rows["step"].iloc[-1] == STEPS
    assert rows["validation_bits_per_byte"].iloc[-1] == pytest.approx(
        1.25 / math.log(2) * (1 + split["documents"] / split["bytes"])
    )
    assert rows.dropna(subset=["validation_nats", "loss_nats"])["step"].tolist() == list(KEPT)
    assert rows["floor_bits_per_byte"].isna().all(), "the entropy of text that is of no grammar is not known"


@pytest.mark.parametrize("module", [text_curve, text_samples])
def test_a_measure_gives_the_columns_that_it_declares_and_the_same_twice(module, corpus: Path) -> None:
    rows = module.measure(trained())
    assert list(rows.columns) == list(module.COLUMNS)
    pd.testing.assert_frame_equal(rows, module.measure(trained()))


def test_samples_are_of_their_own_seeds_and_go_on_from_the_papers_prompt(corpus: Path) -> None:
    rows = text_samples.measure(trained())
    assert rows["sample"].tolist() == list(range(text_samples.SAMPLES))
    assert rows["text"].nunique() == text_samples.SAMPLES
    assert (rows["prompt"] == "Three years later,").all()
    compared = {name for name, column in text_samples.COLUMNS.items() if column.kind != "timing"}
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


def rows_of(ends: dict[str, float], corpus: str = "stories-bytes", spread: float = 0.003) -> pd.DataFrame:
    """text_curve of runs that end at these nats a byte, give or take `spread` of a seed's own."""
    parts = []
    for model, end in ends.items():
        for seed in SEEDS:
            rng = np.random.default_rng([seed, len(model)])
            held_out = np.append(end + 3 * np.exp(-np.array(KEPT) / 9), end + 0.05 * seed + spread * rng.normal())
            rows = pd.DataFrame({"step": [*KEPT, STEPS], "validation_nats": held_out})
            bits = {"validation_bits_per_byte": held_out / math.log(2), "training_bits_per_byte": held_out + 0.1}
            rows = rows.assign(**bits, floor_bits_per_byte=0.7, run=f"{model}-{seed}", seed=seed)
            parts.append(rows.assign(model=model, corpus=corpus))
    return pd.concat(parts, ignore_index=True)


def judged(claim: str, rows: pd.DataFrame, planned: Iterable[str] = MODELS):
    return judging.judged(claim, models=list(planned), text_curve=rows)


@pytest.mark.parametrize(("claim", "corpus"), [("002-7", "wikitext-bytes"), ("002-own-2", "stories-bytes")])
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
    found = judged(claim, rows_of(dict(zip(MODELS, ends, strict=True)), corpus, spread))
    assert found.verdict == expected
    assert found.text.startswith(f"on {corpus}, mean loss at the end in nats per byte: linear-causal-rn 1.")
    assert (found.n, found.unit) == (len(SEEDS), "nats per byte")


def test_a_claim_on_one_corpus_is_not_judged_on_another() -> None:
    alike = dict.fromkeys(MODELS, 1.0)
    for claim, other in (("002-7", "stories-bytes"), ("002-7", "novels"), ("002-own-2", "wikitext-bytes")):
        with pytest.raises(NotPlannedError, match=r"needs runs on (wikitext|stories)-bytes, which are not planned"):
            judged(claim, rows_of(alike, other))
    with pytest.raises(NotPlannedError, match="needs runs of transformer"):
        judged("002-own-2", rows_of(alike), planned=("linear-causal-rn", "linear-transformer"))


@pytest.fixture(scope="module")
def tables() -> dict[str, pd.DataFrame]:
    curves = rows_of(dict(zip(MODELS, (1.2, 1.0, 1.1), strict=True)))
    runs = curves[["run", "seed", "model", "corpus"]].drop_duplicates()
    other = pd.DataFrame({"run": ["causal-rn-string16"], "seed": [0], "model": ["causal-rn"]})
    cost = pd.concat([runs, other], ignore_index=True)
    cost = cost.assign(parameters=900, non_embedding_parameters=700, steps_done=STEPS, counted_flops=10**9)
    parts = [runs.assign(sample=sample, prompt="Three years later,", temperature_1=0.7) for sample in (1, 0)]
    samples = pd.concat(parts, ignore_index=True).assign(known_words_1=0.5, longest_copy_bytes=30)
    samples["text"] = [f" sample {s} of {r}\x07\n|" for s, r in zip(samples["sample"], samples["run"], strict=True)]
    return {"text_curve": curves, "cost": cost, "text_samples": samples}


def svg(tables: dict[str, pd.DataFrame]) -> bytes:
    return exhibits.svg(exhibits.figure("copying", "text_curves"), tables)


def test_the_figure_has_the_same_bytes_each_time_and_marks_the_floor_only_where_it_is_known(tables) -> None:
    assert svg(tables) == svg(tables)
    assert len(svg(tables)) < 300_000
    assert b"entropy of the grammar" in svg(tables)
    unknown = tables["text_curve"].assign(floor_bits_per_byte=math.nan)
    assert b"entropy of the grammar" not in svg({**tables, "text_curve": unknown})
    assert svg({**tables, "text_curve": tables["text_curve"].query("seed == 0")})


def test_the_table_of_losses_has_the_text_runs_only(tables) -> None:
    found = exhibits.table("copying", "text_losses", tables).set_index("model")
    assert sorted(found.index) == sorted(MODELS)
    assert found.loc["transformer", "nats_per_byte"] == pytest.approx(1.0 + 0.05 * np.mean(SEEDS), abs=0.01)
    assert (found["low"] < found["nats_per_byte"]).all()
    assert found["bits_per_byte"].to_numpy() == pytest.approx(found["nats_per_byte"].to_numpy() / math.log(2))


def test_the_table_of_samples_shows_the_first_one_in_one_line(tables) -> None:
    found = exhibits.table("copying", "text_samples", tables).set_index("model")
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
    from allmlp.tasks.next_token import NextToken

    source = {"source": "local", "files": [str(shared_data("wikitext/wikitext2_test_raw.txt.xz"))], "passage": 4096}
    spec = CorpusSpec.model_validate({**source, "tokenizer": {"kind": "bytes"}})
    lay(tmp_path)  # the corpora of git: `wiki` is none of them
    monkeypatch.chdir(tmp_path)
    plan = Plan(params.Params("laptop", None, (), {"wiki": spec}, {}), tmp_path)
    file = tokens.TokenFile(tokenizing.tokenize_corpus(plan, "wiki"))
    assert file.meta["tokens"] == file.meta["bytes"] + file.meta["documents"]
    batch = NextToken(file.folder, context=64, batch_size=8).batch(0, 0)
    assert file.decode(batch.tokens[0].numpy()).encode() in b"".join(
        file.decode(ids).encode() for ids in file.documents("train")
    )
