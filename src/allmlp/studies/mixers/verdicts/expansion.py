"""The expanded mixer beside Llama and the flat mixer (001-3, -4, -7, -8, -31). The unit is the seed."""

import math
from dataclasses import replace
from functools import partial

import numpy as np
import pandas as pd

from allmlp.protocols import Evidence
from allmlp.report.multiplicity import whole
from allmlp.report.statistics import Finding, Values, better, equal
from allmlp.studies.mixers import budgets, step_times
from allmlp.studies.mixers.named import EXPANDED, FLAT
from allmlp.studies.mixers.parts import of_model, widths, with_half_the_width
from allmlp.studies.mixers.step_times import name_of
from allmlp.studies.mixers.verdicts import common
from allmlp.studies.rules import NotComparableError, of_machines, of_part, premise

MANY_HEADS = "llama-16"
PRINTED_WIDTH = 256  # of the expanded mixer with printed losses in the article's training section


def expanded_mixer(evidence: Evidence) -> Finding:
    """001-3: do the expanded mixer's last losses agree with the printed ones?"""
    mixer = widths(common.trainings(evidence), EXPANDED).get(PRINTED_WIDTH)
    return common.only_on_paper(evidence, None if mixer is None else common.both(mixer, ""))


def llama_of_half_the_width(evidence: Evidence) -> Finding:
    """001-4: printed losses; beside the expanded mixer alike at equal steps, worse at equal time, larger in memory."""
    rows, margin = common.trainings(evidence), evidence.margin
    mixer, llama = with_half_the_width(rows, EXPANDED, MANY_HEADS)
    memory = evidence.table("training_memory").set_index("run")["peak_bytes"]
    ratio = _of_seed(memory, llama) / _of_seed(memory, mixer)

    def alike() -> Finding:
        printed, both = evidence.paper["equal_steps"], budgets.budget([mixer, llama], "steps")
        at_steps = min(printed, both)
        apart = budgets.at(llama, "steps", at_steps) - budgets.at(mixer, "steps", at_steps)
        found = equal(apart.to_numpy(), margin["loss_nats"], unit=common.NATS)
        return premise(found, f"both have trained for {both:,.0f} of {printed:,.0f} steps", holds=both >= printed)

    return common.of_parts(
        {
            "(a) Llama's printed losses": partial(common.only_on_paper, evidence, common.both(llama, "")),
            "(b) alike at equal steps": alike,
            "(c) Llama behind at equal time": partial(common.behind, llama, mixer, "seconds", margin["loss_nats"]),
            "(d) Llama's memory over the mixer's": partial(
                better, ratio.to_numpy(), margin["memory_ratio_1"], none=1.0
            ),
        },
        rows,
    )


def flat_against_expanded(evidence: Evidence) -> Finding:
    """001-7: the flat mixer beats the expanded one of the same width at equal time, at every width."""
    rows = common.trainings(evidence)
    flat, expanded = widths(rows, FLAT), widths(rows, EXPANDED)
    shared = sorted(set(flat) & set(expanded))
    losses = {
        key.replace("loss", f"loss_d{width}"): values
        for width, of_width in expanded.items()
        for key, values in common.both(of_width, "").items()
    }
    known = {key: values for key, values in losses.items() if key in evidence.paper}

    def ahead() -> Finding:
        leads = {f"{width}": pd.Series(budgets.compared(expanded[width], flat[width], "seconds")) for width in shared}
        return better(common.smallest(leads).to_numpy(), evidence.margin["loss_nats"], unit=common.NATS)

    return common.of_parts(
        {
            f"(a) flat ahead at equal time, widths {', '.join(map(str, shared))}": ahead,
            "(b) printed losses": partial(common.only_on_paper, evidence, known or None, refuting=2),
        },
        rows,
    )


