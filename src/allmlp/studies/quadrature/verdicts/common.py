"""Shared by the rules of study 003. The unit is the seed.

The paper describes one network. Some of ours get a pair wrong, some have another number of key frequencies, so their
errors, bounds and coefficients are not comparable. Claims on these (003-5, -6, -9 to -12) are judged on comparable
networks: they add every pair, with the same number of key frequencies. All networks are reported too.
"""

import math
from collections.abc import Callable, Mapping
from dataclasses import replace
from functools import wraps
from typing import Any

import numpy as np
import pandas as pd

from allmlp.protocols import Evidence
from allmlp.report.multiplicity import whole
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
    """Could the paper's number be that of one more seed? A prediction interval of logarithms decides.

    Of all numbers that round to `printed`, the nearest to our mean is tested. An interval does not reproduce the
    paper's number if its ends differ by a factor of interval_factor_1 or more.
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
    """Is a ratio, given by its logarithm in each seed (n,), above `factor`? The text gives ratios."""
    found = better(logarithms, math.log(factor))
    value, low, high = (float(np.exp(end)) for end in (found.value, found.low, found.high))
    text = f"geometric mean {value:.3g}, 95 % t interval {low:.3g} to {high:.3g}, n = {found.n}, against {factor:g}"
    return replace(found, value=value, low=low, high=high, text=text)


Parts = Callable[[pd.DataFrame, Evidence], Mapping[str, Finding]]


def seeds(evidence: Evidence) -> set[int]:
    """Seeds of the networks with accuracy 1 over all pairs and the paper's number of key frequencies.

    A key frequency is one with at least weight_share_1 of the output weight.
    """
    last = evidence.table("accuracy").sort_values("step").groupby("seed")["accuracy_1"].last()
    keys = heavy(evidence.table("error_table"), evidence.margin).groupby("seed").size()
    alike = (last == 1.0) & (keys.reindex(last.index, fill_value=0) == evidence.margin["keys_count"])
    return {int(seed) for seed in last.index[alike]}


def on_alike(measure: str) -> Callable[[Parts], Callable[[Evidence], Finding]]:
    """Makes a rule of a claim's parts: judged on comparable networks; the text of each also reports all networks."""

    def rule(parts: Parts) -> Callable[[Evidence], Finding]:
        @wraps(parts)
        def judged(evidence: Evidence) -> Finding:
            rows = evidence.table(measure)
            alike, found = rows[rows["seed"].isin(seeds(evidence))], parts(rows, evidence)
            n, of = alike["seed"].nunique(), rows["seed"].nunique()
            if n:
                beside = {name: f"all {of} networks: {one.verdict}, {one.text}" for name, one in found.items()}
                found = parts(alike, evidence)
                found = {name: replace(one, text=f"{one.text}; {beside[name]}") for name, one in found.items()}
            if n < evidence.seeds:
                reason = f"not judged: {n} of {of} networks are like the paper's, {evidence.seeds} are needed"
                untested: dict[str, Any] = {"verdict": "undecided", "n": n, "p": None, "p_against": None}
                found = {name: replace(one, text=f"{reason}; {one.text}", **untested) for name, one in found.items()}
            return whole(found) if len(found) > 1 else next(iter(found.values()))

        return judged

    return rule
