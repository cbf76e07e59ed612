"""Families put side by side: skills by task, relative to the best and to attention. Rows are of the measure `score`."""

import numpy as np
import pandas as pd

REFERENCE = "attention"
WITH_ATTENTION = (REFERENCE, "linear attention", "hybrid")  # every other family is all-MLP
LEARNT = 0.05  # a task on which the best has less skill is learnt by nobody: no ratio to it says anything
FEWEST_OF_INTERVAL = 3  # seeds: the t interval of two is 13 times as wide as they lie apart


def scored(rows: pd.DataFrame) -> pd.DataFrame:
    """The rows of trainings, in the matrix's order of tasks."""
    return rows[rows["part"] == "trained"].reset_index(drop=True)


def best_variants(rows: pd.DataFrame) -> pd.DataFrame:
    """For each family and task only the column of the highest mean skill."""
    means = rows.groupby(["family", "task", "column"], sort=False)["skill_1"].mean().reset_index()
    best = means.loc[means.groupby(["family", "task"], sort=False)["skill_1"].idxmax(), ["family", "task", "column"]]
    return rows.merge(best, on=["family", "task", "column"])


def all_mlp(rows: pd.DataFrame) -> list[str]:
    """The families without attention, in their order."""
    return [family for family in rows["family"].unique() if family not in WITH_ATTENTION]


def behind(rows: pd.DataFrame, family: str, task: str) -> np.ndarray | None:
    """(n,) attention's skill minus the family's, by seed; None where one of the two has no run of the task."""
    of_task = rows[rows["task"] == task]
    skills = of_task.pivot(index="seed", columns="family", values="skill_1")
    if not {REFERENCE, family} <= set(skills):
        return None
    return (skills[REFERENCE] - skills[family]).to_numpy()


def shares(rows: pd.DataFrame, family: str) -> dict[str, np.ndarray]:
    """task -> (n,) the family's skill over attention's mean, by seed; of tasks that both did and attention learnt."""
    found = {}
    for task in rows["task"].unique():
        skills = rows[rows["task"] == task].pivot(index="seed", columns="family", values="skill_1")
        if {REFERENCE, family} <= set(skills) and skills[REFERENCE].mean() >= LEARNT:
            found[task] = (skills[family] / skills[REFERENCE].mean()).to_numpy()
    return found


def compared(of_families: dict[str, dict[str, np.ndarray]]) -> tuple[list[str], list[str]]:
    """The families that can be ranked, and the common tasks: those that all of them did.

    of_families: family -> its `shares`. A family of one task is ranked only where none has two: it would leave the
    others nothing else to be ranked on.
    """
    ranked = [family for family, of_tasks in of_families.items() if len(of_tasks) > 1]
    ranked = ranked or [family for family, of_tasks in of_families.items() if of_tasks]
    tasks = list(dict.fromkeys(task for of_tasks in of_families.values() for task in of_tasks))
    return ranked, [task for task in tasks if ranked and all(task in of_families[family] for family in ranked)]
