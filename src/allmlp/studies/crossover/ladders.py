"""The steps of a ladder as curves over operations: of one width, or of the best width at each budget."""

import pandas as pd

from allmlp.judging.rules import NotPlannedError
from allmlp.studies.shared.crossing import Curve

TEXT, KEYS = "text", "keys"  # the ladders of config/crossover/long.yaml, as the label `part`
FLAT, HYBRID, LLAMA = "masked-mixer", "hybrid", "llama"


def add_operations(score: pd.DataFrame, cost: pd.DataFrame) -> pd.DataFrame:
    """The rows of trainings with `operations`, as counted; without retrieval, for which nothing is trained."""
    rows = score[score["task"].ne("retrieval")].merge(cost[["run", "counted_flops"]], on="run")
    return rows.rename(columns={"counted_flops": "operations"}).astype({"operations": float})


def width_rows(rows: pd.DataFrame, model: str, width: int) -> pd.DataFrame:
    """The rows of one architecture at one width. NotPlannedError, naming both, for none."""
    found = rows[rows["model"].eq(model) & rows["d_model"].eq(width)]
    if found.empty:
        raise NotPlannedError(f"needs {model} of width {width}, which is not planned")
    return found


def best_widths(rows: pd.DataFrame, model: str) -> pd.DataFrame:
    """At each budget the rows of the width with the highest mean skill over seeds. NotPlannedError for no model.

    A mean with a seed that gave no number counts as the lowest: its skill is 0.
    """
    found = rows[rows["model"].eq(model)]
    if found.empty:
        raise NotPlannedError(f"needs {model}, which is not planned")
    means = found.groupby(["task", "budget", "d_model"])["skill_1"].mean().reset_index()
    best = means.loc[means.groupby(["task", "budget"])["skill_1"].idxmax(), ["task", "budget", "d_model"]]
    return found.merge(best, on=["task", "budget", "d_model"])


def curves(rows: pd.DataFrame, value: str = "value") -> dict[int, Curve]:
    """seed -> curve of a value over operations, of one architecture's rows, one for each budget and seed."""
    ordered = rows.sort_values("operations", kind="stable")
    seeds = {seed: ordered[ordered["seed"].eq(seed)] for seed in sorted(ordered["seed"].unique().tolist())}
    return {seed: Curve(of["operations"].to_numpy(), of[value].to_numpy(float)) for seed, of in seeds.items()}
