"""How far each all-MLP family is behind attention, where, and at which cost: what findings are written from."""

from collections.abc import Collection

import numpy as np
import pandas as pd

from allmlp.report.statistics import t_interval
from allmlp.studies.crossover.families import (
    FEWEST_OF_INTERVAL,
    REFERENCE,
    all_mlp,
    best_variants,
    compared,
    distances,
    scored,
)

MEASURES = ["score", "resources"]
PAPER = ""
CLAIMS = ["all-own-1", "all-own-2", "all-own-3"]
TITLE = "How far each family is behind attention"
CAPTION = (
    "Of each all-MLP family its best variant on a task, least behind first. Behind: attention's skill minus the "
    "family's, below zero where it is ahead, the mean over the common tasks, which somebody learnt and all ranked "
    f"families can do; from {FEWEST_OF_INTERVAL} seeds on with a 95 % t interval over seeds, paired. A family that has "
    "one such task with attention is not ranked, where others have more. Best and worst are of all tasks that it has "
    "with attention. The other numbers are ratios to attention on the task named at the end, a common one: above one "
    "it needs more, or is faster. Speeds are of one timing each."
)
RATIOS = {
    "parameters": "parameters",
    "flops_per_token": "operations",
    "kept_bytes_per_token": "kept_bytes",
    "training_tokens_per_s": "training_speed",
    "generation_tokens_per_s": "generation_speed",
}
# tasks in the order in which costs are told; retrieval is no training and has none
COSTED = ("stories", "bytes", "copying", "recall", "multi-recall", "addition", "digits")
COLUMNS = ["family", "tasks", "common", "behind", "low", "high", "seeds", "best_on", "best", "worst_on", "worst"]


def tabulate(tables: dict[str, pd.DataFrame]) -> pd.DataFrame:
    """One row per all-MLP family that has a task with attention; `common` is empty for one that is not ranked."""
    rows, resources = best_variants(scored(tables["score"])), tables["resources"]
    of_families = {family: with_attention for family in all_mlp(rows) if (with_attention := distances(rows, family))}
    ranked, common = compared(of_families)
    found = []
    for family, of_tasks in of_families.items():
        on = common if family in ranked else []
        row = {"family": family, **_behind(of_tasks, on), **_extremes(of_tasks)}
        found.append({**row, **_ratios(rows, resources, family, on or of_tasks)})
    table = pd.DataFrame(found, columns=[*COLUMNS, *RATIOS.values(), "costs_on"])
    return table.sort_values("behind", kind="stable", ignore_index=True)


def _behind(of_tasks: dict[str, np.ndarray], common: list[str]) -> dict[str, object]:
    """The mean over the common tasks, nan where there is none, and its interval, nan where seeds are too few."""
    seeds = min(map(len, of_tasks.values()))
    told: dict[str, object] = {"tasks": len(of_tasks), "common": ", ".join(common), "seeds": seeds}
    if not common:
        return {**told, "behind": np.nan, "low": np.nan, "high": np.nan}
    interval = t_interval(np.mean([of_tasks[task] for task in common], axis=0))
    enough = interval.n >= FEWEST_OF_INTERVAL
    low, high = (interval.low, interval.high) if enough else (np.nan, np.nan)
    return {**told, "behind": interval.mean, "low": low, "high": high}


def _extremes(of_tasks: dict[str, np.ndarray]) -> dict[str, object]:
    means = {task: float(behind.mean()) for task, behind in of_tasks.items()}
    best, worst = min(means, key=lambda task: means[task]), max(means, key=lambda task: means[task])
    return {"best_on": best, "best": means[best], "worst_on": worst, "worst": means[worst]}


def _ratios(rows: pd.DataFrame, resources: pd.DataFrame, family: str, tasks: Collection[str]) -> dict[str, object]:
    """What the family's variant needs over what attention's needs, on the first of `tasks` in the order of COSTED."""
    best = rows.drop_duplicates(["family", "task"]).set_index(["family", "task"])["column"]
    at = resources.drop_duplicates(["column", "task"]).set_index(["column", "task"])
    for task in (task for task in COSTED if task in tasks):
        own, other = (at.loc[(best[name, task], task), list(RATIOS)].astype(float) for name in (family, REFERENCE))
        return {**{RATIOS[str(name)]: ratio for name, ratio in (own / other).items()}, "costs_on": task}
    return {"costs_on": ""}
