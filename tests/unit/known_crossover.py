"""Made-up skills and costs of the crossover's families."""

import numpy as np
import pandas as pd

from allmlp.studies.crossover.fits import TASKS, misfit_reason
from allmlp.studies.crossover.measures.score import abilities

SKILLS = {  # family -> task -> mean skill
    "attention": {"copying": 0.9, "stories": 0.50, "multi-recall": 0.8},
    "hybrid": {"copying": 0.9, "stories": 0.51, "multi-recall": 0.8},
    "masked mixing": {"copying": 0.3, "stories": 0.499, "multi-recall": 0.1},
    "causal relation": {"copying": 0.92, "stories": 0.42, "multi-recall": 0.3},
    "constant attention": {"addition": 1.0},
}


def scores(skills: dict[str, dict[str, float]] = SKILLS, seeds: int = 5) -> pd.DataFrame:
    """Rows of the measure `score` as a study's tables have them."""
    rows = [
        {
            "run": f"{family}-{task}-{seed}",
            "seed": seed,
            "part": "trained",
            "task": task,
            "column": family,
            "family": family,
            "model": {"attention": "transformer", "constant attention": "constant-attention"}.get(family, "causal-rn"),
            "skill_1": skill + 0.001 * np.sin(7 * seed + len(family)),
        }
        for family, of_task in skills.items()
        for task, skill in of_task.items()
        for seed in range(seeds)
    ]
    return pd.DataFrame(rows)


def spent(rows: pd.DataFrame) -> pd.DataFrame:
    """Rows of the measure `resources`, attention's half of the others' numbers."""
    first = rows[rows["seed"] == 0].copy()
    half = np.where(first["family"] == "attention", 1.0, 2.0)
    numbers = dict.fromkeys(("parameters", "flops_per_token", "kept_bytes_per_token"), 100 * half)
    speeds = {"training_tokens_per_s": 100 * half, "generation_tokens_per_s": np.nan, "hardware": "a machine"}
    rates = {"learning_rate_1": np.where(first["family"] == "attention", 0.024, 0.003), "largest_rate_1": 0.024}
    return first.assign(**numbers, **speeds, **rates)


FALLS = {"masked-mixer": 0.1, "hybrid": 0.25, "llama": 0.3}  # nats per doubling of the operations
BUDGETS, WIDTHS, PLACE = [1e11 * 2**step for step in range(6)], (32, 64, 128), 4e11
FAMILIES = {"masked-mixer": "masked mixing", "hybrid": "hybrid", "llama": "attention"}


def climbed(seeds: int = 5, **changes: float) -> pd.DataFrame:
    """Rows of `score` and, in the same rows, of `cost` of a ladder on stories: all models have 4 nats at PLACE, at the
    best width, 64. `changes`: other falls, by the models' first words."""
    falls = {name: changes.get(name.split("-")[0], fall) for name, fall in FALLS.items()}
    rows = [
        {
            "run": f"{model}-{width}-{budget:g}-{seed}", "seed": seed, "part": "text", "task": "stories",
            "model": model, "column": model, "family": FAMILIES[model], "d_model": width, "budget": budget,
            "counted_flops": int(0.99 * budget), "metric": "nats",
            "value": 4 + 0.2 * (width != 64) - fall * np.log2(budget / PLACE) + 0.01 * np.sin(7 * seed + len(model)),
        }
        for model, fall in falls.items() for width in WIDTHS for budget in BUDGETS for seed in range(seeds)
    ]  # fmt: skip
    found = pd.DataFrame(rows)
    return found.assign(skill_1=1 - found["value"] / 6)


def able() -> pd.DataFrame:
    names = ("transformer", "causal-rn", "constant-attention")
    rows = [(name, task, misfit_reason(name, task) or "") for name in names for task in TASKS]
    return pd.DataFrame(rows, columns=list(abilities.columns))


def searches(resources: pd.DataFrame) -> pd.DataFrame:
    """`cost` of the searches: two rates of each family on each task, on one seed."""
    cells = resources[["task", "column"]].drop_duplicates()
    both = [cells.assign(learning_rate=rate, validation_nats=1 + rate) for rate in (0.003, 0.024)]
    found = pd.concat(both, ignore_index=True).assign(part="search", seed=0, diverged=False, steps_done=3)
    return found.assign(run=[f"search{number}" for number in range(len(found))])


def tables() -> dict[str, object]:
    """Every measurement that figures and tables are made from."""
    rows, resources = pd.concat([scores(), scores({"attention": {"retrieval": 0.4}})]), spent(scores())
    ends, text = rows.assign(value=0.4, guess=1 / 32, cut_stories=0.9, cut_summaries=0.1), climbed()
    trained = resources[["run", "seed"]].assign(part="trained", steps_done=7, counted_flops=70)
    return {
        "score": pd.concat([ends.assign(learning_rate_1=0.024), text.drop(columns="counted_flops")]),
        "abilities": able(),
        "resources": resources,
        "cost": pd.concat(
            [trained, searches(resources), text[["run", "seed", "part", "counted_flops"]]], ignore_index=True
        ),
    }
