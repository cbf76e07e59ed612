"""Tables of study 001: trainings on language."""

import re

import pandas as pd

from allmlp.judging.rules import part_rows
from allmlp.judging.statistics import t_interval
from allmlp.report.names import display
from allmlp.report.seeds import summary
from allmlp.spec.columns import Rows
from allmlp.spec.exhibits import Paper, table
from allmlp.studies.mixers.budgets import AGAINST_FLAT, MODEL, curves, differences, ends
from allmlp.studies.mixers.names import FLAT, SEARCH, TRAINING
from allmlp.studies.mixers.parts import SETTING, setting_names
from allmlp.studies.shared.searched import searched_row


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
    Parallel matrices without a GELU, if they were run, add up to one matrix and are applied as one, so their steps cost
    less here than in the article (E001-18). The hybrid as published, if it was run, sees under left padding the tokens
    that it has to predict (E001-10).
    """
    rows, found = differences(learning_curve), []
    of_model = dict(list(curves(part_rows(learning_curve, TRAINING)).groupby(MODEL, sort=False)))
    compared = rows.drop_duplicates("setting")[MODEL].itertuples(index=False, name=None)
    for key in [*(key for key in of_model if key[0] == FLAT), *compared]:
        ours, flat = of_model[key], of_model[FLAT, *key[1:]]
        row = {"model": setting_names(ours).iloc[0], **_end_means(ours)}
        row |= {f"{of}_over_flat": _step_cost(ours, of) / _step_cost(flat, of) for of in ("seconds", "flops")}
        for unit, name in AGAINST_FLAT.items() if key[0] != FLAT else ():
            interval = t_interval(rows.loc[rows["setting"].eq(row["model"]), unit].to_numpy())
            row |= {f"{name}_nats": interval.mean, f"{unit}_low": interval.low, f"{unit}_high": interval.high}
        found.append(row)
    return pd.DataFrame(found).replace([float("inf"), float("-inf")], float("nan"))


IN_TABLES = {  # claim with a printed table -> its models: their name, and ours
    "001-5": ("transformer, 16 heads", ["llama-16"]),
    "001-6": ("flat mixer", [FLAT]),
    "001-7": ("expanded mixer", ["expanded"]),
    "001-15": ("transformer, by heads", ["llama-16", "llama-8", "llama-4", "llama-2"]),
}


OF_TABLE = re.compile(r"(train|validation)_loss_(\w+)_nats")


@table(
    "Losses by width and by heads",
    where="tables of Scaling Properties and of the section on fewer heads",
    claims=list(IN_TABLES),
    parts=[TRAINING],
)
def losses(learning_curve: pd.DataFrame, paper: Paper) -> pd.DataFrame:
    """The article's four tables of losses after 12 hours of one card, and the same models here at the end of training:
    mean over seeds, in nats per token. d is the width, b the batch where the article has two, h the number of heads.
    Models, texts and hours here are smaller, so only the order of models can be compared, not the numbers.
    """
    ours, found = part_rows(learning_curve, TRAINING), []
    for claim, (model, variants) in IN_TABLES.items():
        printed: dict[str, dict[str, float]] = {}
        for key, value in paper[claim].items():
            if cell := OF_TABLE.fullmatch(key):
                printed.setdefault(cell[2].replace("_", ", "), {})[f"{cell[1]}_nats"] = value
        found += [{"model": model, "source": "paper", "size": size, **losses} for size, losses in printed.items()]
        here = ours[ours["variant"].isin(variants) & ours["padding"].eq("right")]
        for (variant, _), rows in here.groupby(["variant", "size"], sort=False):
            size = f"{display(str(variant))}, d{rows['d_model'].iloc[0]}, {rows['n_blocks'].iloc[0]} blocks"
            means = {f"{name}_nats": ends(rows, f"{name}_nats").mean() for name in ("train", "validation")}
            steps, seeds = int(rows["step"].max()), rows["seed"].nunique()
            found.append({"model": model, "source": "here", "size": size, **means, "steps": steps, "seeds": seeds})
    return pd.DataFrame(found).astype({"steps": "Int64", "seeds": "Int64"})


def _end_means(rows: pd.DataFrame) -> dict[str, object]:
    """Seeds, steps, learning rate, and the mean losses at the end, of one model."""
    losses = {f"{name}_at_end_nats": ends(rows, f"{name}_nats").mean() for name in ("train", "validation")}
    steps, rate = int(rows["step"].max()), rows["learning_rate"].iloc[0]
    return {"seeds": rows["seed"].nunique(), "steps": steps, "rate": rate, **losses}


def _step_cost(rows: pd.DataFrame, unit: str) -> float:
    """Seconds or counted FLOPs of one step of one model."""
    after = rows[rows["step"].gt(0)].iloc[0]
    return float(after[unit] / after["step"])


@table("Learning rates: what the search of every model found", parts=[SEARCH])
def learning_rates(cost: pd.DataFrame) -> Rows:
    """Held-out loss (nats) at the end of the search's runs, with the same rates, steps and seeds for every model,
    size and text. Models trained with both paddings are searched with one of them. The seeds are used for nothing
    else. edge: the chosen or the best rate is the smallest or largest tried, so a better one may lie beyond. Of
    rates that tie within a standard error the middle one is chosen where the search has that criterion, else the
    best. The article tunes by hand; a rate of 0.005, which it names twice, occurs in none of its published trainers
    (E001-6).
    """
    rows = part_rows(cost, SEARCH)
    rows = rows.assign(windows=rows["text"].eq("windows"))
    rows = rows.assign(model=setting_names(rows) + rows["windows"].map({True: ", windows", False: ""}))
    for _, of_model in rows.groupby(SETTING):
        yield {"model": of_model["model"].iloc[0], **searched_row(of_model)}


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
