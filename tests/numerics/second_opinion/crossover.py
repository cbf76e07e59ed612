"""The crossover, by the words of its claims.yaml. The unit is the training seed."""

import numpy as np

from tests.numerics.second_opinion.numbers import Best, Part, above, below, each
from tests.numerics.second_opinion.registry import claim
from tests.numerics.second_opinion.stored import BySeed, Measured, by_seed, grouped, minus, values

LEARNT = 0.05
NOT_ALL_MLP = ("attention", "linear attention", "hybrid")


def families(data: Measured, task: str) -> dict[str, BySeed]:
    """family -> skill by seed of its best variant on a task, by mean over seeds."""
    found = {}
    for family, of in grouped(data.rows("score", task=task), "family").items():
        variants = [by_seed(rows, "skill_1") for rows in grouped(of, "model").values()]
        found[family] = max(variants, key=lambda skill: float(np.mean(list(skill.values()))))
    return found


def behind(data: Measured, task: str) -> dict[str, np.ndarray]:
    """All-MLP family -> attention's skill minus the family's, per seed."""
    of = families(data, task)
    return {name: minus(of["attention"], skill) for name, skill in of.items() if name not in NOT_ALL_MLP}


def learnt(data: Measured, task: str) -> bool:
    """Is the lower end of the 95 % t interval of attention's skill at least 0.05?"""
    return above(values(families(data, task)["attention"]), LEARNT).ends(0.95)[0] >= LEARNT


@claim("all-own-1")
def stories_alike(data: Measured) -> dict[str, Part]:
    leads, known = behind(data, "stories").values(), learnt(data, "stories")
    level, limit = 1 - 0.05 / len(leads), data.margin["skill_1"]
    tried = [below(lead, limit, level=level, supports=known, refutes=known) for lead in leads]
    return {"": Best(min(tried, key=lambda one: one.mean), tuple(tried))}


@claim("all-own-2")
def recall_apart(data: Measured) -> dict[str, Part]:
    task = "multi-recall"
    known = learnt(data, task)
    leads = behind(data, task).values()
    return {"": each(above(lead, data.margin["skill_1"], supports=known, refutes=known) for lead in leads)}


@claim("all-own-3")
def none_near(data: Measured) -> dict[str, Part]:
    limit, found = data.margin["skill_1"], []
    of_tasks = {task: behind(data, task) for task in sorted({row["task"] for row in data.rows("score")})}
    known = {task for task in of_tasks if learnt(data, task)}
    for family in sorted({name for leads in of_tasks.values() for name in leads}):
        leads = {task: of[family] for task, of in of_tasks.items() if family in of}
        if len(leads) > 1:
            near = all(below(lead, limit).ends(0.95)[1] < limit for lead in leads.values())
            near = near and len(known & leads.keys()) > 1
            tried = [above(lead, limit, level=1 - 0.05 / len(leads), refutes=near) for lead in leads.values()]
            found.append(max(tried, key=lambda one: one.ends(one.level)[0]))
    return {"": each(found)}
