"""Figures of the trainings: models against the flat mixer, learning curves, learning rates, overfitting."""

import textwrap
from typing import Any

import numpy as np
import pandas as pd
from matplotlib.axes import Axes
from matplotlib.figure import Figure
from matplotlib.ticker import FixedLocator, StrMethodFormatter

from allmlp.judging.rules import part_rows
from allmlp.judging.statistics import t_interval
from allmlp.report import plots, style
from allmlp.report.names import display
from allmlp.report.seeds import aggregate_seeds
from allmlp.spec.exhibits import figure
from allmlp.studies.mixers import budgets
from allmlp.studies.mixers.budgets import AGAINST_FLAT, differences
from allmlp.studies.mixers.drawing import FAMILIES, HEADLINES, MARKS, looks
from allmlp.studies.mixers.names import SEARCH, TRAINING
from allmlp.studies.mixers.parts import base_rows, search_rows

MARGIN = 0.02  # nats, as in claims.yaml (tested)
LINEAR = 0.1  # nats: the axis is linear up to here and logarithmic beyond, for the margin and for large differences
TICKS = (-1, -0.1, 0, 0.1, 1)


@figure(
    "Who is ahead of the flat mixer, by what is held equal",
    where="tables and text of every section on training",
    claims=["001-7", "001-8", "001-10", "001-11", "001-15", "001-17", "001-18", "001-19", "001-20"],
    parts=["training"],
    values={"margin": MARGIN},
)
def against_flat(learning_curve: pd.DataFrame) -> Figure:
    """Held-out loss of each model minus that of the flat mixer of the same width, depth and padding, paired by seed:
    dots are seeds, bars their mean and 95 % t interval, not corrected for the number of rows. Left of 0 a model is
    ahead of the flat mixer. The grey band is the margin of {margin:g} nats, the smallest difference that the article
    itself interprets. The axis is linear up to 0.1 nats and logarithmic beyond. Both losses are taken at the budget of
    the model that stopped first: in steps, in seconds on the same device, in counted operations. A row without a dot
    has runs that are not comparable in this unit. The hybrid as published, if it was run, sees under left padding the
    tokens that it has to predict, so its place here is not an achievement. The article's closing sentence, that hybrids
    are the most efficient models, does not follow from its own numbers, and its body retracts it (E001-10).
    """
    rows = differences(learning_curve)
    models = _sorted_models(rows)
    figure, axes = style.canvas(columns=len(AGAINST_FLAT), height=max(1.6, 0.2 * len(models) + 1.05))
    for axis, (unit, title) in zip(axes[0], AGAINST_FLAT.items(), strict=True):
        _draw_differences(axis, rows, models, unit)
        axis.set(title=title)
        axis.set_yticks(range(len(models)), models if axis is axes[0, 0] else [])
    ends = [min(axis.get_xlim()[0] for axis in axes[0]), max(axis.get_xlim()[1] for axis in axes[0])]
    for axis in axes[0]:
        axis.set_xlim(*ends)
    figure.supxlabel("loss minus the flat mixer's (nats per token)", fontsize="medium")
    return figure


def _sorted_models(rows: pd.DataFrame) -> list[str]:
    """The models by family, in each by their mean difference at equal steps."""
    means = rows.groupby("setting").agg(model=("model", "first"), steps=("steps", "mean"))
    families = {name: place for place, name in enumerate(FAMILIES)}
    means["family"] = means["model"].map(families).fillna(len(families))
    return list(means.sort_values(["family", "steps"], kind="stable").index)


def _draw_differences(axis: Axes, rows: pd.DataFrame, models: list[str], unit: str) -> None:
    axis.axvspan(-MARGIN, MARGIN, color=style.PAPER, alpha=0.35, linewidth=0)
    axis.axvline(0, color="black", linewidth=0.8)
    for y, model in enumerate(models):
        of_model = rows[rows["setting"].eq(model)]
        values = of_model[unit].to_numpy()
        colour = style.colour(of_model["model"].iloc[0])
        axis.scatter(values, np.full(len(values), y), s=10, color=colour, alpha=0.5, linewidth=0)
        interval = t_interval(values)
        looks = {"marker": "|", "markersize": 8, "capsize": 2, "elinewidth": 1.0}
        plots.whisker(axis, y, interval, along="x", color=colour, **looks)
    axis.set_xscale("symlog", linthresh=LINEAR)
    axis.xaxis.set_major_locator(FixedLocator(TICKS))
    axis.xaxis.set_major_formatter(StrMethodFormatter("{x:g}"))
    axis.set(ylim=(len(models) - 0.5, -0.5))


