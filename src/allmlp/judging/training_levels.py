"""Which trainings have levelled off: from the measure `levelled` if it was taken, else from the measured curve.

If a run's own curve is too noisy or too coarse, all runs of its settings decide together, by the 95 % t interval of
their slopes over the seeds.
"""

from dataclasses import replace
from typing import Any

import numpy as np
import pandas as pd

from allmlp.common import paths
from allmlp.judging.evidence import Evidence
from allmlp.judging.levelling import NONE, Curve, Level, is_within_limit, measure_level
from allmlp.judging.statistics import t_interval

CURVES = ("loss_curve", "learning_curve", "text_curve", "image_curve", "retrieval_curve")
TRAINING = ("loss_nats", "train_nats")  # the names of the loss in these measures
HELD_OUT = ("validation_nats", "held_out_nats", "test_nats")
FEWEST_SEEDS = 3  # fewer give no useful interval of slopes


def run_levels(found: Evidence) -> dict[str, Level]:
    """run -> how it ended, for the trainings of this scale with `levelled` or a curve."""
    if not found.levels:
        of_all = {measure: list(runs) for measure, runs in found.content["measurements"].items()}
        everything = replace(found, content={**found.content, "planned": of_all})
        curves = {run: level for measure in CURVES for run, level in _curve_levels(everything, measure).items()}
        own = curves | {str(row["run"]): _stored_level(row) for row in _rows(everything, "levelled")}
        found.levels.update(_decide_with_seeds(own, found.content["runs"]))
    return found.levels


def _rows(found: Evidence, measure: str) -> list[dict[Any, Any]]:
    return found.table(measure).to_dict("records")


def _stored_level(row: dict[Any, Any]) -> Level:
    return Level(
        source=row["source"],
        values=row["values"],
        loss=row["loss_nats"],
        per_doubling=row["slope_nats_per_doubling"],
        error=row["slope_error_nats"],
        level=None if pd.isna(row["level_1"]) else bool(row["level_1"]),
    )


def _curve_levels(found: Evidence, measure: str) -> dict[str, Level]:
    runs = found.measured_runs(measure)
    if not runs:
        return {}
    rows, counts = found.rows(measure)
    budgets, ends = [found.content["runs"][run]["steps"] for run in runs], np.cumsum(counts)
    curves = [Curve(*of.T) for of in np.split(_curves(rows).to_numpy(), ends[:-1])]
    return {
        run: measure_level(Curve(*(values[np.argsort(curve.steps, kind="stable")] for values in curve)), budget)
        for run, curve, budget in zip(runs, curves, budgets, strict=True)
        if budget
    }


def _curves(rows: pd.DataFrame) -> pd.DataFrame:
    """Steps, training losses and held-out losses, under whichever column names a measure uses."""

    def taken(names: tuple[str, ...]) -> pd.Series:
        return next((rows[name] for name in names if name in rows), pd.Series(NONE, index=rows.index)).astype(float)

    return pd.DataFrame({"steps": rows["step"].astype(float), "training": taken(TRAINING), "held_out": taken(HELD_OUT)})


def _decide_with_seeds(own: dict[str, Level], described: dict[str, Any]) -> dict[str, Level]:
    """Decide runs that are undecided alone by the slopes of all seeds of their settings."""
    alike: dict[str, list[str]] = {}
    for run in own:
        settings = {key: value for key, value in described[run].items() if key != "seed"}
        alike.setdefault(paths.digest(settings, 16), []).append(run)
    found = dict(own)
    for runs in alike.values():
        slopes = [own[run].per_doubling for run in runs if own[run].per_doubling == own[run].per_doubling]
        if len(slopes) >= FEWEST_SEEDS:
            interval = t_interval(slopes)
            together = is_within_limit(interval.mean, interval.half_width)
            found |= {run: replace(own[run], level=together) for run in runs if _is_open(own[run])}
    return found


def _is_open(level: Level) -> bool:
    return level.level is None and level.per_doubling == level.per_doubling


def measure_levels(found: Evidence, runs: list[str]) -> dict[str, Any] | None:
    """How many of these trainings have levelled off, and their steps; None without trainings."""
    if not runs:
        return None
    ended, steps = run_levels(found), [found.content["runs"][run]["steps"] for run in runs]
    return count_levels([ended[run].level if run in ended else None for run in runs], steps)


def count_levels(levels: list[bool | None], steps: list[int]) -> dict[str, Any]:
    """`level` of `of` have levelled off, `unknown` cannot be decided; the least and the most `steps`."""
    level, unknown = levels.count(True), levels.count(None)
    return {"level": level, "of": len(levels), "unknown": unknown, "steps": [min(steps), max(steps)]}


WORDS = {True: "levelled", False: "moving", None: "unknown"}
UNKNOWN = Level("none", 0)


def _columns(level: Level, word: str) -> dict[str, Any]:
    slope = {"slope_nats_per_doubling": level.per_doubling, "slope_error_nats": level.error}
    return {"last_quarter_nats": level.loss, **slope, "levelled": word}


UNTRAINED = _columns(UNKNOWN, "")  # also for a run that is not compared


def columns(found: Evidence) -> dict[str, dict[str, Any]]:
    """run -> the columns of results/tables/runs.csv on how it ended, for the compared trainings of a scale."""
    ended, runs = run_levels(found), found.trainings(list(found.content["planned"]))
    return {run: _columns(level, WORDS[level.level]) for run in runs for level in [ended.get(run, UNKNOWN)]}
