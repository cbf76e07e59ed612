"""Flat mixers with something added, hybrids, own statements (001-10, -11, -17 to -19, own-1 to -4). Unit: the seed."""

from collections.abc import Callable
from functools import partial

import pandas as pd

from allmlp.judging.rules import NotPlannedError, judge_all, judge_below, part_rows, undecided_finding
from allmlp.judging.statistics import Finding, judge_better, judge_equal
from allmlp.spec.protocols import Evidence
from allmlp.studies.mixers import budgets
from allmlp.studies.mixers.names import FLAT, LLAMA, WINDOWS
from allmlp.studies.mixers.parts import half_width_pair, model_rows
from allmlp.studies.mixers.verdicts.common import (
    NATS,
    every_seed_verdict,
    judge_at_paper_size,
    judge_behind,
    judge_parts,
    last_losses,
    trainings,
)

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
    one, trained = model_rows(rows, FLAT), "train_nats"

    def of_sum(ending: str) -> list[Callable[[], Finding]]:
        two, four = (model_rows(rows, f"parallel-{count}{ending}") for count in (2, 4))
        return [
            partial(judge_behind, one, two, "steps", margin, trained),
            lambda: judge_equal(budgets.loss_differences(two, one, "seconds", trained), margin, unit=NATS),
            lambda: judge_below(budgets.loss_differences(one, four, "seconds", trained), margin, unit=NATS),
        ]

    linear = of_sum("")
    try:
        of_gelus = of_sum("-gelu")
    except NotPlannedError as error:
        of_gelus = [partial(undecided_finding, f"not judged: {error}")] * len(linear)
    names = [*OF_TWO_AND_FOUR, *(f"{name}, with GELU" for name in OF_TWO_AND_FOUR)]
    letters = zip("abcdef", names, [*linear, *of_gelus], strict=True)
    return judge_parts({f"({letter}) {name}": judge for letter, name, judge in letters}, rows)


def positions(evidence: Evidence) -> Finding:
    """001-11: explicit positions in the first block change nothing, in every block they harm."""
    rows, margin = trainings(evidence), evidence.margin["loss_nats"]
    none, first, each = (model_rows(rows, name) for name in (FLAT, "positions-first", "positions-every"))
    return judge_parts(
        {
            "(a) in the first block": lambda: judge_equal(
                budgets.loss_differences(first, none, "steps"), margin, unit=NATS
            ),
            "(b) in every block": partial(judge_behind, each, none, "steps", margin),
        }
    )


def kernel(evidence: Evidence) -> Finding:
    """001-17: kernel 4 with an extra linear layer beats an equally tuned Llama of half its width at equal time,
    slightly."""
    rows = trainings(evidence)
    if rows["variant"].eq(TUNED).any():
        mixer, llama = _paper_rows(rows, KERNEL_LINEAR), model_rows(rows, TUNED)
    else:
        mixer, llama = half_width_pair(rows, KERNEL_LINEAR, LLAMA)
    losses = last_losses(_paper_rows(rows, KERNEL), "") | last_losses(mixer, "extra_layer_")
    return judge_parts(
        {
            "(a) Llama behind at equal time": partial(
                judge_behind, llama, mixer, "seconds", evidence.margin["loss_nats"]
            ),
            "(b) printed losses": partial(judge_at_paper_size, evidence, losses, refuting=2),
        },
        rows,
    )


def two_heads(evidence: Evidence) -> Finding:
    """001-18: two mixing heads beat kernel 4 at equal time, slightly."""
    rows = trainings(evidence)
    heads, one = _paper_rows(rows, TWO_HEADS), _paper_rows(rows, KERNEL)
    return judge_parts(
        {
            "(a) kernel 4 behind at equal time": partial(
                judge_behind, one, heads, "seconds", evidence.margin["loss_nats"]
            ),
            "(b) printed losses": partial(judge_at_paper_size, evidence, last_losses(heads, "")),
        },
        rows,
    )


