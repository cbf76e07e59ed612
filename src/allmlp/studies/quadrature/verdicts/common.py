"""Shared by the rules of study 003. The unit is the seed.

The paper describes one network that adds every pair with four key frequencies. What it prints of an error, a bound or
a coefficient depends on their number: these claims (003-5, -6, part of -10) are judged on comparable networks, accurate
ones with as many key frequencies; all networks are reported too. The form of the logits does not: 003-9 to -12 are
judged on all accurate networks, of seeds that were trained after their rule.
"""

import math
from collections.abc import Callable, Mapping
from dataclasses import replace
from functools import wraps

import numpy as np
import pandas as pd

from allmlp.judging.multiplicity import require_all_parts
from allmlp.judging.rules import NotPlannedError, judge_exact, premise
from allmlp.judging.statistics import Finding, judge_better, judge_near_printed
from allmlp.spec.protocols import Evidence


def values_by_seed(rows: pd.DataFrame, values: pd.Series) -> np.ndarray:
    """One value per seed of `rows`; NaN for a seed without any, so that it counts."""
    return values.reindex(sorted(rows["seed"].unique())).to_numpy(dtype=float)


def heavy_frequencies(rows: pd.DataFrame, margin: Mapping[str, float]) -> pd.DataFrame:
    """Without the frequencies that are fading out."""
    return rows[rows["weight_share_1"] >= margin["weight_share_1"]]


def paper_numbers(paper: Mapping[str, float], column: str) -> list[float]:
    """The paper's numbers of its frequencies: 'abs_error_1' -> those of 'abs_error_k12_1', ..."""
    return [value for key, value in paper.items() if key.startswith(f"{column.removesuffix('_1')}_k")]


def paper_mean(paper: Mapping[str, float], column: str) -> float:
    """The mean of these numbers."""
    return float(np.mean(paper_numbers(paper, column)))


def judge_paper_number(values: np.ndarray, printed: float, margin: Mapping[str, float]) -> Finding:
    """Could the paper's number be that of one more seed, and is it typical? `judge_near_printed` of logarithms decides.

    Of all numbers that round to `printed`, the nearest to our mean is tested. Our geometric mean is to lie within a
    factor of distance_factor_1 of it.
    """
    logarithms = np.log(values)
    middle = float(np.exp(logarithms.mean()))
    rounding = margin["rounding_1"]
    nearest = printed if math.isnan(middle) else min(max(middle, printed - rounding), printed + rounding)
    found = judge_near_printed(logarithms, math.log(nearest), distance=math.log(margin["distance_factor_1"]))
    low, high = math.exp(found.low), math.exp(found.high)
    text = (
        f"geometric mean {middle:.3g}, 95 % prediction interval {low:.3g} to {high:.3g}, n = {found.n}; "
        f"the paper says {printed:.3g}"
    )
    return replace(found, value=middle, low=low, high=high, text=text)


def judge_every_seed(values: np.ndarray, limit: float, name: str) -> Finding:
    """An identity or a theorem: one exception refutes it, one seed without a number (NaN) leaves it open."""
    n, worst = len(values), float(np.nan if np.isnan(values).all() else np.nanmax(values))
    found = judge_exact(not worst > limit, worst, "", f"{name} {worst:.3g}, allowed {limit:g}, n = {n} seeds", n)
    is_open = np.isnan(values).any() and not worst > limit
    return replace(found, verdict="undecided") if is_open else found


def judge_ratio(logarithms: np.ndarray, factor: float) -> Finding:
    """Is a ratio, given by its logarithm in each seed (n,), above `factor`? The text gives ratios."""
    found = judge_better(logarithms, math.log(factor))
    value, low, high = (float(np.exp(end)) for end in (found.value, found.low, found.high))
    text = f"geometric mean {value:.3g}, 95 % t interval {low:.3g} to {high:.3g}, n = {found.n}, against {factor:g}"
    return replace(found, value=value, low=low, high=high, text=text)


Parts = Callable[[pd.DataFrame, Evidence], Mapping[str, Finding]]


def accurate_seeds(evidence: Evidence) -> set[int]:
    """Seeds of the networks with accuracy 1 over all pairs at the end."""
    last = evidence.table("accuracy").sort_values("step", kind="stable").groupby("seed")["accuracy_1"].last()
    return {int(seed) for seed in last.index[last == 1.0]}


def seeds(evidence: Evidence) -> set[int]:
    """Seeds of the accurate networks with the paper's number of key frequencies.

    A key frequency is one with at least weight_share_1 of the output weight.
    """
    keys = heavy_frequencies(evidence.table("error_table"), evidence.margin).groupby("seed").size()
    return accurate_seeds(evidence) & {int(seed) for seed in keys.index[keys == evidence.margin["keys_count"]]}


def require_networks(finding: Finding, n: int, of: int, evidence: Evidence, such: str) -> Finding:
    """The finding on n of some networks; its premise is that there are as many `such` networks as the claim needs."""
    if n >= evidence.seeds:
        return finding
    return premise(replace(finding, n=n), f"{n} of {of} networks {such}, {evidence.seeds} are needed", holds=False)


def judge_alike(measure: str) -> Callable[[Parts], Callable[[Evidence], Finding]]:
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
            found = {
                name: require_networks(one, n, of, evidence, "are like the paper's") for name, one in found.items()
            }
            return _claim(found)

        return judged

    return rule


def judge_accurate(measure: str) -> Callable[[Parts], Callable[[Evidence], Finding]]:
    """Makes a rule of a claim's parts: judged on the accurate networks of seeds from the margin's `first_seed` on.

    NotPlannedError without such seeds: the rule was written with the results of earlier ones known.
    """

    def rule(parts: Parts) -> Callable[[Evidence], Finding]:
        @wraps(parts)
        def judged(evidence: Evidence) -> Finding:
            rows, first = evidence.table(measure), int(evidence.margin["first_seed"])
            rows = rows[rows["seed"] >= first]
            if rows.empty:
                raise NotPlannedError(f"needs networks of seeds from {first} on, which are not planned")
            such = rows[rows["seed"].isin(accurate_seeds(evidence))]
            n, of = such["seed"].nunique(), rows["seed"].nunique()
            found = parts(such if n else rows, evidence)
            return _claim(
                {name: require_networks(one, n, of, evidence, "add every pair") for name, one in found.items()}
            )

        return judged

    return rule


def _claim(found: Mapping[str, Finding]) -> Finding:
    return require_all_parts(found) if len(found) > 1 else next(iter(found.values()))
