"""Figures of the classes of first-layer neurons: over training, and by what they depend on."""

from itertools import cycle
from typing import Any

import pandas as pd
from matplotlib.axes import Axes
from matplotlib.figure import Figure

from allmlp.judging.statistics import t_interval
from allmlp.report import plots, style
from allmlp.report.seeds import aggregate_seeds, curve, last_rows
from allmlp.spec.exhibits import figure
from allmlp.studies.language.classification import BAG_OF_WORDS, N_GRAM, OTHER, share_column
from allmlp.studies.language.drawing import (
    COLOURS,
    READINGS,
    add_sentence,
    draw_classes,
    drop_empty,
    name_empty_classes,
    scale_step_axis,
)
from allmlp.studies.language.names import CONTROLS
from allmlp.studies.language.parts import rows_by_corpus, select_variations
from allmlp.studies.language.verdicts.initial_weights import deciding_rows


@figure(
    "Classes of first-layer neurons over training",
    where="Figure 4, left",
    claims=["000-5", "000-10", "000-12"],
    parts=["neurons"],
)
def neuron_classes(neuron_classes: pd.DataFrame) -> Figure:
    """Share of first-layer neurons that Appendix H calls n-gram, bag-of-words (and not n-gram), hybrid (both only with
    its relaxed thresholds) or DCT-sparse (few large frequencies, and none of these), against training steps; mean over
    seeds and 95 % t interval. The paper leaves open what its norms are relative to (E000-2, E000-3). Left: raw norms,
    for the variance each time row over its own norm. Right: norms over the neuron's largest row, for the variance over
    the root mean square, with the threshold of variance scaled to the embedding width. A class without a neuron in a
    panel has no line there. The paper's drawing has no numbers, so there is no grey mark.
    """
    readings = list(neuron_classes["reading"].unique())
    figure, axes = style.canvas(columns=len(readings), height=2.9)
    for axis, reading in zip(axes[0], readings, strict=True):
        rows = neuron_classes[neuron_classes["reading"] == reading]
        draw_classes(axis, {name: curve(rows, share_column(name)) for name in COLOURS}, "step")
        scale_step_axis(axis, rows["step"])
        axis.set(ylim=(-0.02, 1.02), title=READINGS[reading])
    axes[0, 0].set_ylabel("share of neurons")
    name_empty_classes(figure, [*axes.flat])
    return figure


AXES = {"context": "context (tokens)", "d_mlp": "hidden width w (neurons)"}


@figure("Classes of neurons against context and width", where="Figure 11", claims=["000-15"], parts=["variation"])
def class_shares_by_size(neuron_classes: pd.DataFrame) -> Figure:
    """Share of first-layer neurons in each class of Appendix H after the last step, against the context length (left)
    and the hidden width (right), under both readings of its norms; all else as in the base run, which is in both
    columns. Mean over seeds and 95 % t interval. A reading by which no neuron has a class gets a sentence instead of
    panels. At contexts and widths that it does not list, the paper finds the shares roughly constant, and context to
    have the larger effect.
    """
    rows = last_rows(neuron_classes)
    others = rows.groupby("reading", sort=False)[share_column(OTHER)].min().eq(1)
    readings = list(others.index[~others])
    figure, axes = style.canvas(columns=len(AXES), rows=max(1, len(readings)), height=2.3)
    for down, reading in enumerate(readings):
        for axis, (setting, label) in zip(axes[down], AXES.items(), strict=True):
            of_setting = select_variations(rows[rows["reading"] == reading], setting)
            lines = {name: aggregate_seeds(of_setting, [setting], share_column(name)) for name in COLOURS}
            draw_classes(axis, lines, setting)
            plots.ticks(axis, sorted(of_setting[setting].unique()), base=2)
            axis.set(ylim=(-0.02, 1.02), xlabel=label, title=READINGS[reading])
        axes[down, 0].set_ylabel("share of neurons")
    without = " ".join(f"By {READINGS[name]}, no neuron is of any class." for name in others.index[others])
    name_empty_classes(figure, [*axes.flat], without)
    return figure


VARIED = {
    "low_rows": (N_GRAM, "share of low rows needed"),
    "low": (N_GRAM, "norm of a low row"),
    "high": (N_GRAM, "norm of a high row"),
    "variance": (BAG_OF_WORDS, "variance, over the printed"),
}


