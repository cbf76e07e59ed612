"""The expanded mixer beside Llama and the flat mixer (001-3, -4, -7, -8, -31). The unit is the seed."""

import math
from dataclasses import replace
from functools import partial

import numpy as np
import pandas as pd

from allmlp.judging.multiplicity import require_all_parts
from allmlp.judging.rules import NotComparableError, judge_all, judge_machines, part_rows, premise
from allmlp.judging.statistics import Finding, Values, judge_better, judge_equal
from allmlp.spec.protocols import Evidence
from allmlp.studies.mixers import budgets, step_times
from allmlp.studies.mixers.names import EXPANDED, FLAT
from allmlp.studies.mixers.parts import half_width_pair, model_rows, widths
from allmlp.studies.mixers.step_times import model_name
from allmlp.studies.mixers.verdicts import common

MANY_HEADS = "llama-16"
PRINTED_WIDTH = 256  # of the expanded mixer with printed losses in the article's training section


def expanded_mixer(evidence: Evidence) -> Finding:
    """001-3: do the expanded mixer's last losses agree with the printed ones?"""
    mixer = widths(common.trainings(evidence), EXPANDED).get(PRINTED_WIDTH)
    return common.judge_at_paper_size(evidence, None if mixer is None else common.last_losses(mixer, ""))


