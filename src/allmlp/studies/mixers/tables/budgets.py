"""Every model beside the flat mixer at equal steps, equal time and equal FLOPs: differences and t intervals."""

import pandas as pd

from allmlp.report.statistics import t_interval
from allmlp.studies.mixers import budgets
from allmlp.studies.mixers.comparisons import AGAINST_FLAT, KEYS, differences
from allmlp.studies.mixers.parts import FLAT, TRAINING, settings_of
from allmlp.studies.parts import of_part

MEASURES = ["learning_curve"]
PARTS = [TRAINING]
PAPER = "tables and text of every section on training"
CLAIMS = ["001-7", "001-8", "001-10", "001-11", "001-15", "001-17", "001-18", "001-19", "001-20", "001-own-1"]
TITLE = "Every model beside the flat mixer, by what is held equal"
CAPTION = (
    "Held-out loss of each model minus that of the flat mixer of the same width, depth and padding (nats, paired by "
    "seed; below 0 the model is ahead), at equal training steps, at equal time on one device, and at equal counted "
    "operations, with 95 % t intervals: three columns, because the article's unit of compute, hours of one card, hides "
    "which of them decides; an empty cell means runs that cannot be held equal so. Seconds and FLOPs of one step over "
    "the flat mixer's, seconds by the benchmark that timed all models, else as the median over seeds. Parallel "
    "matrices, where they were run, add up to one matrix and are applied as one, so that their steps cost less here "
    "than the article's (E001-18). The hybrid as published, where it was run, sees under left padding the tokens that "
    "it is to predict (E001-10)."
)


def tabulate(tables: dict[str, pd.DataFrame]) -> pd.DataFrame:
    """One row per model, flat mixers first; interval ends are empty for a single seed."""
    curves = budgets.curves(of_part(tables["learning_curve"], TRAINING))
    rows = differences(tables["learning_curve"])
    found = [_own(of_model, curves) for _, of_model in _flat(curves)]
    for setting, of_model in rows.groupby("setting", sort=False):
        first = of_model.iloc[0]
        ours = _of(curves, first["variant"], first["size"], first["padding"])
        row = {"model": setting, **_ends(ours), **_ratios(ours, _of(curves, FLAT, first["size"], first["padding"]))}
        for unit, name in AGAINST_FLAT.items():
            interval = t_interval(of_model[unit].to_numpy())
            row |= {f"{name}_nats": interval.mean, f"{unit}_low": interval.low, f"{unit}_high": interval.high}
        found.append(row)
    return pd.DataFrame(found).replace([float("inf"), float("-inf")], float("nan"))


def _flat(curves: pd.DataFrame) -> list[tuple[object, pd.DataFrame]]:
    return list(curves[curves["variant"].eq(FLAT)].groupby(KEYS, sort=False))


def _own(rows: pd.DataFrame, curves: pd.DataFrame) -> dict[str, object]:
    return {"model": settings_of(rows).iloc[0], **_ends(rows), **_ratios(rows, rows)}


def _of(curves: pd.DataFrame, variant: str, size: str, padding: str) -> pd.DataFrame:
    return curves[curves["variant"].eq(variant) & curves["size"].eq(size) & curves["padding"].eq(padding)]


def _ends(rows: pd.DataFrame) -> dict[str, object]:
    """Seeds, steps, and the mean losses at the end, of one model."""
    losses = {name: budgets.ends(rows, f"{name}_nats").mean() for name in ("train", "validation")}
    return {
        "seeds": rows["seed"].nunique(),
        "steps": int(rows["step"].max()),
        "rate": rows["learning_rate"].iloc[0],
        **{f"{name}_at_end_nats": loss for name, loss in losses.items()},
    }


def _ratios(rows: pd.DataFrame, flat: pd.DataFrame) -> dict[str, object]:
    """What a step costs over the flat mixer's: median seconds, counted FLOPs."""
    return {
        "seconds_over_flat": _seconds(rows) / _seconds(flat),
        "flops_over_flat": _flops(rows) / _flops(flat),
    }


def _seconds(rows: pd.DataFrame) -> float:
    after = rows[rows["step"].gt(0)]
    return float((after["seconds"] / after["step"]).iloc[0])


def _flops(rows: pd.DataFrame) -> float:
    after = rows[rows["step"].gt(0)]
    return float((after["flops"] / after["step"]).iloc[0])