@figure("What the thresholds decide", where="Appendix H", claims=["000-5", "000-19"], parts=["neurons"])
def thresholds(thresholds: pd.DataFrame) -> Figure:
    """Share of neurons that meet the criterion of each of the two classes after the last step, against one threshold of
    Appendix H with the others as printed, under both readings of its norms; mean over seeds and 95 % t interval. Grey:
    the printed value. If a share falls or rises steeply there, it depends on the threshold as much as on the network.
    Neurons may meet both criteria. Panels in which no neuron meets the criterion at any value are left out, and named
    above. The paper chose its values by visual inspection.
    """
    panels, empty = {}, []
    for reading in thresholds["reading"].unique():
        for threshold, (name, label) in VARIED.items():
            at = thresholds[(thresholds["reading"] == reading) & (thresholds["threshold"] == threshold)]
            if at[share_column(name)].eq(0).all():
                empty.append(f"{label} ({READINGS[reading]})")
            else:
                panels[reading, threshold] = at
    columns = min(3, len(panels)) or 1
    figure, axes = style.canvas(columns=columns, rows=-(-len(panels) // columns) or 1, height=2.1)
    for axis, ((reading, threshold), at) in zip(axes.flat, panels.items(), strict=False):
        _threshold(axis, at, threshold)
        axis.set_title(READINGS[reading])
    for axis in axes.flat[len(panels) :]:
        axis.set_axis_off()
    for axis in axes[:, 0]:
        axis.set_ylabel("share of neurons")
    add_sentence(figure, f"No neuron meets the criterion at any value of: {', '.join(empty)}." if empty else "")
    plots.add_legend(figure, axes.flat, ncols=3)
    return figure


def _threshold(axis: Axes, at: pd.DataFrame, threshold: str) -> None:
    name, label = VARIED[threshold]
    plots.band(axis, aggregate_seeds(at, ["value_1"], share_column(name)), "value_1", color=COLOURS[name], label=name)
    style.mark_paper(axis, float(at["printed_1"].iloc[0]), along="x", label="printed")
    axis.set(ylim=(-0.02, 1.02), xlabel=label)
    if threshold == "variance":
        axis.set_xscale("log", base=2)


CONTROLLED = {
    "n_gram_share_1": "n-gram neurons",
    "bag_of_words_share_1": "bag-of-words neurons",
    "constant_share_median_1": "constant energy",
}


@figure(
    "Neurons of text without topics, and without order",
    claims=["000-own-3", "000-own-4"],
    parts=["variation", "control"],
)
def controls(neuron_classes: pd.DataFrame, concentration: pd.DataFrame) -> Figure:
    """The same MLP on the study's corpus, on the same with its sentences shuffled among documents (no dependence beyond
    a sentence), and on the same with words shuffled within each document (no order). Against training steps: share of
    n-gram and of bag-of-words neurons, by the deciding reading, and median over neurons of the constant share (in time)
    of the energy of all but the last three rows. Mean over seeds and 95 % t interval. A share of 0 everywhere has no
    panel.
    """
    numbers = concentration[["run", "step", "constant_share_median_1"]]
    rows = deciding_rows(neuron_classes).merge(numbers, on=["run", "step"])
    lines = {CONTROLS.get(ending, "as it is"): of_corpus for ending, of_corpus in rows_by_corpus(rows).items()}
    shown, sentence = drop_empty(CONTROLLED, rows)
    figure, axes = style.canvas(columns=len(shown), height=2.7)
    add_sentence(figure, sentence)
    for axis, (value, title) in zip(axes[0], shown.items(), strict=True):
        for position, (name, of_corpus) in enumerate(lines.items()):
            line, colour = curve(of_corpus, value), style.NEUTRAL[position]
            plots.band(axis, line, color=colour, marker="os^"[position], label=name)
        scale_step_axis(axis, rows["step"])
        axis.set(ylim=(-0.02, 1.02), title=title)
    axes[0, 0].set_ylabel("share")
    plots.add_legend(figure, [axes[0, 0]], ncols=3, title=rows["base_corpus"].iloc[0])
    return figure


WORN = {
    "n_gram_share_1": "n-gram neurons",
    "bag_of_words_share_1": "bag-of-words neurons",
    "window_share_median_1": "energy explained",
}
MARKERS = "osD^v"


@figure(
    "Is the structure the data's or the optimiser's?",
    claims=["000-own-5"],
    parts=["variation"],
    compares=["weight_decay", "embedding_std"],
)
def wear(neuron_classes: pd.DataFrame, concentration: pd.DataFrame) -> Figure:
    """The grid of weight decays and of initial embeddings, all else equal, against the e-foldings by which weight decay
    has faded the first layer's random start: share of n-gram neurons, share of bag-of-words neurons (both by the
    deciding reading), median over neurons of the energy that the last three rows and one constant explain. Thin lines
    are trainings (mean over seeds, from left to right) with one decay each; markers are their ends, with 95 % t
    intervals. Colours: standard deviation of the initial embeddings. A share of 0 everywhere has no panel.
    """
    numbers = concentration[["run", "step", "window_share_median_1"]]
    rows = select_variations(
        deciding_rows(neuron_classes).merge(numbers, on=["run", "step"]), "weight_decay", "embedding_std"
    )
    stds, decays = sorted(rows["embedding_std"].unique()), sorted(rows["weight_decay"].unique())
    colours, markers = dict(zip(stds, style.NEUTRAL, strict=False)), dict(zip(decays, cycle(MARKERS), strict=False))
    shown, sentence = drop_empty(WORN, rows)
    figure, axes = style.canvas(columns=len(shown), height=2.9)
    add_sentence(figure, sentence)
    for axis, (value, title) in zip(axes[0], shown.items(), strict=True):
        for (std, decay), cell in rows.groupby(["embedding_std", "weight_decay"]):
            _cell(axis, cell, value, colours[std], markers[decay])
        axis.set_xscale("symlog", linthresh=0.1)
        axis.set(xlim=(0, None), ylim=(-0.02, 1.02), xlabel="e-foldings of weight decay", title=title)
    axes[0, 0].set_ylabel("share")
    for std, colour in colours.items():
        axes[0, 0].plot([], [], color=colour, label=f"embeddings of standard deviation {std:g}")
    for decay, marker in markers.items():
        axes[0, 0].plot([], [], marker, color="black", label=f"weight decay {decay:g}")
    plots.add_legend(figure, [axes[0, 0]], ncols=max(2, len(stds)))
    return figure


def _cell(axes: Axes, rows: pd.DataFrame, value: str, colour: str, marker: str) -> None:
    """One cell of the grid: its line over training, and its end."""
    way = curve(rows, value).merge(rows.groupby("step", as_index=False)["wear_1"].mean(), on="step")
    way = way.assign(low=way["mean"], high=way["mean"])
    plots.band(axes, way, "wear_1", color=colour, linewidth=0.8, alpha=0.6)
    looks: dict[str, Any] = {"fmt": marker, "color": colour, "markersize": 6, "capsize": 2, "zorder": 3}
    plots.whisker(axes, way["wear_1"].iloc[-1], t_interval(last_rows(rows)[value].to_numpy()), **looks)
