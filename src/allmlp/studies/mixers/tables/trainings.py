"""Tables of the trainings: models against the flat mixer, learning rates, leaks, dropout."""

import pandas as pd

from allmlp.report.exhibits import table
from allmlp.report.statistics import t_interval
from allmlp.studies.mixers.budgets import MODEL, curves, ends
from allmlp.studies.mixers.comparisons import AGAINST_FLAT, differences
from allmlp.studies.mixers.parts import FLAT, SEARCH, SETTING, TRAINING, searched, settings_of
from allmlp.studies.rules import of_part
from allmlp.studies.seeds import summary


@table(
    "Every model beside the flat mixer, by what is held equal",
    where="tables and text of every section on training",
    claims=["001-7", "001-8", "001-10", "001-11", "001-15", "001-17", "001-18", "001-19", "001-20", "001-own-1"],
    parts=[TRAINING],
)
def budgets(learning_curve: pd.DataFrame) -> pd.DataFrame:
    """Held-out loss of each model minus that of the flat mixer of the same width, depth and padding (nats, paired by
    seed; below 0 the model is ahead), at equal training steps, at equal time on one device, and at equal counted
    operations, with 95 % t intervals. There are three columns because the article's unit of compute, hours of one card,
    hides which of them decides; an empty cell means that the runs are not comparable in this unit. Seconds and FLOPs of
    one step over the flat mixer's, seconds by the benchmark if it timed all models, else the median over seeds.
    Parallel matrices, if they were run, add up to one matrix and are applied as one, so their steps cost less here than
    in the article (E001-18). The hybrid as published, if it was run, sees under left padding the tokens that it has to
    predict (E001-10).
    """
    rows, found = differences(learning_curve), []
    of_model = dict(list(curves(of_part(learning_curve, TRAINING)).groupby(MODEL, sort=False)))
    compared = rows.drop_duplicates("setting")[MODEL].itertuples(index=False, name=None)
    for key in [*(key for key in of_model if key[0] == FLAT), *compared]:
        ours, flat = of_model[key], of_model[FLAT, *key[1:]]
        row = {"model": settings_of(ours).iloc[0], **_at_end(ours)}
        row |= {f"{of}_over_flat": _per_step(ours, of) / _per_step(flat, of) for of in ("seconds", "flops")}
        for unit, name in AGAINST_FLAT.items() if key[0] != FLAT else ():
            interval = t_interval(rows.loc[rows["setting"].eq(row["model"]), unit].to_numpy())
            row |= {f"{name}_nats": interval.mean, f"{unit}_low": interval.low, f"{unit}_high": interval.high}
        found.append(row)
    return pd.DataFrame(found).replace([float("inf"), float("-inf")], float("nan"))


def _at_end(rows: pd.DataFrame) -> dict[str, object]:
    """Seeds, steps, learning rate, and the mean losses at the end, of one model."""
    losses = {f"{name}_at_end_nats": ends(rows, f"{name}_nats").mean() for name in ("train", "validation")}
    steps, rate = int(rows["step"].max()), rows["learning_rate"].iloc[0]
    return {"seeds": rows["seed"].nunique(), "steps": steps, "rate": rate, **losses}


def _per_step(rows: pd.DataFrame, unit: str) -> float:
    """Seconds or counted FLOPs of one step of one model."""
    after = rows[rows["step"].gt(0)].iloc[0]
    return float(after[unit] / after["step"])


@table("Learning rates: what the search of every model found", parts=[SEARCH])
def learning_rates(cost: pd.DataFrame) -> pd.DataFrame:
    """Held-out loss (nats) at the end of the search's runs, with the same rates, steps and seed for every model, size
    and text. Models trained with both paddings are searched with one of them. The seed is used for nothing else. edge:
    the chosen rate is the smallest or largest tried, so a better one may lie beyond. The article tunes by hand; a rate
    of 0.005, which it names twice, occurs in none of its published trainers (E001-6).
    """
    rows = searched(of_part(cost, SEARCH))
    rows = rows.assign(model=settings_of(rows) + rows["windows"].map({True: ", windows", False: ""}))
    found = []
    for _, of_model in rows.groupby(SETTING, sort=False):
        chosen = of_model[of_model["chosen"]].iloc[0]
        losses = {f"at_{rate:g}": loss for rate, loss in zip(of_model["rate"], of_model["loss"], strict=True)}
        edge = "edge" if chosen["at_edge"] else ""
        steps = int(chosen["steps_done"])
        found.append({"model": chosen["model"], "steps": steps, "chosen": chosen["rate"], "at": edge, **losses})
    return pd.DataFrame(found)


@table("Hybrids: who sees later tokens", where="Transformer mixer hybrids", claims=["001-19"], parts=[TRAINING])
def leaks(leak: pd.DataFrame) -> pd.DataFrame:
    """Largest change of a trained hybrid's logits before a place where all later tokens of the text are replaced, over
    held-out rows and seeds, and the share of rows with any change; a causal model has exactly 0. As published,
    attention re-packs rows that are padded on the left, but the mask of the next mixing does not. The article's
    conclusion that hybrids are the most efficient models does not follow from its own numbers, which were made with
    this leak, as its body says (E001-10).
    """
    table = summary(
        leak,
        ["variant", "padding"],
        seeds=("run", "nunique"),
        rows=("rows", "sum"),
        rows_changed_1=("changed_share_1", "mean"),
        largest_change_1=("largest_change_1", "max"),
    )
    return table.rename(columns={"variant": "model"})


@table(
    "A training loss above the held-out loss",
    where="Masked Mixers outperform early CLM Transformers",
    claims=["001-20"],
    parts=[TRAINING],
)
def dropout(dropout: pd.DataFrame) -> pd.DataFrame:
    """Mean loss (nats per token) of a trained early GPT on its last training batches, with its dropout as in training
    and without, and on held-out documents; mean over seeds and 95 % t interval. The article prints a training loss
    above the test loss: only the training loss includes dropout (E001-8).
    """
    values = {"with": "with_dropout_nats", "without": "without_dropout_nats", "held_out": "validation_nats"}
    table = summary(dropout, ["variant"], seeds=("run", "nunique"), **values)
    return table.rename(columns={"variant": "model"})