AXES = {"steps": "training step", "seconds": "seconds of training", "flops": "counted FLOPs"}


@figure(
    "Learning at equal steps, equal time and equal operations",
    where="tables of Scaling Properties",
    claims=["001-6", "001-7", "001-8", "001-own-1"],
    parts=[TRAINING],
)
def learning_curves(learning_curve: pd.DataFrame) -> Figure:
    """Loss on held-out documents, padding left out, against training steps, against seconds (seconds per step from one
    benchmark if it timed all models, else the median over seeds on the device that trained all of them, because runs
    share the machine), and against counted operations forward and backward. Mean over seeds and 95 % t interval; models
    of one width and depth, each at the learning rate of its own search, if the scale searches. With a constant rate
    after warm-up, whole curves are comparable; with a decaying one, only the ends. The article's unit of compute is the
    middle column, in hours of one graphics card; its losses are for these, so there is no grey mark.
    """
    rows = budgets.curves(part_rows(learning_curve, TRAINING))
    rows = base_rows(rows[rows["variant"].isin(HEADLINES)])
    figure, axes = style.canvas(columns=len(AXES), height=3.0)
    for axis, unit in zip(axes[0], AXES, strict=True):
        _draw_curves(axis, rows, unit)
    losses = rows.loc[rows["step"].gt(0), "validation_nats"].to_numpy()
    losses = losses[np.isfinite(losses)]
    for axis in axes[0]:
        axis.set_ylim(0.97 * losses.min(), min(losses.max(), 2.5 * losses.min()) * 1.03)
    axes[0, 0].set_ylabel("held-out loss (nats per token)")
    plots.add_legend(figure, axes[0, :1], ncols=len(HEADLINES))
    return figure


def _draw_curves(axis: Axes, rows: pd.DataFrame, unit: str) -> None:
    for variant in sorted(rows["variant"].unique(), key=HEADLINES.index):
        of_model = rows[rows["variant"].eq(variant) & rows["step"].gt(0)]
        line = aggregate_seeds(of_model, ["step"], "validation_nats")
        line = line.merge(of_model.groupby("step")[unit].median(), on="step")
        plots.band(axis, line, unit, label=display(variant), **looks(variant))
    axis.set(xscale="log", xlabel=AXES[unit])


ACROSS = 4  # panels in a row
LETTERS = 20  # of a line of a title above one of them


