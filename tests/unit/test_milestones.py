"""Study 004's counts of written text: words, pairs, sequences of four, copied runs, and the use of context."""

import math
from pathlib import Path
from types import SimpleNamespace

import numpy as np
import pandas as pd
import pytest
import torch
from hypothesis import given, settings
from hypothesis import strategies as st

from allmlp import models
from allmlp.data import tokenizers, tokens
from allmlp.data.tokenizers.specs import Chunks
from allmlp.judging.rules import NotPlannedError
from allmlp.studies.triangular import tables
from allmlp.studies.triangular.measures import samples as sampling
from allmlp.studies.triangular.measures.samples import (
    COPIED,
    SAMPLES,
    WORDS,
    _text,
    context_gain,
    count_samples,
    milestones,
    samples,
)
from allmlp.studies.triangular.paper_numbers import OF_THE_PAPER, SAMPLE
from allmlp.studies.triangular.text_overlap import WORD, WordRun, Words, corpus_words
from tests import judging
from tests.unit.known_triangular import milestones as known

TEXTS = [f"Tale {n}: the cat sat on the mat. The dog of {n} ran, and the cat slept on it." for n in range(120)]


@pytest.fixture
def corpus(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """Tokens of short tales as chunks of two characters, in a folder of the test's own; samples are short."""
    monkeypatch.chdir(tmp_path)
    monkeypatch.setattr(sampling, "CHARACTERS", 600)
    monkeypatch.setattr(sampling, "WORDS", 30)
    folder = tmp_path / "results/tokens/tales-00000000"
    fitted = tokenizers.fit(Chunks(length=2, vocabulary=300), TEXTS, tmp_path)
    tokens.write_tokens(TEXTS, fitted, folder, describe={})
    return folder


def trained(steps: tuple[int, ...] = (0, 4)) -> SimpleNamespace:
    """A run as measures see it, with fresh weights at each of its steps."""

    def model(step: int | None = None) -> torch.nn.Module:
        torch.manual_seed(step or 0)
        return models.build("triangular", vocabulary=300, context=12, d_model=6, n_blocks=1).eval()

    run, ending = SimpleNamespace(tokens="tales-00000000"), {"steps_done": steps[-1]}
    return SimpleNamespace(steps=list(steps), model=model, run=run, diverged=False, ending=ending)


words = st.lists(st.sampled_from("abc"), max_size=8)


@settings(max_examples=150, deadline=None)
@given(words, words, st.integers(1, 4))
def test_shares_and_runs_are_those_of_a_search_over_all_parts(text: list[str], sample: list[str], length: int) -> None:
    known, written = Words.from_documents([" ".join(text)]), " ".join(sample)
    parts = [tuple(text[i:j]) for i in range(len(text) + 1) for j in range(i + 1, len(text) + 1)]
    ours = [tuple(sample[i : i + length]) for i in range(len(sample) - length + 1)]
    share = known.share(written, length)
    assert math.isnan(share) if not ours else share == pytest.approx(sum(one in parts for one in ours) / len(ours))
    runs = [tuple(sample[i:j]) for i in range(len(sample) + 1) for j in range(i + 1, len(sample) + 1)]
    found = known.longest_run(written)
    assert found.words == max((len(run) for run in runs if run in parts), default=0)
    assert len(WORD.findall(written[found.start : found.stop])) == found.words


def test_no_sequence_crosses_two_documents_and_case_and_points_do_not_matter() -> None:
    known = Words.from_documents(["The cat sat.", "On the mat"])
    assert known.share("sat on", 2) == 0
    assert known.longest_run("THE, cat; sat on") == WordRun(3, 0, 13)
    assert tables.mark_copy("x THE, cat; y", *known.longest_run("x THE, cat; y")[1:]) == "x ⟦THE, cat⟧; y"


def test_counts_leave_cut_words_out_and_nothing_written_counts_as_nothing_known() -> None:
    known = Words.from_documents(TEXTS)
    found = count_samples(["e cat sat on the mat. Th", "xq zz qq"], known)
    assert found["words"] == 6
    assert found["word_share_1"] == pytest.approx(5 / 6)
    assert found["pair_share_1"] == pytest.approx(1.0)
    assert found["four_word_share_1"] == pytest.approx(1.0)
    assert found["known_word_characters"] == pytest.approx(np.mean([3, 3, 2, 3, 3]))
    assert count_samples(["", "?"], known)["word_share_1"] == 0


@pytest.mark.parametrize("measure", [milestones, samples])
def test_a_measure_gives_the_same_twice(measure, corpus: Path) -> None:
    rows = measure(trained())
    pd.testing.assert_frame_equal(rows, measure(trained()))


def test_samples_hold_so_many_words_and_the_papers_own_stands_beside_them(corpus: Path) -> None:
    rows = samples(trained()).set_index("sample")
    assert sorted(rows.index) == [OF_THE_PAPER, *range(SAMPLES)]
    assert SAMPLE.startswith(rows.loc[OF_THE_PAPER, "text"])
    assert all(len(WORD.findall(text)) <= WORDS for text in rows["text"])
    for text, count, start, stop in rows[["text", "copied_words", "copied_from", "copied_to"]].itertuples(index=False):
        assert len(WORD.findall(text[start:stop])) == count


def test_a_run_that_diverged_has_rows_and_no_numbers_in_them(corpus: Path) -> None:
    lost = trained()
    lost.diverged = True
    rows = milestones(lost)
    assert rows["step"].tolist() == [0, 4]
    assert rows.loc[0, ["words", "context_nats"]].notna().all()
    assert rows.drop(columns="step").loc[1].isna().all()
    lost.steps = [4]
    assert milestones(lost).equals(rows[1:].reset_index(drop=True))
    samples_of = samples(lost).set_index("sample")
    assert samples_of.drop(OF_THE_PAPER)["copied_words"].isna().all()
    assert samples_of.loc[OF_THE_PAPER, "copied_words"] >= 1
    shown = samples_of.reset_index().assign(run="r", seed=0, part="alone", corpus="x")
    table = tables.samples(samples=shown).set_index("part")
    assert table.loc["alone", "written"] == "⟦⟧"


def test_copies_are_looked_for_in_the_whole_of_a_text_like_shakespeares(corpus: Path, monkeypatch) -> None:
    assert COPIED > 5_700_000, "characters of the complete works"
    whole = _text(corpus, "train")
    monkeypatch.setattr(sampling, "COPIED", 10)
    assert len(whole.ids) > 20 * len(_text(corpus, "train").ids)
    assert whole.ids.tolist() == corpus_words(corpus, "train").ids.tolist(), (
        "a text shorter than what is read is read whole"
    )


def test_the_papers_sample_is_found_where_its_text_is() -> None:
    whole = " ".join(WORD.findall(SAMPLE))
    assert Words.from_documents([whole]).longest_run(SAMPLE).words == len(WORD.findall(SAMPLE))


class Recaller(torch.nn.Module):
    """Predicts the first token of its context, whatever follows, with so many nats of confidence."""

    context = 12

    def forward(self, tokens_BT: torch.Tensor) -> torch.Tensor:
        first = torch.nn.functional.one_hot(tokens_BT[:, :1], 300).float()
        return 5 * first.expand(-1, tokens_BT.shape[1], -1)


def test_a_model_that_reads_no_context_gains_nothing_from_it(corpus: Path) -> None:
    class Deaf(Recaller):
        def forward(self, tokens_BT: torch.Tensor) -> torch.Tensor:
            return torch.zeros(*tokens_BT.shape, 300)

    file = tokens.TokenFile(corpus)
    assert context_gain(Deaf(), file) == (6, 0.0)  # type: ignore[arg-type]
    exchanged, gain = context_gain(Recaller(), file)  # type: ignore[arg-type]
    assert exchanged == 6
    assert math.isfinite(gain)


def judged(rows: pd.DataFrame):
    return judging.judged("004-6", milestones=rows)


FULL = {
    100: (0.3, 0.1, 0.0, 0.0),
    1000: (0.7, 0.3, 0.0, 0.0),
    2000: (0.8, 0.6, 0.01, 0.0),
    10_000: (0.9, 0.8, 0.04, 0.1),
    100_000: (0.95, 0.9, 0.06, 0.4),
}


def test_milestones_are_judged_at_the_papers_iterations() -> None:
    found = judged(known(FULL))
    assert found.verdict == "reproduced"
    assert [part.verdict for part in found.parts] == ["reproduced"] * 5
    early = judged(known({**FULL, 1000: (0.4, 0.3, 0.0, 0.0)}))
    assert [part.verdict for part in early.parts] == ["contradicted", *["reproduced"] * 3, "undecided"]
    assert early.verdict == "partly"


EARLY = {100: (0.3, 0.1, 0.0, 0.0), 1000: (0.6, 0.3, 0.01, 0.0)}
LATE = {2000: (0.8, 0.6, 0.01, 0.0), 10_000: (0.9, 0.8, 0.04, 0.1)}


@pytest.mark.parametrize(
    ("shares", "verdict", "said"),
    [
        (EARLY | LATE, "reproduced", "increasing in 6, reversed in 0, undetermined in 0 of 6 seeds"),
        (
            EARLY | {2000: (0.8, 0.6, 0.01, 0.0)},
            "reproduced",
            "increasing in 6",
        ),  # sentences: after all that is reached
        (EARLY | {2000: (0.8, 0.6, 0.04, 0.1)}, "undecided", "undetermined in 6"),  # phrases and sentences side by side
        (EARLY, "undecided", "undetermined in 6"),  # neither phrases nor sentences within the budget
        ({100: EARLY[100]}, "undecided", "undetermined in 6"),
        ({100: (0.3, 0.1, 0.03, 0.0), **LATE}, "contradicted", "reversed in 6"),
        ({100: (0.6, 0.3, 0.03, 0.0)}, "contradicted", "reversed in 6"),  # sentences and never a phrase
    ],
)
def test_the_order_of_milestones_is_increasing_reversed_or_undetermined(shares, verdict, said) -> None:
    part = judged(known(shares)).parts[4]
    assert part.verdict == verdict
    assert said in part.text


def test_seeds_that_disagree_and_too_few_of_them_decide_no_order() -> None:
    rows = known(EARLY | LATE)
    one = (rows["seed"] == 3) & (rows["step"] == 100)
    mixed = rows.assign(four_word_share_1=rows["four_word_share_1"].mask(one, 0.9))
    part = judged(mixed).parts[4]
    assert part.verdict == "undecided"
    assert "increasing in 5, reversed in 1, undetermined in 0 of 6 seeds" in part.text
    assert judged(rows[rows["seed"] < 4]).parts[4].verdict == "undecided"


def test_a_seed_that_diverged_before_a_milestone_counts() -> None:
    rows = known(FULL)
    found = judged(rows[(rows["seed"] != 2) | (rows["step"] < 2000)])
    assert found.parts[0].verdict == "reproduced"
    assert found.parts[1].verdict == "undecided"
    assert "some diverged or gave no number" in found.parts[1].text


def test_a_shorter_training_is_judged_on_what_it_reached_and_says_so() -> None:
    found = judged(known({step: shares for step, shares in FULL.items() if step <= 2000}))
    assert [part.verdict for part in found.parts] == ["reproduced"] * 2 + ["undecided"] * 2 + ["reproduced"]
    assert "no samples at iteration 10,000, the last is 2,000" in found.parts[2].text
    with pytest.raises(NotPlannedError, match="needs runs of pretraining"):
        judged(known(FULL).assign(part="alone"))
