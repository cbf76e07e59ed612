"""Rules on text and structure, applied to what they describe and to noise: the numbers of `truth` and `noise` in the
ledgers are computed here again, the truth passes and noise does not.
"""

import lzma
import re
from collections.abc import Callable, Iterator
from functools import cache
from pathlib import Path
from types import SimpleNamespace

import numpy as np
import pandas as pd
import pytest
import torch

from allmlp.spec.measures import Measure
from allmlp.studies.language import neurons
from allmlp.studies.language.classification import BAG_OF_WORDS, N_GRAM, OTHER
from allmlp.studies.language.measures.classes import (
    CONTEXT,
    LONGEST,
    NOISES,
    bag_of_words,
    initial_weights,
    n_gram,
    unit_rows,
)
from allmlp.studies.language.measures.energies import class_energies, energy_map, l1_l2
from allmlp.studies.triangular.measures.samples import (
    CHARACTERS,
    OF_THE_PAPER,
    SAMPLES,
    WORDS,
    count_samples,
)
from allmlp.studies.triangular.text_overlap import WORD, Words
from tests import judging
from tests.conftest import PROJECT
from tests.unit.tried_rules import CLAIMS, SEEDS, assert_as_in_ledger, passages

WIDTH, COUNT = 64, 30  # of a constructed neuron's rows, and neurons of each kind
LOW = 4  # the highest frequency of a low wave

STRUCTURE = {
    "000-6": (class_energies,),
    "000-7": (l1_l2,),
    "000-8": (class_energies,),
    "000-9": (energy_map, l1_l2),
    "000-10": (energy_map,),
    "000-12": (energy_map,),
    "000-16": (l1_l2,),
}
ELSEWHERE = ("000-11", "000-17", "001-29", "002-9")  # test_truth_and_noise_of_words.py, .._of_images.py
TEXT = ("004-6", "004-7")


def test_every_rule_that_describes_text_or_structure_is_tried_here() -> None:
    assert set(CLAIMS) == {*STRUCTURE, *TEXT, *ELSEWHERE}


def test_the_rules_that_cannot_tell_truth_from_noise_are_named() -> None:
    wrong = {
        claim
        for claim, row in CLAIMS.items()
        if any("passes" in one for of in (row["truth"], row["noise"]) for one in of.values())
    }
    page = (PROJECT / "docs/verdicts.md").read_text(encoding="utf-8")
    named = re.findall(r"[0-9]{3}-[0-9]+", page.partition("## What a rule is tried on")[2].partition("##")[0])
    assert sorted(named) == sorted(wrong)


def kinds(seed: int) -> np.ndarray:
    """N-gram neurons of one to four positions, and bag-of-words neurons with more or less noise: (n, T, WIDTH)."""
    rng = np.random.default_rng(seed)
    n_grams = [n_gram(rng, COUNT, WIDTH, positions) for positions in range(1, LONGEST + 1)]
    return np.concatenate([*n_grams, *(bag_of_words(rng, COUNT, WIDTH, noise) for noise in NOISES)])


def with_hybrids(seed: int) -> np.ndarray:
    """The same, and sums of both kinds."""
    rng = np.random.default_rng(seed)
    sums = [
        n_gram(rng, COUNT, WIDTH, positions) + share * bag_of_words(rng, COUNT, WIDTH, 0.0)
        for positions in (1, 2, 3)
        for share in (0.3, 0.6)
    ]
    return np.concatenate([kinds(seed), *sums])


def waves(seed: int) -> np.ndarray:
    """Neurons of one low cosine wave over time, not the constant one, times a random direction."""
    rng = np.random.default_rng(seed)
    count = COUNT * (LONGEST + len(NOISES))
    low = neurons.basis(CONTEXT)[rng.integers(1, LOW + 1, count)]
    return low[:, :, None] * unit_rows(rng, count, 1, WIDTH)


def initial(seed: int) -> np.ndarray:
    """Fresh weights, as many."""
    return initial_weights(np.random.default_rng(100 + seed), COUNT * (LONGEST + len(NOISES)), WIDTH)


def measured(measure: Measure, start: Callable[[int], np.ndarray], end: Callable[[int], np.ndarray]) -> pd.DataFrame:
    """A measure of six runs that go from `start` to `end`."""
    tables = []
    for seed in SEEDS:
        layers = {step: make(seed) for step, make in ((0, start), (100, end), (200, end))}
        weights = {step: torch.tensor(of.reshape(len(of), -1), dtype=torch.float32) for step, of in layers.items()}
        run = SimpleNamespace(
            labels={}, steps=200, seed=seed, tokens=None,
            hyperparameters={"context": CONTEXT}, optimiser={"weight_decay": 0.5},
        )  # fmt: skip
        trained = SimpleNamespace(
            run=run, steps=list(weights), ending={"steps_done": 200},
            log=pd.DataFrame({"step": range(200), "learning_rate": 0.25}),
            weights=lambda step, of=weights: {"first.weight": of[step]},
        )  # fmt: skip
        of_run = {"run": f"r{seed}", "seed": seed, "part": "neurons", "model": "mlp", "d_model": WIDTH}
        tables.append(measure(trained).assign(**of_run))
    return pd.concat(tables, ignore_index=True)


def as_members(rows: pd.DataFrame) -> pd.DataFrame:
    """Neurons of no class as if they were in both, so that the rule is applied to them."""
    if "class" not in rows:
        return rows
    others = rows[rows["class"] == OTHER]
    return pd.concat([others.assign(**{"class": name}) for name in (N_GRAM, BAG_OF_WORDS)], ignore_index=True)


