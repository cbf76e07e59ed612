"""This project's own statements on training (001-own-1 to 001-own-4). The unit is the seed."""

from functools import partial

import pandas as pd

from allmlp.protocols import Evidence
from allmlp.report.statistics import Finding, better
from allmlp.studies.mixers import budgets
from allmlp.studies.mixers.parts import FLAT, LLAMA, WINDOWS, of_model
from allmlp.studies.mixers.verdicts.common import NATS, behind, of_parts, trainings
from allmlp.studies.mixers.verdicts.variants import KERNEL
from allmlp.studies.rules import below

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

    All four are read at the steps that each of them has had: a gap alters on the way.
    """
    aligned, anywhere = trainings(evidence), trainings(evidence, WINDOWS)
    pairs = [[of_model(rows, model) for model in (FLAT, LLAMA)] for rows in (anywhere, aligned)]
    amount = budgets.budget([of_one for pair in pairs for of_one in pair], "steps")
    lost, others = (budgets.at(flat, "steps", amount) - budgets.at(llama, "steps", amount) for flat, llama in pairs)
    return better((lost - others).to_numpy(), evidence.margin["loss_nats"], unit=NATS)


def added_to_a_flat_mixer(evidence: Evidence) -> Finding:
    """001-own-3: heads, kernels and parallel convolutions bring nothing that more steps of a flat mixer do not."""
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
