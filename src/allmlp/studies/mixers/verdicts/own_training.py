"""This project's own statements on training (001-own-1 to 001-own-4). The unit is the seed."""

from typing import TYPE_CHECKING

from allmlp.report.multiplicity import whole
from allmlp.report.statistics import Finding, better
from allmlp.studies.mixers import budgets
from allmlp.studies.mixers.parts import FLAT, LLAMA, WINDOWS, of_model
from allmlp.studies.mixers.verdicts.common import NATS, trainings
from allmlp.studies.mixers.verdicts.variants import KERNEL
from allmlp.studies.rules import below

if TYPE_CHECKING:
    from allmlp.report.evidence import Evidence

ADDED = ("heads-2", KERNEL, "parallel-2", "parallel-4")  # what is added to a flat mixer


def unit_decides(evidence: "Evidence") -> Finding:
    """001-own-1: Llama is ahead of the flat mixer at equal steps, the mixer at equal time."""
    rows, margin = trainings(evidence), evidence.margin["loss_nats"]
    flat, llama = of_model(rows, FLAT), of_model(rows, LLAMA)
    return whole(
        {
            "(a) Llama ahead at equal steps": better(budgets.compared(flat, llama, "steps"), margin, unit=NATS),
            "(b) the mixer ahead at equal time": better(budgets.compared(llama, flat, "seconds"), margin, unit=NATS),
            "(c) the mixer ahead at equal FLOPs": better(budgets.compared(llama, flat, "flops"), margin, unit=NATS),
        }
    )


def where_a_document_begins(evidence: "Evidence") -> Finding:
    """001-own-2: on windows that begin anywhere the flat mixer loses more, against Llama, than on aligned documents."""
    aligned, anywhere = trainings(evidence), trainings(evidence, WINDOWS)
    behind = [budgets.compared(of_model(rows, FLAT), of_model(rows, LLAMA), "steps") for rows in (anywhere, aligned)]
    return better(behind[0] - behind[1], evidence.margin["loss_nats"], unit=NATS)


def added_to_a_flat_mixer(evidence: "Evidence") -> Finding:
    """001-own-3: heads, kernels and parallel convolutions bring nothing that more steps of a flat mixer do not."""
    rows, margin = trainings(evidence), evidence.margin["loss_nats"]
    flat = of_model(rows, FLAT)
    gains = {name: budgets.compared(flat, of_model(rows, name), "flops") for name in ADDED}
    parts = zip("abcd", gains.items(), strict=True)
    return whole({f"({letter}) {name}": below(gain, margin, unit=NATS) for letter, (name, gain) in parts})


def overfitting(evidence: "Evidence") -> Finding:
    """001-own-4: a kernel of 4 widens the gap between held-out and training loss."""
    rows = trainings(evidence)
    rows = rows.assign(gap_nats=rows["validation_nats"] - rows["train_nats"])
    wider = budgets.compared(of_model(rows, KERNEL), of_model(rows, FLAT), "steps", "gap_nats")
    return better(wider, evidence.margin["loss_nats"], unit=NATS)
