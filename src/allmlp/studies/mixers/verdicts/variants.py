"""Flat mixers with something added, hybrids, own statements (001-10, -11, -17 to -19, own-1 to -4). Unit: the seed."""

from collections.abc import Callable
from functools import partial

import pandas as pd

from allmlp.protocols import Evidence
from allmlp.report.statistics import Finding, better, equal
from allmlp.studies.mixers import budgets
from allmlp.studies.mixers.named import FLAT, LLAMA, WINDOWS
from allmlp.studies.mixers.parts import of_model, with_half_the_width
from allmlp.studies.mixers.verdicts.common import (
    NATS,
    behind,
    both,
    in_every_seed,
    of_parts,
    only_on_paper,
    trainings,
)
from allmlp.studies.rules import NotPlannedError, below, every, of_part, undecided

KERNEL, KERNEL_LINEAR, TWO_HEADS = "kernel-4", "kernel-4-linear", "heads-2"
HYBRIDS, LEAKING = ("hybrid-before", "hybrid-beside", "hybrid-after"), "hybrid-as-published"
OF_PAPER = "-v100"  # models that the article trained on four V100
TUNED = f"{LLAMA}{OF_PAPER}-b32"  # the best of its Llamas there


OF_TWO_AND_FOUR = ("two ahead at equal steps", "two alike at equal time", "four not ahead at equal time")


def parallel(evidence: Evidence) -> Finding:
    """001-10: two parallel convolutions help at equal steps and not at equal time; four bring nothing more.

    (a) to (c) of their linear sum, (d) to (f) of a sum of their GELUs, as in the published code (E001-18).
    """
    rows, margin = trainings(evidence), evidence.margin["loss_nats"]
    one, trained = of_model(rows, FLAT), "train_nats"

    def of_sum(ending: str) -> list[Callable[[], Finding]]:
        two, four = (of_model(rows, f"parallel-{count}{ending}") for count in (2, 4))
        return [
            partial(behind, one, two, "steps", margin, trained),
            lambda: equal(budgets.compared(two, one, "seconds", trained), margin, unit=NATS),
            lambda: below(budgets.compared(one, four, "seconds", trained), margin, unit=NATS),
        ]

    linear = of_sum("")
    try:
        of_gelus = of_sum("-gelu")
    except NotPlannedError as error:
        of_gelus = [partial(undecided, f"not judged: {error}")] * len(linear)
    names = [*OF_TWO_AND_FOUR, *(f"{name}, with GELU" for name in OF_TWO_AND_FOUR)]
    letters = zip("abcdef", names, [*linear, *of_gelus], strict=True)
    return of_parts({f"({letter}) {name}": judge for letter, name, judge in letters}, rows)


def positions(evidence: Evidence) -> Finding:
    """001-11: explicit positions in the first block change nothing, in every block they harm."""
    rows, margin = trainings(evidence), evidence.margin["loss_nats"]
    none, first, each = (of_model(rows, name) for name in (FLAT, "positions-first", "positions-every"))
    return of_parts(
        {
            "(a) in the first block": lambda: equal(budgets.compared(first, none, "steps"), margin, unit=NATS),
            "(b) in every block": partial(behind, each, none, "steps", margin),
        }
    )


def kernel(evidence: Evidence) -> Finding:
    """001-17: kernel 4 with an extra linear layer beats an equally tuned Llama of half its width at equal time,
    slightly."""
    rows = trainings(evidence)
    if rows["variant"].eq(TUNED).any():
        mixer, llama = _of_paper(rows, KERNEL_LINEAR), of_model(rows, TUNED)
    else:
        mixer, llama = with_half_the_width(rows, KERNEL_LINEAR, LLAMA)
    losses = both(_of_paper(rows, KERNEL), "") | both(mixer, "extra_layer_")
    return of_parts(
        {
            "(a) Llama behind at equal time": partial(behind, llama, mixer, "seconds", evidence.margin["loss_nats"]),
            "(b) printed losses": partial(only_on_paper, evidence, losses, refuting=2),
        },
        rows,
    )


def two_heads(evidence: Evidence) -> Finding:
    """001-18: two mixing heads beat kernel 4 at equal time, slightly."""
    rows = trainings(evidence)
    heads, one = _of_paper(rows, TWO_HEADS), _of_paper(rows, KERNEL)
    return of_parts(
        {
            "(a) kernel 4 behind at equal time": partial(behind, one, heads, "seconds", evidence.margin["loss_nats"]),
            "(b) printed losses": partial(only_on_paper, evidence, both(heads, "")),
        },
        rows,
    )


