"""The expanded mixer beside Llama and the flat mixer (001-3, -4, -7, -8, -31). The unit is the seed."""

import math

import numpy as np
import pandas as pd

from allmlp.protocols import Evidence
from allmlp.report.multiplicity import whole
from allmlp.report.statistics import Finding, better, equal
from allmlp.studies.mixers import budgets
from allmlp.studies.mixers.parts import EXPANDED, FLAT, of_model, widths, with_half_the_width
from allmlp.studies.mixers.verdicts.common import NATS, both, of_parts, only_on_paper, smallest, trainings, within
from allmlp.studies.parts import of_part

MANY_HEADS = "llama-16"
PRINTED_WIDTH = 256  # of the expanded mixer whose losses the article's training section prints


def expanded_mixer(evidence: Evidence) -> Finding:
    """001-3: do the expanded mixer's last losses agree with the printed ones?"""
    mixer = widths(trainings(evidence), EXPANDED).get(PRINTED_WIDTH)
    return only_on_paper(evidence, None if mixer is None else both(mixer, ""))


def llama_of_half_the_width(evidence: Evidence) -> Finding:
    """001-4: printed losses; beside the expanded mixer alike at equal steps, worse at equal time, larger in memory."""
    rows, margin = trainings(evidence), evidence.margin
    mixer, llama = with_half_the_width(rows, EXPANDED, MANY_HEADS)
    memory = evidence.table("training_memory").set_index(["run"])["peak_bytes"]

    def alike() -> Finding:
        at_steps = min(evidence.paper["equal_steps"], budgets.budget([mixer, llama], "steps"))
        apart = budgets.at(llama, "steps", at_steps) - budgets.at(mixer, "steps", at_steps)
        return equal(apart.to_numpy(), margin["loss_nats"], unit=NATS)

    return of_parts(
        {
            "(a) Llama's printed losses": lambda: only_on_paper(evidence, both(llama, "")),
            "(b) alike at equal steps": alike,
            "(c) Llama behind at equal time": lambda: better(
                budgets.compared(llama, mixer, "seconds"), margin["loss_nats"], unit=NATS
            ),
            "(d) Llama's memory over the mixer's": lambda: better(
                (_of_seed(memory, llama) / _of_seed(memory, mixer)).to_numpy(), margin["memory_ratio_1"]
            ),
        }
    )


def flat_against_expanded(evidence: Evidence) -> Finding:
    """001-7: the flat mixer beats the expanded one of the same width at equal time, at every width."""
    rows = trainings(evidence)
    flat, expanded = widths(rows, FLAT), widths(rows, EXPANDED)
    shared = sorted(set(flat) & set(expanded))
    losses = {
        key.replace("loss", f"loss_d{width}"): values
        for width, of_width in expanded.items()
        for key, values in both(of_width, "").items()
    }
    known = {key: values for key, values in losses.items() if key in evidence.paper}

    def ahead() -> Finding:
        leads = {str(d): pd.Series(budgets.compared(expanded[d], flat[d], "seconds")) for d in shared}
        return better(smallest(leads).to_numpy(), evidence.margin["loss_nats"], unit=NATS)

    return of_parts(
        {
            f"(a) flat ahead at equal time, widths {', '.join(map(str, shared))}": ahead,
            "(b) printed losses": lambda: only_on_paper(evidence, known or None, refuting=2),
        }
    )


def expanded_at_equal_samples(evidence: Evidence) -> Finding:
    """001-8: the flat mixer is ahead after the same samples, too, and the expanded one 20 to 50 % slower."""
    rows, margin = trainings(evidence), evidence.margin
    flat, expanded = of_model(rows, FLAT), of_model(rows, EXPANDED)
    slower = 1 - _seconds_per_step(flat) / _seconds_per_step(expanded)
    range_ = margin["slower_low_share_1"], margin["slower_high_share_1"]
    losses = {**both(expanded, "expanded_"), **both(flat, "flat_")}
    return of_parts(
        {
            "(a) flat ahead at equal samples": lambda: better(
                budgets.compared(expanded, flat, "steps"), margin["loss_nats"], unit=NATS
            ),
            "(b) throughput lost by expansion": lambda: within(slower.to_numpy(), *range_, "of the throughput"),
            "(c) printed losses": lambda: only_on_paper(evidence, losses, refuting=2),
        }
    )


def speed(evidence: Evidence) -> Finding:
    """001-31: seconds per step of a Llama of half the width over those of the expanded mixer."""
    rows, margin = of_part(evidence.table("learning_curve"), "training"), evidence.margin
    mixer, llama = with_half_the_width(rows, EXPANDED, MANY_HEADS)
    ratio = np.log((_seconds_per_step(llama) / _seconds_per_step(mixer)).to_numpy(dtype=float))
    claimed, factor = evidence.paper["speed_ratio_1"], margin["factor_1"]
    limits = {
        "(a) 10 to 20 times": (margin["speed_low_ratio_1"], margin["speed_high_ratio_1"]),
        "(b) about six times": (claimed / factor, claimed * factor),
    }
    unit = "log of the ratio of seconds per step"
    parts = {name: within(ratio, math.log(low), math.log(high), unit) for name, (low, high) in limits.items()}
    return whole(parts)


def _of_seed(per_run: pd.Series, rows: pd.DataFrame) -> pd.Series:
    runs = rows.drop_duplicates("run").set_index("seed")["run"]
    return runs.map(per_run).sort_index()


def _seconds_per_step(rows: pd.DataFrame) -> pd.Series:
    return rows.drop_duplicates("run").set_index("seed")["seconds_per_step"].sort_index()
