"""How near the judged trainings come to those of the paper: `reach` of each verdict in claims.json.

A ratio compares the largest with the largest: of the trainings behind a verdict the one with the most parameters,
tokens or operations, over that of the paper for the same claim (paper_sizes.yaml). Both count alike: tokens are
supervised ones, operations are 6 N D. A size that the paper does not give leaves its ratio None.
"""

from collections.abc import Iterable, Mapping
from dataclasses import replace
from typing import Any

import pandas as pd

from allmlp.judging.evidence import Evidence
from allmlp.spec import catalogue

SMALL = 0.1  # of the paper's; below it a verdict is about a small scale
SIZED = "training"  # a formula, the code and the beginning of a training do not wait for its size
RATIOS = ("parameters", "tokens", "operations")


def claim_reach(
    found: Evidence, claim: Mapping[str, Any], trainings: list[str], levelled: Mapping[str, Any] | None
) -> dict[str, Any]:
    """The reach of a claim's verdict at one scale. trainings: the runs that it is about; levelled: how these ended,
    from `training_levels.measure_levels`.

    `parameters`, `tokens`, `operations`: ratios, None if unknown. `levelled`: all, some, none or unknown; None without
    trainings. `about`: of the claim, None for a claim of this project. `small_scale`: None if no size tells.
    `inferred`: does a ratio rest on a size that the paper does not print?
    """
    row = catalogue.paper_sizes(found.study).get(claim["id"], {})
    about, size = row.get("about"), row.get("size") or {}
    ratios = _ratios(_costs(found, trainings), size)
    return {
        **ratios,
        "levelled": _levelled_part(levelled),
        "about": about,
        "small_scale": is_small_scale(about, ratios.values()),
        "inferred": any(number.get("inferred", False) for number in size.values()),
    }


def is_small_scale(about: str | None, ratios: Iterable[float | None]) -> bool | None:
    """Is a verdict about less than a tenth of the paper's size, in any of its ratios? None: not known."""
    if about is None:
        return None
    known = list(ratios)
    if about != SIZED or any(ratio is not None and ratio < SMALL for ratio in known):
        return about == SIZED
    return None if None in known else False


def _costs(found: Evidence, runs: list[str]) -> pd.DataFrame:
    """The measure `cost` of these runs: parameters, tokens and operations."""
    held = [run for run in runs if run in found.content["measurements"].get("cost", {})]
    return replace(found, content={**found.content, "planned": {"cost": held}}).table("cost")


def _ratios(costs: pd.DataFrame, size: Mapping[str, Mapping[str, Any]]) -> dict[str, float | None]:
    count = "non_embedding_parameters" if "non_embedding_parameters" in size else "parameters"
    paper = {name: size[name]["value"] for name in (count, "tokens", "operations") if name in size}
    if count in paper and "tokens" in paper:
        paper.setdefault("operations", 6 * paper[count] * paper["tokens"])
    if costs.empty:
        return dict.fromkeys(RATIOS)
    here = {
        count: costs[count],
        "tokens": costs["supervised_tokens"],
        "operations": 6.0 * costs[count] * costs["supervised_tokens"],
    }
    return {
        name: float(f"{here[key].max() / paper[key]:.3g}") if key in paper else None
        for name, key in zip(RATIOS, here, strict=True)
    }


def _levelled_part(counted: Mapping[str, Any] | None) -> str | None:
    if counted is None:
        return None
    if counted["level"] == counted["of"]:
        return "all"
    if counted["unknown"] == counted["of"]:
        return "unknown"
    return "some" if counted["level"] else "none"
