"""What the rules of study 003 share. The unit is the seed."""

import math
from collections.abc import Mapping
from dataclasses import replace

import numpy as np
import pandas as pd

from allmlp.report.statistics import Finding, better, within_prediction


def of_key_neurons(rows: pd.DataFrame, values: pd.Series) -> np.ndarray:
    """Mean of a per-neuron value over the neurons of key frequencies, one per seed."""
    keys = rows["is_key"].astype(bool)
    return by_seed(rows, values[keys].astype(float).groupby(rows.loc[keys, "seed"]).mean())


def by_seed(rows: pd.DataFrame, values: pd.Series) -> np.ndarray:
    """One value per seed of `rows`; NaN for a seed without any, so that it counts."""
    return values.reindex(sorted(rows["seed"].unique())).to_numpy(dtype=float)


def heavy(rows: pd.DataFrame, margin: Mapping[str, float]) -> pd.DataFrame:
    """Without the frequencies that are fading out."""
    return rows[rows["weight_share_1"] >= margin["weight_share_1"]]


def mean_over_keys(paper: Mapping[str, float], column: str) -> float:
    """The paper's mean over its frequencies: 'abs_error_1' -> mean of 'abs_error_k12_1', ..."""
    stem = column.removesuffix("_1")
    return float(np.mean([value for key, value in paper.items() if key.startswith(f"{stem}_k")]))


def as_paper(values: np.ndarray, printed: float, margin: Mapping[str, float]) -> Finding:
    """Could the paper's number be one more seed's? By a prediction interval of logarithms.

    Of all numbers that round to `printed`, the nearest to our mean is asked for. An interval whose ends are a
    factor of interval_factor_1 or more apart decides nothing in the paper's favour.
    """
    logarithms = np.log(values)
    middle = float(np.exp(logarithms.mean()))
    rounding = margin["rounding_1"]
    nearest = printed if math.isnan(middle) else min(max(middle, printed - rounding), printed + rounding)
    found = within_prediction(logarithms, math.log(nearest), max_half_width=math.log(margin["interval_factor_1"]) / 2)
    low, high = math.exp(found.low), math.exp(found.high)
    text = (
        f"geometric mean {middle:.3g}, 95 % prediction interval {low:.3g} to {high:.3g}, n = {found.n}; "
        f"the paper says {printed:.3g}"
    )
    if found.low > -math.inf and high >= margin["interval_factor_1"] * low:
        text += f" (ends a factor of {high / low:.3g} apart: too wide to tell)"
    return replace(found, value=middle, low=low, high=high, text=text)


def exact(rows: pd.DataFrame, holds: bool, value: float, text: str) -> Finding:
    seeds = int(rows["seed"].nunique())
    return Finding("reproduced" if holds else "contradicted", value, value, value, seeds, "", text)


def in_every_seed(rows: pd.DataFrame, values: np.ndarray, limit: float, name: str) -> Finding:
    """An identity or a theorem: one exception refutes it, one seed without a number (NaN) leaves it open."""
    worst = float(np.nan if np.isnan(values).all() else np.nanmax(values))
    found = exact(rows, not worst > limit, worst, f"{name} {worst:.3g}, allowed {limit:g}, n = {len(values)} seeds")
    return replace(found, verdict="undecided") if np.isnan(values).any() and not worst > limit else found


def times(logarithms: np.ndarray, factor: float) -> Finding:
    """Is a ratio, given by its logarithm in each seed (n,), above `factor`? In the words of the ratio."""
    found = better(logarithms, math.log(factor))
    value, low, high = (float(np.exp(end)) for end in (found.value, found.low, found.high))
    text = f"geometric mean {value:.3g}, 95 % t interval {low:.3g} to {high:.3g}, n = {found.n}, against {factor:g}"
    return replace(found, value=value, low=low, high=high, text=text)