def expanded_at_equal_samples(evidence: Evidence) -> Finding:
    """001-8: the flat mixer is ahead after the same samples, too, and the expanded one 20 to 50 % slower."""
    rows, margin = common.trainings(evidence), evidence.margin
    flat, expanded = of_model(rows, FLAT), of_model(rows, EXPANDED)
    range_ = margin["slower_low_share_1"], margin["slower_high_share_1"]
    losses = {**common.both(expanded, "expanded_"), **common.both(flat, "flat_")}

    def slower() -> Finding:
        of_flat, of_expanded = (float(np.median(_per_step(rows, of_one))) for of_one in (flat, expanded))
        lost = {str(rows["clock"].iloc[0]): 1 - of_flat / of_expanded}
        return of_machines(lost, lambda values: common.within(values, *range_, "of the throughput"))

    return common.of_parts(
        {
            "(a) flat ahead at equal samples": partial(common.behind, expanded, flat, "steps", margin["loss_nats"]),
            "(b) throughput lost by expansion": slower,
            "(c) printed losses": partial(common.only_on_paper, evidence, losses, refuting=2),
        }
    )


def speed(evidence: Evidence) -> Finding:
    """001-31: seconds per step of a Llama of half the width over those of the expanded mixer, one ratio per machine."""
    margin = evidence.margin
    ratios = _of_printed_size() if evidence.scale == budgets.BENCHMARKED else _of_planned_size(evidence)
    claimed, factor = evidence.paper["speed_ratio_1"], margin["factor_1"]
    limits = {
        "(a) 10 to 20 times": (margin["speed_low_ratio_1"], margin["speed_high_ratio_1"]),
        "(b) about six times": (claimed / factor, claimed * factor),
    }
    unit = "log of the ratio of seconds per step"

    def between(values: Values, low: float, high: float) -> Finding:
        return common.within(np.log(values), math.log(low), math.log(high), unit)

    found = whole(
        {name: of_machines(ratios, partial(between, low=low, high=high)) for name, (low, high) in limits.items()}
    )
    return replace(found, here={"speed_ratio_1": float(np.exp(np.mean(np.log(list(ratios.values())))))})


def _of_printed_size() -> dict[str, float]:
    """Machine -> the ratio of the article's own two models, by the medians of the benchmark's rounds."""
    tables = [table for device in step_times.SCALES if (table := step_times.read(device))]
    if not tables:
        raise NotComparableError(budgets.NEEDS_BENCHMARK)
    seconds = {
        table.hardware: [float(np.median(table.printed[name].seconds)) for name in step_times.PRINTED]
        for table in tables
    }
    return {machine: llama / mixer for machine, (mixer, llama) in seconds.items()}


def _of_planned_size(evidence: Evidence) -> dict[str, float]:
    """The same of the trainings at this scale's widths, by the medians over seeds."""
    rows = of_part(evidence.table("learning_curve"), "training")
    pair = with_half_the_width(rows, EXPANDED, MANY_HEADS)
    mixer, llama = (float(np.median(_of_trainings(of_one))) for of_one in pair)
    return {f"{budgets.TRAININGS}, at the widths planned here": llama / mixer}


def _of_seed(per_run: pd.Series, rows: pd.DataFrame) -> pd.Series:
    runs = rows.drop_duplicates("run").set_index("seed")["run"]
    return runs.map(per_run).sort_index()


def _per_step(rows: pd.DataFrame, of_one: pd.DataFrame) -> np.ndarray:
    """Seconds per step of one model: in each round of the benchmark that timed all, else of each seed's training."""
    if (timed := step_times.of_models(rows)) is not None:
        return timed.seconds[name_of(of_one.iloc[0].to_dict())]
    if of_one["clock"].eq(budgets.NO_CLOCK).any():
        raise NotComparableError(budgets.NEEDS_BENCHMARK)
    return _of_trainings(of_one)


def _of_trainings(rows: pd.DataFrame) -> np.ndarray:
    """Seconds per step of the trainings themselves, by seed."""
    return rows.drop_duplicates("run").sort_values("seed")["seconds_per_step"].to_numpy(dtype=float)