def hybrids(evidence: Evidence) -> Finding:
    """001-19: hybrids gain from a leak under left padding alone."""
    rows, margin = trainings(evidence), evidence.margin["loss_nats"]
    leaks = of_part(evidence.table("leak"), "training")
    llama = of_model(rows, LLAMA)
    planned = [name for name in HYBRIDS if name in set(rows["variant"])]
    if not planned:
        raise NotPlannedError(f"needs {' or '.join(HYBRIDS)}, none of which is planned")
    left, leaking = (of_model(rows, name, padding="left") for name in (LLAMA, LEAKING))

    def honest() -> Finding:
        gains = {name: budgets.compared(llama, of_model(rows, name), "seconds") for name in planned}
        return every({name: below(gain, margin, unit=NATS) for name, gain in gains.items()})

    return of_parts(
        {
            "(a) left padding, as published, leaks": lambda: _leaks(of_model(leaks, LEAKING, padding="left")),
            "(b) right padding does not": lambda: _leaks(leaks[leaks["padding"].eq("right")], claimed=False),
            "(c) right padding, no gain at equal time": honest,
            "(d) left padding, as published, gains": partial(behind, left, leaking, "seconds", margin),
        },
        rows,
    )


def _of_paper(rows: pd.DataFrame, variant: str) -> pd.DataFrame:
    """The model of the article's four V100 if it is planned, else the comparison's own."""
    return of_model(rows, variant + OF_PAPER if rows["variant"].eq(variant + OF_PAPER).any() else variant)


def _leaks(rows: pd.DataFrame, *, claimed: bool = True) -> Finding:
    """Does a logit change with later tokens in every seed (claimed), or exactly in none?"""
    changes = rows.groupby("seed")["largest_change_1"].max()
    moved, n = (changes > 0).to_numpy(), len(changes)
    verdict = in_every_seed(moved, n, claimed=claimed)
    text = f"largest change of a logit {changes.max():.3g}; it changes in {moved.sum()} of {n} seeds"
    return Finding(verdict, float(changes.max()), float(changes.min()), float(changes.max()), n, "of a logit", text)


ADDED = ("heads-2", KERNEL, "parallel-2", "parallel-4")  # what is added to a flat mixer


def unit_decides(evidence: Evidence) -> Finding:
    """001-own-1: Llama is ahead of the flat mixer at equal steps, the mixer at equal time."""
    rows, margin = trainings(evidence), evidence.margin["loss_nats"]
    flat, llama = of_model(rows, FLAT), of_model(rows, LLAMA)
    pairs = {
        "(a) Llama ahead at equal steps": (flat, llama, "steps"),
        "(b) the mixer ahead at equal time": (llama, flat, "seconds"),
        "(c) the mixer ahead at equal FLOPs": (llama, flat, "flops"),
    }
    return of_parts({name: partial(behind, *pair, margin) for name, pair in pairs.items()}, rows)


def where_a_document_begins(evidence: Evidence) -> Finding:
    """001-own-2: on windows that begin anywhere the flat mixer loses more, against Llama, than on aligned documents.

    All four are read at the common number of steps, because a gap changes during training.
    """
    aligned, anywhere = trainings(evidence), trainings(evidence, WINDOWS)
    pairs = [[of_model(rows, model) for model in (FLAT, LLAMA)] for rows in (anywhere, aligned)]
    amount = budgets.budget([of_one for pair in pairs for of_one in pair], "steps")
    lost, others = (budgets.at(flat, "steps", amount) - budgets.at(llama, "steps", amount) for flat, llama in pairs)
    return better((lost - others).to_numpy(), evidence.margin["loss_nats"], unit=NATS)


def added_to_a_flat_mixer(evidence: Evidence) -> Finding:
    """001-own-3: heads, kernels and parallel convolutions gain no more than more steps of a flat mixer."""
    rows, margin = trainings(evidence), evidence.margin["loss_nats"]
    flat, added = of_model(rows, FLAT), {name: of_model(rows, name) for name in ADDED}

    def nothing_more(other: pd.DataFrame) -> Finding:
        return below(budgets.compared(flat, other, "flops"), margin, unit=NATS)

    letters = zip("abcd", added.items(), strict=True)
    return of_parts({f"({letter}) {name}": partial(nothing_more, other) for letter, (name, other) in letters})


def overfitting(evidence: Evidence) -> Finding:
    """001-own-4: a kernel of 4 widens the gap between held-out and training loss."""
    rows = trainings(evidence)
    rows = rows.assign(gap_nats=rows["validation_nats"] - rows["train_nats"])
    pair = of_model(rows, KERNEL), of_model(rows, FLAT)
    return behind(*pair, "steps", evidence.margin["loss_nats"], "gap_nats")
