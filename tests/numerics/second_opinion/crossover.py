"""The crossover, by the words of its claims.yaml. The unit is the training seed."""

import numpy as np

from tests.numerics.second_opinion.crossing import Curve, lead_changes
from tests.numerics.second_opinion.numbers import Best, Part, above, below, each
from tests.numerics.second_opinion.registry import claim
from tests.numerics.second_opinion.stored import BySeed, Measured, by_seed, grouped, minus, number, values

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
            asked = [lead for task, lead in leads.items() if task in known]
            tried = [above(lead, limit, level=1 - 0.05 / len(asked), refutes=near) for lead in asked]
            found.append(max(tried, key=lambda one: one.ends(one.level)[0]))
    return {"": each(found)}


MIXER, LLAMA, HYBRID = "masked-mixer", "llama", "hybrid"
WIDTHS = {"a": 32, "b": 64, "c": 128}


def ladder(data: Measured, model: str, width: int | None = None) -> dict[int, Curve]:
    """seed -> losses over operations of one model: of a width or, at each budget, of that with most skill."""
    spent = {row["run"]: float(row["counted_flops"]) for row in data.rows("cost", part="text")}
    curves: dict[int, Curve] = {}
    for rows in grouped(data.rows("score", part="text", model=model), "budget").values():
        skills = {d: np.mean([row["skill_1"] for row in of]) for d, of in grouped(rows, "d_model").items()}
        best = width or max(skills, key=lambda d: skills[d])
        for row in rows:
            if row["d_model"] == best:
                curves.setdefault(row["seed"], []).append((spent[row["run"]], number(row["value"])))
    return {seed: sorted(curve) for seed, curve in curves.items()}


def overtaken(data: Measured, other: str, width: int | None = None) -> Part:
    mixer, another = (ladder(data, model, width) for model in (MIXER, other))
    return lead_changes(mixer, another, data.margin["loss_nats"], data.margin["interval_factor_1"])


@claim("all-own-4")
def lead_changes_hands(data: Measured) -> dict[str, Part]:
    return {"": overtaken(data, LLAMA)}


@claim("all-own-5")
def at_every_width(data: Measured) -> dict[str, Part]:
    of_widths = {letter: overtaken(data, LLAMA, width) for letter, width in WIDTHS.items()}
    return {**of_widths, "d": overtaken(data, HYBRID)}
