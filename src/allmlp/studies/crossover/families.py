"""Families compared: skill by task, and how far each is behind attention. Rows are of the measure `score`."""

import numpy as np
import pandas as pd

from allmlp.judging.statistics import judge_better

REFERENCE = "attention"
WITH_ATTENTION = (REFERENCE, "linear attention", "hybrid")  # every other family is all-MLP
LEARNT = 0.05  # skill; a task whose best mean skill is lower counts as learnt by none
FEWEST_OF_INTERVAL = 3  # seeds; the t interval of two seeds is 13 times as wide as their distance


def order_scores(rows: pd.DataFrame) -> pd.DataFrame:
    """The rows of trainings, in the matrix's order of tasks."""
    return rows[rows["part"] == "trained"].reset_index(drop=True)


def is_surely_learnt(found: pd.DataFrame) -> pd.Series:
    """Is a skill, with its mean, low and n over seeds, surely above zero? Few seeds have no interval that could say."""
    return (found["mean"] >= LEARNT) & ((found["low"] > 0) | (found["n"] < FEWEST_OF_INTERVAL))


def best_variants(rows: pd.DataFrame) -> pd.DataFrame:
    """For each family and task only the column with the highest mean skill."""
    means = rows.groupby(["family", "task", "column"], sort=False)["skill_1"].mean().reset_index()
    best = means.loc[means.groupby(["family", "task"], sort=False)["skill_1"].idxmax(), ["family", "task", "column"]]
    return rows.merge(best, on=["family", "task", "column"])


def all_mlp_families(rows: pd.DataFrame) -> list[str]:
    """The families without attention, in order."""
    return [family for family in rows["family"].unique() if family not in WITH_ATTENTION]


def skill_gaps(rows: pd.DataFrame, family: str, task: str) -> np.ndarray | None:
    """(n,) attention's skill minus the family's, by seed; None if one of the two has no run of the task."""
    of_task = rows[rows["task"] == task]
    skills = of_task.pivot(index="seed", columns="family", values="skill_1")
    if not {REFERENCE, family} <= set(skills):
        return None
    return (skills[REFERENCE] - skills[family]).to_numpy()


def distances(rows: pd.DataFrame, family: str) -> dict[str, np.ndarray]:
    """task -> (n,) how far the family is behind attention, for the tasks that both did and a family learnt."""
    best = rows.groupby(["task", "family"], sort=False)["skill_1"].mean().groupby("task", sort=False).max()
    learnt = [task for task in rows["task"].unique() if best[task] >= LEARNT]
    return {task: values for task in learnt if (values := skill_gaps(rows, family, task)) is not None}


def has_attention_learnt(rows: pd.DataFrame, task: str) -> bool:
    """Has attention demonstrably learnt a task: is the lower end of its 95 % t interval over seeds at least LEARNT?"""
    skills = rows.loc[(rows["task"] == task) & (rows["family"] == REFERENCE), "skill_1"]
    return len(skills) > 0 and judge_better(skills.to_numpy(), LEARNT).low >= LEARNT


def comparable_families(of_families: dict[str, dict[str, np.ndarray]]) -> tuple[list[str], list[str]]:
    """The families that can be ranked, and their common tasks.

    of_families: family -> its `distances`. A family with one task is ranked only if none has two, because it would
    leave only that task as a common one.
    """
    ranked = [family for family, of_tasks in of_families.items() if len(of_tasks) > 1]
    ranked = ranked or [family for family, of_tasks in of_families.items() if of_tasks]
    tasks = list(dict.fromkeys(task for of_tasks in of_families.values() for task in of_tasks))
    return ranked, [task for task in tasks if ranked and all(task in of_families[family] for family in ranked)]