def hybrids(evidence: Evidence) -> Finding:
    """001-19: hybrids gain from a leak under left padding alone."""
    rows, margin = trainings(evidence), evidence.margin["loss_nats"]
    leaks = part_rows(evidence.table("leak"), "training")
    llama = model_rows(rows, LLAMA)
    planned = [name for name in HYBRIDS if name in set(rows["variant"])]
    if not planned:
        raise NotPlannedError(f"needs {' or '.join(HYBRIDS)}, none of which is planned")
    left, leaking = (model_rows(rows, name, padding="left") for name in (LLAMA, LEAKING))

    def honest() -> Finding:
        gains = {name: budgets.loss_differences(llama, model_rows(rows, name), "seconds") for name in planned}
        return judge_all({name: judge_below(gain, margin, unit=NATS) for name, gain in gains.items()})

    return judge_parts(
        {
            "(a) left padding, as published, leaks": lambda: _judge_leak(model_rows(leaks, LEAKING, padding="left")),
            "(b) right padding does not": lambda: _judge_leak(leaks[leaks["padding"].eq("right")], claimed=False),
            "(c) right padding, no gain at equal time": honest,
            "(d) left padding, as published, gains": partial(judge_behind, left, leaking, "seconds", margin),
        },
        rows,
    )


def _paper_rows(rows: pd.DataFrame, variant: str) -> pd.DataFrame:
    """The model of the article's four V100 if it is planned, else the comparison's own."""
    return model_rows(rows, variant + OF_PAPER if rows["variant"].eq(variant + OF_PAPER).any() else variant)


def _judge_leak(rows: pd.DataFrame, *, claimed: bool = True) -> Finding:
    """Does a logit change with later tokens in every seed (claimed), or exactly in none?"""
    changes = rows.groupby("seed")["largest_change_1"].max()
    moved, n = (changes > 0).to_numpy(), len(changes)
    verdict = every_seed_verdict(moved, n, claimed=claimed)
    text = f"largest change of a logit {changes.max():.3g}; it changes in {moved.sum()} of {n} seeds"
    return Finding(verdict, float(changes.max()), float(changes.min()), float(changes.max()), n, "of a logit", text)


ADDED = ("heads-2", KERNEL, "parallel-2", "parallel-4")  # what is added to a flat mixer


def unit_decides(evidence: Evidence) -> Finding:
    """001-own-1: Llama is ahead of the flat mixer at equal steps, the mixer at equal time."""
    rows, margin = trainings(evidence), evidence.margin["loss_nats"]
    flat, llama = model_rows(rows, FLAT), model_rows(rows, LLAMA)
    pairs = {
        "(a) Llama ahead at equal steps": (flat, llama, "steps"),
        "(b) the mixer ahead at equal time": (llama, flat, "seconds"),
        "(c) the mixer ahead at equal FLOPs": (llama, flat, "flops"),
    }
    return judge_parts({name: partial(judge_behind, *pair, margin) for name, pair in pairs.items()}, rows)


def where_a_document_begins(evidence: Evidence) -> Finding:
    """001-own-2: on windows that begin anywhere the flat mixer loses more, against Llama, than on aligned documents.

    All four are read at the common number of steps, because a gap changes during training.
    """
    aligned, anywhere = trainings(evidence), trainings(evidence, WINDOWS)
    pairs = [[model_rows(rows, model) for model in (FLAT, LLAMA)] for rows in (anywhere, aligned)]
    amount = budgets.budget([of_one for pair in pairs for of_one in pair], "steps")
    lost, others = (
        budgets.paired_differences(*(budgets.loss_at_amount(one, "steps", amount) for one in pair)) for pair in pairs
    )
    return judge_better(budgets.paired_differences(lost, others).to_numpy(), evidence.margin["loss_nats"], unit=NATS)


def added_to_a_flat_mixer(evidence: Evidence) -> Finding:
    """001-own-3: heads, kernels and parallel convolutions gain no more than more steps of a flat mixer."""
    rows, margin = trainings(evidence), evidence.margin["loss_nats"]
    flat, added = model_rows(rows, FLAT), {name: model_rows(rows, name) for name in ADDED}

    def nothing_more(other: pd.DataFrame) -> Finding:
        return judge_below(budgets.loss_differences(flat, other, "flops"), margin, unit=NATS)

    letters = zip("abcd", added.items(), strict=True)
    return judge_parts({f"({letter}) {name}": partial(nothing_more, other) for letter, (name, other) in letters})


def overfitting(evidence: Evidence) -> Finding:
    """001-own-4: a kernel of 4 widens the gap between held-out and training loss."""
    rows = trainings(evidence)
    rows = rows.assign(gap_nats=rows["validation_nats"] - rows["train_nats"])
    pair = model_rows(rows, KERNEL), model_rows(rows, FLAT)
    return judge_behind(*pair, "steps", evidence.margin["loss_nats"], "gap_nats")
