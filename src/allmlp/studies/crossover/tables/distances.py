"""How far each all-MLP family is from attention, where, and at which cost: what the findings are written from."""

import numpy as np
import pandas as pd

from allmlp.report.statistics import t_interval
from allmlp.studies.crossover.families import REFERENCE, all_mlp, best_variants, relative, scored

MEASURES = ["score", "resources"]
PAPER = ""
CLAIMS = ["all-own-1", "all-own-2", "all-own-3"]
TITLE = "Distance to attention"
CAPTION = (
    "Of each all-MLP family its best variant on a task, nearest first. Share: its skill over attention's, mean over "
    "the tasks that both can do and attention learnt, with a 95 % t interval over seeds. The other numbers are ratios "
    "to attention on the task named at the end, the first that both did: above one it needs more, or is faster."
)
RATIOS = {
    "parameters": "parameters",
    "flops_per_token": "operations",
    "kept_bytes_per_token": "kept_bytes",
    "training_tokens_per_s": "training_speed",
    "generation_tokens_per_s": "generation_speed",
}
COSTED = ("stories", "bytes", "copying", "recall", "addition", "digits")  # tasks in the order in which costs are told


def tabulate(tables: dict[str, pd.DataFrame]) -> pd.DataFrame:
    """One row per all-MLP family."""
    rows, resources = best_variants(scored(tables["score"])), tables["resources"]
    found = [row for family in all_mlp(rows) if (row := _distance(rows, resources, family))]
    columns = [
        "family",
        "tasks",
        "share",
        "low",
        "high",
        "seeds",
        "nearest",
        "nearest_share",
        "furthest",
        "furthest_share",
    ]
    table = pd.DataFrame(found, columns=[*columns, *RATIOS.values(), "costs_on"])
    return table.sort_values("share", ascending=False, kind="stable", ignore_index=True)


def _distance(rows: pd.DataFrame, resources: pd.DataFrame, family: str) -> dict[str, object] | None:
    shares = {task: share for task in rows["task"].unique() if (share := relative(rows, family, task)) is not None}
    if not shares:
        return None
    means = {task: float(share.mean()) for task, share in shares.items()}
    interval = t_interval(np.mean(list(shares.values()), axis=0))
    nearest, furthest = max(means, key=lambda task: means[task]), min(means, key=lambda task: means[task])
    return {
        "family": family,
        "tasks": len(shares),
        "share": interval.mean,
        "low": interval.low if interval.n > 1 else np.nan,
        "high": interval.high if interval.n > 1 else np.nan,
        "seeds": interval.n,
        "nearest": nearest,
        "nearest_share": means[nearest],
        "furthest": furthest,
        "furthest_share": means[furthest],
        **_ratios(rows, resources, family),
    }


def _ratios(rows: pd.DataFrame, resources: pd.DataFrame, family: str) -> dict[str, object]:
    """What the family's variant needs over what attention's needs, on the first task that both did."""
    best = rows.drop_duplicates(["family", "task"]).set_index(["family", "task"])["column"]
    at = resources.drop_duplicates(["column", "task"]).set_index(["column", "task"])
    for task in COSTED:
        if (family, task) in best.index and (REFERENCE, task) in best.index:
            own, other = (at.loc[(best[name, task], task), list(RATIOS)].astype(float) for name in (family, REFERENCE))
            return {**{RATIOS[str(name)]: ratio for name, ratio in (own / other).items()}, "costs_on": task}
    return {"costs_on": ""}
