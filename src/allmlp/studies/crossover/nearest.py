"""Which families of the crossover come nearest to attention on the tasks that attention itself learnt."""

from typing import Any

import numpy as np
import pandas as pd

from allmlp.judging.statistics import t_interval
from allmlp.studies.crossover.families import FEWEST_OF_INTERVAL, REFERENCE, best_variants, skill_gaps


def find_lead(tables: list[dict[str, Any]]) -> dict[str, Any]:
    """`lead_on_learnt_tasks` of the tables of a study; empty without these two, and where they are of two scales."""
    found = {item["name"]: item for item in tables if item["name"] in ("skills", "distances") and len(item["rows"])}
    if len(found) < 2 or len({item["scale"] for item in found.values()}) > 1:
        return {}
    return lead_on_learnt_tasks(found["skills"]["rows"], found["distances"]["rows"])


def lead_on_learnt_tasks(skills: pd.DataFrame, distances: pd.DataFrame) -> dict[str, Any]:
    """`learnt`: the common tasks of the ranked families that attention surely learnt; `missed`: the others; `nearest`:
    family -> how far it is behind attention on the learnt ones, the least first; empty if there is none.

    skills, distances: these tables of the crossover, as text. A family has `behind`, `low` and `high` as in
    `distances`, as text, "nan" for an interval of too few seeds.
    """
    ranked = distances[distances["common"] != ""]
    common = ranked["common"].iloc[0].split(", ") if len(ranked) else []
    rows = best_variants(skills.assign(skill_1=skills["skill_1"].astype(float)))
    sure = set(rows.loc[(rows["family"] == REFERENCE) & (rows["learnt"] == "True"), "task"])
    learnt = [task for task in common if task in sure]
    found = {family: _mean_distance(rows, family, learnt) for family in ranked["family"]} if learnt else {}
    nearest = dict(sorted(found.items(), key=lambda one: float(one[1]["behind"])))
    return {"learnt": learnt, "missed": [task for task in common if task not in sure], "nearest": nearest}


def _mean_distance(rows: pd.DataFrame, family: str, tasks: list[str]) -> dict[str, str]:
    of_tasks = [values for task in tasks if (values := skill_gaps(rows, family, task)) is not None]
    interval = t_interval(np.mean(of_tasks, axis=0))
    bounds = (interval.low, interval.high) if len(of_tasks[0]) >= FEWEST_OF_INTERVAL else (np.nan, np.nan)
    return {"behind": str(interval.mean), "low": str(bounds[0]), "high": str(bounds[1])}