@pytest.mark.parametrize("claim", STRUCTURE)
def test_rules_on_neurons_hold_for_constructed_ones_and_not_for_fresh_weights(claim: str) -> None:
    made = {"000-9": with_hybrids, "000-10": waves, "000-12": waves}.get(claim, kinds)
    modules = {measure.name: measure for measure in STRUCTURE[claim]}
    truth = {name: measured(measure, initial, made) for name, measure in modules.items()}
    # of 000-7, which describes the start too, the noise starts as it should end
    start = made if claim == "000-7" else initial
    none = with_hybrids if made is waves else initial  # sums of the other classes' kinds: no wave is in them
    noise = {name: as_members(measured(measure, start, none)) for name, measure in modules.items()}
    assert_as_in_ledger(claim, judging.judged(claim, **truth), judging.judged(claim, **noise))


@cache
def known(path: Path) -> Words:
    return Words.from_documents(passages(path).read)


def of_samples(path: Path, drawn: Callable[[int], list[str]]) -> pd.DataFrame:
    """`milestones` of six seeds whose samples are these at every iteration that the paper names."""
    steps = judging.claim_of("004-6")[1]["paper"].values()
    rows = [
        {"run": f"r{seed}", "seed": seed, "part": "pretraining", "step": step, "context_nats": float("nan")} | counts
        for seed in SEEDS
        for counts in [count_samples(drawn(seed), known(path))]
        for step in sorted(int(step) for step in steps)
    ]
    return pd.DataFrame(rows)


def words_at_random(text: list[str], seed: int, count: int) -> Iterator[str]:
    """Samples of words in the proportions of the text, in no order, of about as many characters as a model's."""
    words = WORD.findall(" ".join(text[:100]))
    rng = np.random.default_rng(seed)
    for _ in range(count):
        yield " ".join(words[place] for place in rng.integers(len(words), size=1800))


def characters_at_random(text: list[str], seed: int, count: int) -> Iterator[str]:
    """Samples of chunks of two characters in the proportions of the text."""
    joined = "".join(text[:100])
    rng = np.random.default_rng(seed)
    for _ in range(count):
        yield "".join(joined[2 * place : 2 * place + 2] for place in rng.integers(len(joined) // 2, size=5000))


def test_milestones_hold_for_held_out_novels_and_not_for_words_or_characters_at_random(shared_data) -> None:
    path, count = shared_data("classics/british_fiction_26.jsonl.xz"), 1
    novels = passages(path)
    size = CHARACTERS // count
    truth = of_samples(path, lambda seed: [text[:size] for text in novels.held_out[seed * count : (seed + 1) * count]])
    words = of_samples(path, lambda seed: list(words_at_random(novels.read, seed, count)))
    characters = of_samples(path, lambda seed: list(characters_at_random(novels.read, seed, count)))
    columns = ["pair_share_1", "four_word_share_1"]
    noise = characters.assign(**{name: words[name] for name in columns})
    assert_as_in_ledger("004-6", judging.judged("004-6", milestones=truth), judging.judged("004-6", milestones=noise))


def test_held_out_shakespeare_is_not_copied_and_what_is_in_the_training_text_is(shared_data) -> None:
    with lzma.open(shared_data("classics/tinyshakespeare.txt.xz"), "rt", encoding="utf-8", newline="") as file:
        text = file.read()
    read, held_out = text[: len(text) * 9 // 10], text[len(text) * 9 // 10 :]
    known = Words.from_documents([read])

    words = WORD.findall(read)

    def passage(of: str, rng: np.random.Generator) -> str:
        start = rng.integers(len(of) - 4000)
        return " ".join(WORD.findall(of[start : start + 4000])[:WORDS])

    def no_order(rng: np.random.Generator) -> str:
        return " ".join(words[place] for place in rng.integers(len(words), size=WORDS))

    def copied(drawn: Callable[[np.random.Generator], str]) -> pd.DataFrame:
        rng = np.random.default_rng(0)
        rows = [
            {"seed": seed, "sample": number, "part": "fine-tuning", "copied_words": known.longest_run(drawn(rng)).words}
            for seed in SEEDS
            for number in (*range(SAMPLES), OF_THE_PAPER)
        ]
        return pd.DataFrame(rows)

    rows = [
        {"run": f"{part}-{seed}", "seed": seed, "part": part, "corpus": "shakespeare", "variant": "two-averaging"}
        | {"end_nats_per_character": 1.0, "validation_nats_per_character": 1.0}
        for part in ("fine-tuning", "alone-as-long")
        for seed in SEEDS
    ]
    losses = pd.DataFrame(rows)
    tables = {"learning": losses, "loss_curve": losses, "cost": pd.DataFrame()}
    assert_as_in_ledger(
        "004-7",
        judging.judged("004-7", samples=copied(lambda rng: passage(held_out, rng)), **tables),
        judging.judged("004-7", samples=copied(lambda rng: passage(read, rng)), **tables),
    )
    unordered = judging.judged("004-7", samples=copied(no_order), **tables).parts[1]
    assert unordered.verdict == "undecided"
    assert "than words in no order" in unordered.premise_not_met
    assert "mean 2.8" in unordered.text, "as the ledger's reason says"


def test_fresh_weights_are_no_low_waves() -> None:
    """The number beside the noise of 000-10, which is that of sums of the other classes' kinds."""
    rows = measured(energy_map, initial, lambda seed: initial(seed + len(SEEDS)))
    assert judging.judged("000-10", energy_map=rows).value == 0
