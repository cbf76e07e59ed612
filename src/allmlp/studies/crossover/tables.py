"""Tables of the crossover."""

from collections.abc import Collection

import numpy as np
import pandas as pd

from allmlp.judging.rules import part_rows
from allmlp.judging.statistics import t_interval
from allmlp.report.seeds import aggregate_seeds
from allmlp.spec.columns import Rows
from allmlp.spec.exhibits import table
from allmlp.studies.crossover import families
from allmlp.studies.crossover.families import FEWEST_OF_INTERVAL, REFERENCE


@table("What each architecture can do")
def abilities(abilities: pd.DataFrame) -> pd.DataFrame:
    """Every architecture of the registry and each task: yes, or why its class cannot do it."""
    cells = abilities["reason"].map(lambda reason: f"cannot: {reason}" if reason else "yes")
    shown = abilities.assign(cell=cells).pivot(index="architecture", columns="task", values="cell")
    return shown.loc[abilities["architecture"].unique(), list(abilities["task"].unique())].reset_index()


@table("What each architecture costs", parts=["trained"])
def costs(resources: pd.DataFrame, cost: pd.DataFrame) -> pd.DataFrame:
    """At the size of the matrix. Operations are forward and backward, counted. Kept bytes are held by a forward pass
    for the backward pass, without the head, each storage once. Speeds are tokens per second on the named machine: of
    training, and of generating half a context, token by token, after half a context. Steps are those that the task's
    budget of operations allows. Learning rate: the one that the search chose, beside the largest that it tried; if they
    are the same, a larger one may be better.
    """
    rows = resources.merge(cost[["run", "steps_done", "counted_flops"]], on="run")
    rows = rows.assign(kept_bytes_per_token=rows["kept_bytes_per_token"].round().astype(int))
    names = {"steps_done": "steps", "learning_rate_1": "learning_rate", "largest_rate_1": "largest_rate"}
    sizes = ["task", "family", "model", "parameters", "flops_per_token", "kept_bytes_per_token"]
    spent = ["steps", "counted_flops", "learning_rate", "largest_rate"]
    return rows.rename(columns=names)[[*sizes, *spent, "training_tokens_per_s", "generation_tokens_per_s", "hardware"]]


@table(
    "Learning rates: what each search found",
    claims=["all-own-1", "all-own-2", "all-own-3"],
    parts=["trained", "search"],
)
def learning_rates(score: pd.DataFrame, cost: pd.DataFrame) -> Rows:
    """Held-out loss (nats) at the end of the search's runs, on a seed that nothing else uses; none where every batch is
    fresh: there the last tenth of the training losses decides. edge: the chosen rate is the lowest or the highest that
    was tried, so a better one may lie outside.
    """
    keys, search = ["task", "column"], part_rows(cost, "search")
    chosen = score.drop_duplicates(keys).set_index(keys)["learning_rate_1"]
    for names, rows in search.groupby(keys, sort=False):
        rates = rows["learning_rate"].astype(float)
        rate = float(chosen.get(names, np.nan))
        losses = rows["validation_nats"].mask(rows["diverged"].astype(bool), np.inf).groupby(rates).mean()
        cells = {f"at_{one:g}": loss for one, loss in losses.items()}
        edge = "edge" if rate in (rates.min(), rates.max()) else ""
        steps = int(rows["steps_done"].max())
        yield {**dict(zip(keys, names, strict=True)), "steps": steps, "chosen": rate, "at": edge, **cells}


@table("Retrieval by what learnt the stories", parts=["trained"])
def retrieval(score: pd.DataFrame) -> pd.DataFrame:
    """Share of held-out summaries with their own story as the nearest of a group of candidates, mean over seeds;
    guessed: the same for a random guess. Every model gets the same pairs in the same groups. Only the last tokens of a
    text longer than the context are read. Cut: the share of such texts, the same for all models, because context and
    tokenizer are.
    """
    rows = families.order_scores(score).query("task == 'retrieval'")
    return rows.groupby(["family", "model"], sort=False, as_index=False).agg(
        found_1=("value", "mean"),
        guessed_1=("guess", "first"),
        skill_1=("skill_1", "mean"),
        seeds=("run", "nunique"),
        cut_stories=("cut_stories", "first"),
        cut_summaries=("cut_summaries", "first"),
    )