@figure("Learning rates: the same search for every model", parts=[SEARCH])
def learning_rates(cost: pd.DataFrame) -> Figure:
    """Held-out loss at the end of the search's runs against learning rate: a panel per model, mean over seeds that no
    compared run uses; one colour per family, all other models in grey. Filled, with its value: the chosen rate, used by
    the model's compared runs. A diverged run has no point. The article tunes by hand; the rate that it names, 0.005, is
    in none of its published trainers (E001-6).
    """
    rows = search_rows(part_rows(cost, SEARCH))
    rows = base_rows(rows[~rows["windows"]])
    rows["loss"] = rows["validation_nats"].where(~rows["diverged"].astype(bool))
    models = [name for family in FAMILIES for name in sorted(rows.loc[rows["model"].eq(family), "variant"].unique())]
    down = max(1, -(-len(models) // ACROSS))
    figure, axes = style.canvas(columns=min(ACROSS, max(1, len(models))), rows=down, height=1.4)
    rates = sorted(rows["rate"].unique())
    ends = [f"{rate:g}" if rate in (rates[0], rates[-1]) else "" for rate in rates]
    for place, (axis, model) in enumerate(zip(axes.flat, models, strict=False)):
        _draw_search(axis, rows, model)
        axis.set_xscale("log")
        axis.set_xticks(rates, ends if place + ACROSS >= len(models) else [""] * len(rates))
        axis.set_xticks([], minor=True)
        plots.align_end_labels(axis)
    for axis in axes.flat[len(models) :]:
        axis.set_axis_off()
    for axis in axes[:, 0]:
        axis.set_ylabel("loss (nats)")
    figure.supxlabel("learning rate", fontsize="medium")
    return figure


def _draw_search(axis: Axes, rows: pd.DataFrame, model: str) -> None:
    """One model's search, before those of all others."""
    for _, other in rows.groupby("variant"):
        axis.plot(other["rate"], other["loss"], color="#d5d5d5", linewidth=0.7)
    found = rows[rows["variant"].eq(model)]
    shade = style.colour(found["model"].iloc[0])
    axis.plot(found["rate"], found["loss"], "o-", color=shade, markersize=3, markerfacecolor="white")
    best = found[found["chosen"]]
    axis.plot(best["rate"], best["loss"], "o", color=shade, markersize=5)
    for _, chosen in best.iterrows():
        axis.annotate(
            f"{chosen['rate']:g}",
            (chosen["rate"], chosen["loss"]),
            xytext=(0, -7),
            va="top",
            textcoords="offset points",
            ha="center",
            fontsize=style.SMALLEST,
            color=shade,
        )
    axis.set(title=textwrap.fill(display(model), LETTERS), ylim=(0.86 * rows["loss"].min(), 1.03 * rows["loss"].max()))


SHOWN = ("flat", "kernel-4", "llama-4")


@figure("Training and held-out loss", where="two losses of every table", claims=["001-own-4"], parts=[TRAINING])
def overfitting(learning_curve: pd.DataFrame) -> Figure:
    """Left: loss on training batches (dashed; mean of the last batches, each before its update) and on held-out
    documents (solid) against training steps, mean over seeds and 95 % t interval. Right: held-out minus training loss
    at the last step that all models have, mean over seeds and 95 % t interval; models in ascending order of held-out
    loss, one colour per family. The training loss of the early GPT, if it was run, includes its dropout.
    """
    rows = base_rows(part_rows(learning_curve, TRAINING))
    rows = rows[rows["step"].gt(0)]
    figure, axes = style.canvas(columns=2, height=3.5)
    _curves(axes[0, 0], rows)
    _gaps(axes[0, 1], rows)
    plots.add_legend(figure, axes[0, :1], ncols=3)
    return figure


def _curves(axis: Axes, rows: pd.DataFrame) -> None:
    for variant in (name for name in SHOWN if name in set(rows["variant"])):
        of_model, marker = rows[rows["variant"].eq(variant)], MARKS.get(variant, "")
        for column, line, split in (("validation_nats", "-", "held out"), ("train_nats", "--", "training")):
            points = aggregate_seeds(of_model, ["step"], column)
            drawn: dict[str, Any] = {"color": style.colour(variant), "linestyle": line, "marker": marker}
            plots.band(axis, points, shade=0.15, label=f"{display(variant)}, {split}", **drawn)
    axis.set(xscale="log", xlabel="training step", ylabel="loss (nats per token)")


def _gaps(axis: Axes, rows: pd.DataFrame) -> None:
    common = set.intersection(*(set(of_model["step"]) for _, of_model in rows.groupby("variant")))
    at_last = rows[rows["step"].eq(max(common))].assign(gap_nats=lambda of: of["validation_nats"] - of["train_nats"])
    by_loss = at_last.groupby("variant")["validation_nats"].mean().sort_values(kind="stable").index
    gaps = aggregate_seeds(at_last, ["variant", "model"], "gap_nats").set_index("variant").loc[by_loss]
    for place, (_, gap) in enumerate(gaps.iterrows()):
        shade = style.colour(gap["model"])
        axis.plot([gap["low"], gap["high"]], [place, place], color=shade, linewidth=1)
        axis.plot(gap["mean"], place, "o", color=shade, markersize=4)
    axis.set_yticks(range(len(gaps)), list(map(display, gaps.index)), fontsize=style.SMALLEST)
    axis.invert_yaxis()
    axis.set_xlabel(f"held-out minus training loss\n(nats per token), step {max(common)}")
