"""Rows of a measurement that belong together: ablations with the published model, ends of text runs; patches."""

import math

import numpy as np
import pandas as pd

from allmlp.judging.rules import NotPlannedError, part_rows
from allmlp.report.seeds import last_rows

PUBLISHED = "published"  # the variant of the published CausalRN
SEARCH = "search"  # the part that searches learning rates


def variants(rows: pd.DataFrame, *names: str) -> pd.DataFrame:
    """The ablations `names` (none: all) and the published CausalRN, at the string length and seeds of the ablations."""
    ablations = part_rows(rows, "ablation")
    if missing := set(names) - set(ablations["variant"]):
        raise NotPlannedError(f"needs the ablations {', '.join(sorted(missing))}, which are not planned")
    comparison = part_rows(rows, "comparison")
    published = comparison[
        comparison["model"].eq("causal-rn")
        & comparison["string_length"].isin(ablations["string_length"])
        & comparison["seed"].isin(ablations["seed"])
    ]
    if set(published["seed"]) != set(ablations["seed"]):
        raise NotPlannedError("needs the published CausalRN at the length and seeds of the ablations")
    return pd.concat(
        [published, ablations[ablations["variant"].isin(names or ablations["variant"])]], ignore_index=True
    )


def one_head_rows(rows: pd.DataFrame) -> pd.DataFrame:
    """The Transformer with several heads, after the sweep's own run with one head at the same learning rate."""
    heads, sweep = part_rows(rows, "heads"), part_rows(rows, "sweep")
    one = sweep[(sweep["model"] == "transformer") & sweep["learning_rate"].isin(heads["learning_rate"])]
    return pd.concat([one, heads], ignore_index=True)


def add_operations(falls: pd.DataFrame, cost: pd.DataFrame) -> pd.DataFrame:
    """`falls` with the counted operations up to 99 %: iterations times what a step of the run costs."""
    by_run = cost.set_index("run")
    per_step = by_run["counted_flops"] / by_run["steps_done"]
    return falls.assign(operations=falls["iterations"] * falls["run"].map(per_step))


def sharpness(falls: pd.DataFrame) -> pd.Series:
    """As `convergence.sharpness`, of rows of the measure `falls`: steps of the fall over steps before it."""
    took = (falls["to_10_steps"] - falls["to_90_steps"]).where(falls["fell"], falls["budget"])
    return took / falls["to_90_steps"].clip(lower=1)


def text_ends(rows: pd.DataFrame) -> pd.DataFrame:
    """The last row of each run on text: its held-out loss after the last step, also as nats_per_byte."""
    last = last_rows(rows).dropna(subset="validation_nats")
    return last.assign(nats_per_byte=last["validation_bits_per_byte"] * math.log(2))


def central_patches(rows: int, columns: int) -> np.ndarray:
    """The patches in the middle, (R, C) bool: the centred rectangle with an area nearest to half the image's (002-9).

    It leaves out as many rows as columns on every side: 12 x 12 of 16 x 16 patches, 2 x 2 of 4 x 4.
    """
    areas = {border: (rows - 2 * border) * (columns - 2 * border) for border in range((min(rows, columns) + 1) // 2)}
    border = min(areas, key=lambda border: abs(areas[border] / (rows * columns) - 0.5))
    inside = np.zeros((rows, columns), dtype=bool)
    inside[border : rows - border, border : columns - border] = True
    return inside