@table("Skill of every seed", parts=["trained"])
def skills(score: pd.DataFrame, resources: pd.DataFrame) -> pd.DataFrame:
    """Skill at the end of each training, and the counted operations of a training token; retrieval has those of the
    stories' models, which it reads. Learnt: is the mean over seeds surely above zero?
    """
    rows = families.order_scores(score)
    costs = resources.drop_duplicates(["column", "task"])[["column", "task", "flops_per_token"]]
    trained_on = rows["task"].where(rows["task"] != "retrieval", "stories")
    of_costs = costs.rename(columns={"task": "trained_on"})
    found = rows.assign(trained_on=trained_on).merge(of_costs, on=["column", "trained_on"], how="left")
    of_seeds = aggregate_seeds(rows, ["task", "column"], "skill_1")
    found = found.merge(of_seeds.assign(learnt=families.is_surely_learnt(of_seeds)), on=["task", "column"])
    return found[["task", "column", "family", "model", "seed", "skill_1", "learnt", "flops_per_token"]]


RATIOS = {
    "parameters": "parameters",
    "flops_per_token": "operations",
    "kept_bytes_per_token": "kept_bytes",
    "training_tokens_per_s": "training_speed",
    "generation_tokens_per_s": "generation_speed",
}
# tasks in the order in which costs are compared; retrieval has no training and no costs
COSTED = ("stories", "bytes", "copying", "recall", "multi-recall", "addition", "digits")
COLUMNS = ["family", "tasks", "common", "behind", "low", "high", "seeds", "best_on", "best", "worst_on", "worst"]


@table(
    "How far each family is behind attention",
    claims=["all-own-1", "all-own-2", "all-own-3"],
    parts=["trained"],
    values={"fewest_of_interval": FEWEST_OF_INTERVAL},
)
def distances(score: pd.DataFrame, resources: pd.DataFrame) -> pd.DataFrame:
    """The best variant of each all-MLP family on a task, least behind first. Behind: attention's skill minus the
    family's (negative if the family is ahead), mean over the common tasks, with a 95 % t interval over paired seeds
    from {fewest_of_interval} seeds on. A common task was learnt by some family, and all ranked families can do it. A
    family that shares only one such task with attention is not ranked if others share more. Best and worst are over all
    tasks that it shares with attention. The other numbers are ratios to attention on the common task named last: above
    one, the family needs more, or is faster. Speeds are from one timing each.
    """
    rows = families.best_variants(families.order_scores(score))
    of_families = {family: families.distances(rows, family) for family in families.all_mlp_families(rows)}
    of_families = {family: of_tasks for family, of_tasks in of_families.items() if of_tasks}
    ranked, common = families.comparable_families(of_families)
    found = []
    for family, of_tasks in of_families.items():
        on = common if family in ranked else []
        means = {task: float(behind.mean()) for task, behind in of_tasks.items()}
        best, worst = min(means, key=lambda task: means[task]), max(means, key=lambda task: means[task])
        extremes = {"best_on": best, "best": means[best], "worst_on": worst, "worst": means[worst]}
        row = {"family": family, **_mean_distance(of_tasks, on), **extremes}
        found.append({**row, **_ratios(rows, resources, family, on or of_tasks)})
    shown = pd.DataFrame(found, columns=[*COLUMNS, *RATIOS.values(), "costs_on"])
    return shown.sort_values("behind", kind="stable", ignore_index=True)


def _mean_distance(of_tasks: dict[str, np.ndarray], common: list[str]) -> dict[str, object]:
    """The mean over the common tasks, nan without any, and its interval, nan with too few seeds."""
    seeds = min(map(len, of_tasks.values()))
    behind = np.mean([of_tasks[task] for task in common], axis=0) if common else np.full(seeds, np.nan)
    interval = t_interval(behind)
    low, high = (interval.low, interval.high) if common and seeds >= FEWEST_OF_INTERVAL else (np.nan, np.nan)
    about = {"tasks": len(of_tasks), "common": ", ".join(common), "seeds": seeds}
    return {**about, "behind": interval.mean, "low": low, "high": high}


def _ratios(rows: pd.DataFrame, resources: pd.DataFrame, family: str, tasks: Collection[str]) -> dict[str, object]:
    """Ratios of the family's costs to attention's, on the first of `tasks` in the order of COSTED."""
    best = rows.drop_duplicates(["family", "task"]).set_index(["family", "task"])["column"]
    at = resources.drop_duplicates(["column", "task"]).set_index(["column", "task"])
    for task in (task for task in COSTED if task in tasks):
        own, other = (at.loc[(best[name, task], task), list(RATIOS)].astype(float) for name in (family, REFERENCE))
        return {**{RATIOS[str(name)]: ratio for name, ratio in (own / other).items()}, "costs_on": task}
    return {"costs_on": ""}