def llama_of_half_the_width(evidence: Evidence) -> Finding:
    """001-4: printed losses; beside the expanded mixer alike at equal steps, worse at equal time, larger in memory."""
    rows, margin = common.trainings(evidence), evidence.margin
    mixer, llama = half_width_pair(rows, EXPANDED, MANY_HEADS)
    memory = evidence.table("training_memory").set_index("run")["peak_bytes"]
    ratio = _seed_values(memory, llama) / _seed_values(memory, mixer)

    def alike() -> Finding:
        printed, both = evidence.paper["equal_steps"], budgets.common_steps([mixer, llama])
        at_steps = min(printed, both)
        apart = budgets.paired_differences(*(budgets.loss_at_amount(one, "steps", at_steps) for one in (llama, mixer)))
        found = judge_equal(apart.to_numpy(), margin["loss_nats"], unit=common.NATS)
        return premise(found, f"both have trained for {both:,.0f} of {printed:,.0f} steps", holds=both >= printed)

    return common.judge_parts(
        {
            "(a) Llama's printed losses": partial(common.judge_at_paper_size, evidence, common.last_losses(llama, "")),
            "(b) alike at equal steps": alike,
            "(c) Llama behind at equal time": partial(
                common.judge_behind, llama, mixer, "seconds", margin["loss_nats"]
            ),
            "(d) Llama's memory over the mixer's": partial(
                judge_better, ratio.to_numpy(), margin["memory_ratio_1"], none=1.0
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
        for key, values in common.last_losses(of_width, "").items()
    }
    known = {key: values for key, values in losses.items() if key in evidence.paper}

    def ahead() -> Finding:
        margin = evidence.margin["loss_nats"]
        return judge_all(
            {
                f"width {width:,}": common.judge_behind(expanded[width], flat[width], "seconds", margin)
                for width in shared
            }
        )

    return common.judge_parts(
        {
            f"(a) flat ahead at equal time, widths {', '.join(map(str, shared))}": ahead,
            "(b) printed losses": partial(common.judge_at_paper_size, evidence, known or None, refuting=2),
        },
        rows,
    )


def expanded_at_equal_samples(evidence: Evidence) -> Finding:
    """001-8: the flat mixer is ahead after the same samples, too, and the expanded one 20 to 50 % slower."""
    rows, margin = common.trainings(evidence), evidence.margin
    flat, expanded = model_rows(rows, FLAT), model_rows(rows, EXPANDED)
    range_ = margin["slower_low_share_1"], margin["slower_high_share_1"]
    losses = {**common.last_losses(expanded, "expanded_"), **common.last_losses(flat, "flat_")}

    def printed() -> Finding:
        found = common.judge_at_paper_size(evidence, losses, refuting=2)
        epoch = evidence.paper["epoch_steps"]
        ends = [budgets.spent_budget(of_one, "steps") for of_one in (flat, expanded)]
        near = all(epoch / budgets.NEARLY <= end <= epoch * budgets.NEARLY for end in ends)
        return premise(found, f"runs end after {min(ends):,.0f} steps or more, the epoch after {epoch:,}", holds=near)

    def slower() -> Finding:
        of_flat, of_expanded = (float(np.median(_step_seconds(rows, of_one))) for of_one in (flat, expanded))
        lost = {str(rows["clock"].iloc[0]): 1 - of_flat / of_expanded}
        return judge_machines(lost, lambda values: common.judge_within(values, *range_, "of the throughput"))

    return common.judge_parts(
        {
            "(a) flat ahead at equal samples": partial(
                common.judge_behind, expanded, flat, "steps", margin["loss_nats"]
            ),
            "(b) throughput lost by expansion": slower,
            "(c) printed losses": printed,
        }
    )


def speed(evidence: Evidence) -> Finding:
    """001-31: seconds per step of a Llama of half the width over those of the expanded mixer, one ratio per machine."""
    margin = evidence.margin
    ratios = _printed_size_ratios() if evidence.scale == budgets.BENCHMARKED else _planned_size_ratios(evidence)
    claimed, factor = evidence.paper["speed_ratio_1"], margin["factor_1"]
    limits = {
        "(a) 10 to 20 times": (margin["speed_low_ratio_1"], margin["speed_high_ratio_1"]),
        "(b) about six times": (claimed / factor, claimed * factor),
    }
    unit = "log of the ratio of seconds per step"

    def between(values: Values, low: float, high: float) -> Finding:
        return common.judge_within(np.log(values), math.log(low), math.log(high), unit)

    found = require_all_parts(
        {name: judge_machines(ratios, partial(between, low=low, high=high)) for name, (low, high) in limits.items()}
    )
    return replace(found, here={"speed_ratio_1": float(np.exp(np.mean(np.log(list(ratios.values())))))})


def _printed_size_ratios() -> dict[str, float]:
    """Machine -> the ratio of the article's own two models, by the medians of the benchmark's rounds."""
    tables = [table for device in step_times.SCALES if (table := step_times.read(device))]
    if not tables:
        raise NotComparableError(budgets.NEEDS_BENCHMARK)
    seconds = {
        table.hardware: [float(np.median(table.printed[name].seconds)) for name in step_times.PRINTED]
        for table in tables
    }
    return {machine: llama / mixer for machine, (mixer, llama) in seconds.items()}


def _planned_size_ratios(evidence: Evidence) -> dict[str, float]:
    """The same of the trainings at this scale's widths, by the medians over seeds."""
    rows = part_rows(evidence.table("learning_curve"), "training")
    pair = half_width_pair(rows, EXPANDED, MANY_HEADS)
    mixer, llama = (float(np.median(_training_seconds(of_one))) for of_one in pair)
    return {f"{budgets.TRAININGS}, at the widths planned here": llama / mixer}


def _seed_values(per_run: pd.Series, rows: pd.DataFrame) -> pd.Series:
    runs = rows.drop_duplicates("run").set_index("seed")["run"]
    return runs.map(per_run).sort_index()


def _step_seconds(rows: pd.DataFrame, of_one: pd.DataFrame) -> np.ndarray:
    """Seconds per step of one model: in each round of the benchmark that timed all, else of each seed's training."""
    if (timed := step_times.model_benchmark(rows)) is not None:
        return timed.seconds[model_name(of_one.iloc[0].to_dict())]
    if of_one["clock"].eq(budgets.NO_CLOCK).any():
        raise NotComparableError(budgets.NEEDS_BENCHMARK)
    return _training_seconds(of_one)


def _training_seconds(rows: pd.DataFrame) -> np.ndarray:
    """Seconds per step of the trainings themselves, by seed."""
    return rows.drop_duplicates("run").sort_values("seed", kind="stable")["seconds_per_step"].to_numpy(dtype=float)
