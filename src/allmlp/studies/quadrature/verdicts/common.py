"""Shared by the rules of study 003. The unit is the seed."""

import math
from collections.abc import Mapping
from dataclasses import replace

import numpy as np
import pandas as pd

from allmlp.report.statistics import Finding, better, within_prediction
from allmlp.studies.rules import exact


def by_seed(rows: pd.DataFrame, values: pd.Series) -> np.ndarray:
    """One value per seed of `rows`; NaN for a seed without any, so that it counts."""
    return values.reindex(sorted(rows["seed"].unique())).to_numpy(dtype=float)


def heavy(rows: pd.DataFrame, margin: Mapping[str, float]) -> pd.DataFrame:
    """Without the frequencies that are fading out."""
    return rows[rows["weight_share_1"] >= margin["weight_share_1"]]


def of_paper(paper: Mapping[str, float], column: str) -> list[float]:
    """The paper's numbers of its frequencies: 'abs_error_1' -> those of 'abs_error_k12_1', ..."""
    return [value for key, value in paper.items() if key.startswith(f"{column.removesuffix('_1')}_k")]


def mean_of_paper(paper: Mapping[str, float], column: str) -> float:
    """The mean of these numbers."""
    return float(np.mean(of_paper(paper, column)))


def as_paper(values: np.ndarray, printed: float, margin: Mapping[str, float]) -> Finding:
    """Could the paper's number be one more seed's? By a prediction interval of logarithms.

    Of all numbers that round to `printed`, the nearest to our mean is tested. An interval does not reproduce the
    paper's number where its ends are a factor of interval_factor_1 or more apart.
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


def in_every_seed(values: np.ndarray, limit: float, name: str) -> Finding:
    """An identity or a theorem: one exception refutes it, one seed without a number (NaN) leaves it open."""
    n, worst = len(values), float(np.nan if np.isnan(values).all() else np.nanmax(values))
    found = exact(not worst > limit, worst, "", f"{name} {worst:.3g}, allowed {limit:g}, n = {n} seeds", n)
    is_open = np.isnan(values).any() and not worst > limit
    return replace(found, verdict="undecided") if is_open else found


def times(logarithms: np.ndarray, factor: float) -> Finding:
    """Is a ratio, given by its logarithm in each seed (n,), above `factor`? In the words of the ratio."""
    found = better(logarithms, math.log(factor))
    value, low, high = (float(np.exp(end)) for end in (found.value, found.low, found.high))
    text = f"geometric mean {value:.3g}, 95 % t interval {low:.3g} to {high:.3g}, n = {found.n}, against {factor:g}"
    return replace(found, value=value, low=low, high=high, text=text)
