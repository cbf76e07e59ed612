"""Figures of measurements: variants, pre-training and fine-tuning, reach."""

from typing import Any

import numpy as np
import pandas as pd
from matplotlib.figure import Figure

from allmlp.report import plots, style
from allmlp.report.exhibits import Paper, figure
from allmlp.report.names import display
from allmlp.report.statistics import t_interval
from allmlp.studies.seeds import curve
from allmlp.studies.triangular.parts import ALONE, FINE_TUNING, OF_VARIANTS, RATES
from allmlp.studies.triangular.printed import MULTIPLE, PRINTED
from allmlp.studies.triangular.runs import PUBLISHED

EARLY = 0.25  # share of the steps
PANELS = {
    "mask and triangles": ["one-plain", "one-averaging", "two-plain", "two-averaging", "one-discounted"],
    "activation": ["two-averaging", "gelu", "relu", "leaky-relu"],
    "form": ["two-averaging", "reshape", "gradient-mask"],
}
STYLES = ("o-", "s--", "^-.", "d:", "v-")  # lines may lie upon each other
FINE: dict[str, Any] = {"markersize": 2.5, "linewidth": 1.0, "capsize": 1.5}


@figure(
    "Masks, triangles, activations and forms",
    where="Figures 1, 4 and 5, which show the variants and no loss",
    **OF_VARIANTS,
)
def loss_curves(loss_curve: pd.DataFrame) -> Figure:
    """Loss on held-out documents in nats per token against training steps, mean over seeds and 95 % t interval; with
    one seed all variants see the same batches. {rates} "Early" in the rules is left of the grey line. Variants that a
    scale leaves out are not drawn. The paper names the variants and prints no loss.
    """
    rows = loss_curve.dropna(subset="validation_nats")
    there = set(rows["variant"])
    panels = {title: [name for name in names if name in there] for title, names in PANELS.items()}
    panels = {title: names for title, names in panels.items() if len(names) > 1} or {"": sorted(there)}
    order = list(dict.fromkeys(name for names in panels.values() for name in names))
    figure, axes = style.canvas(columns=len(panels), height=3.4)
    for axis, (title, names) in zip(axes[0], panels.items(), strict=True):
        for name in names:
            line = curve(rows[rows["variant"] == name], "validation_nats")
            mark = STYLES[order.index(name) % len(STYLES)]
            plots.bars(axis, line, fmt=mark, color=style.colour(name), label=display(name), **FINE)
        style.mark_paper(axis, EARLY * float(rows["step"].max()), along="x", label="_early")
        axis.set(title=title, xlabel="training step")
    axes[0, 0].set_ylabel("held-out loss (nats per token)")
    plots.legend_below(figure, axes[0], ncols=4)
    return figure


COLUMNS = {"early_nats": "early (mean over the first quarter)", "end_nats": "at the end"}


@figure(
    "What each variant costs",
    where="Sections 2 and 3",
    **OF_VARIANTS,
)
def differences(learning: pd.DataFrame) -> Figure:
    """Held-out loss of each variant minus that of the model as published (two triangles, averaging mask, sine) of the
    same size and seed, nats per token: mean over the tested steps of the first quarter, and after the last step.
    Points: seeds; bars: mean and 95 % t interval. Right of zero the model as published is better. {rates}
    """
    base = learning[learning["variant"] == PUBLISHED].set_index("seed")
    names = [name for name in sorted(learning["variant"].unique()) if name != PUBLISHED]
    figure, axes = style.canvas(columns=2, height=0.7 + 0.28 * max(3, len(names)))
    for axis, (column, title) in zip(axes[0], COLUMNS.items(), strict=True):
        against = learning[column] - learning["seed"].map(base[column])
        for position, name in enumerate(names):
            values, colour = against[learning["variant"] == name], style.colour(name, position)
            axis.plot(values, np.full(len(values), position), "o", markersize=2.5, alpha=0.5, color=colour)
            interval = t_interval(values.to_numpy())
            plots.whisker(axis, position, interval, along="x", fmt="D", markersize=4, capsize=3, color=colour)
        axis.axvline(0, color="black", linewidth=0.8)
        axis.set_yticks(range(len(names)), list(map(display, names)) if axis is axes[0, 0] else [""] * len(names))
        axis.set(ylim=(-0.6, len(names) - 0.4), title=title)
    figure.supxlabel("nats per token more than two triangles, averaging, sine", fontsize="medium")
    return figure


SHARES = {"word_share_1": "words", "pair_share_1": "pairs of words", "four_word_share_1": "sequences of four"}
COUNTS = {  # the other panels, one value each
    "known_word_characters": "mean length of a word\n(characters)",
    "distinct_pairs": "different pairs of words",
    "context_nats": "loss without its context\n(nats more)",
}


@figure("From letters to sentences", where="Section 4", claims=["004-6"])
def milestones(milestones: pd.DataFrame, paper: Paper) -> Figure:
    """Samples of the model in training: share of their words, of pairs of neighbouring words and of sequences of four
    words that occur in the training text (in four million characters of a longer one); mean length of correctly spelled
    words; different pairs of words; and how much its own document's context lowers a model's loss. Mean over seeds and
    95 % t interval against iterations (logarithmic). Grey: the iterations at which the paper reports words, phrases,
    small sentences and the use of context, as far as the training went.
    """
    rows = milestones[milestones["step"].gt(0)]
    figure, axes = style.canvas(columns=2, rows=2, height=2.3)
    shares, *others = axes.flat
    for (column, label), mark, colour in zip(SHARES.items(), "os^", style.NEUTRAL, strict=False):
        plots.band(shares, curve(rows, column), color=colour, marker=mark, label=label)
    shares.set(ylim=(0, 1), ylabel="share known")
    shares.legend(loc="upper left", frameon=True, edgecolor="none")
    for axis, (column, label) in zip(others, COUNTS.items(), strict=True):
        plots.band(axis, curve(rows, column), color=style.NEUTRAL[3], marker="o")
        axis.set_ylabel(label)
    others[-1].axhline(0, color="black", linewidth=0.8)
    first, last = rows["step"].min(), rows["step"].max()
    for axis in axes.flat:
        style.mark_paper(axis, [step for step in paper["004-6"].values() if step <= last], along="x", label="_paper")
        axis.set(xscale="log", xlim=(0.9 * first, 1.1 * last))
    for axis in axes[-1]:
        axis.set_xlabel("iteration")
    return figure


BEGINNINGS = {FINE_TUNING: "pre-trained", ALONE: "from the beginning"}


@figure(
    "What pre-training brings", where="Section 4", claims=["004-7"], parts=[ALONE, FINE_TUNING], values={"rates": RATES}
)
def fine_tuning(loss_curve: pd.DataFrame) -> Figure:
    """Loss on held-out documents of the second, smaller text in nats per character against steps on that text: after
    pre-training on the first one, and without it; mean over seeds and 95 % t interval. Both have the same number of
    steps there. {rates} The paper shows no loss.
    """
    figure, ((axis,),) = style.canvas(height=2.8, width=4.6)
    for position, (part, name) in enumerate(BEGINNINGS.items()):
        line = curve(loss_curve[loss_curve["part"] == part], "validation_nats_per_character")
        plots.bars(axis, line, fmt="os"[position] + "-", color=style.NEUTRAL[position], label=name)
    axis.set(title=", ".join(sorted(loss_curve["corpus"].unique())), xlabel="training step on this text")
    axis.set_ylabel("held-out loss (nats per character)")
    axis.legend(loc="upper right")
    return figure


FORMS = {"transpose": ("transpose (text)", PUBLISHED), "reshape": ("reshape (published code)", "reshape")}


@figure("How far information travels", where="Figure 3 and its published code", claims=["004-8"])
def reach(reach: pd.DataFrame) -> Figure:
    """Where the last position's output comes from, in models with fresh weights and plain masks, at the paper's
    context, width and number of blocks, and with a width that is a multiple of the context: share of the output's
    gradient (sum of its norms over tokens) that lies on the last so many tokens. A dot ends a line at the furthest
    token with a gradient that is not exactly zero. The text transposes; the published code reshapes, so that a block
    moves information by about one token, or not at all. Grey: the whole context.
    """
    figure, axes = style.canvas(columns=2, height=2.9)
    for axis, size in zip(axes[0], (PRINTED, MULTIPLE), strict=True):
        heard = reach[reach["context"].eq(size.context) & reach["d_model"].eq(size.d_model) & reach["heard"].eq(True)]
        for form, (name, variant) in FORMS.items():
            line = heard[heard["form"] == form].sort_values("tokens_back")
            share, colour = line["gradient_1"].cumsum() / line["gradient_1"].sum(), style.colour(variant)
            axis.plot(line["tokens_back"] + 1, share, color=colour, label=name)
            axis.plot(line["tokens_back"].iloc[-1:] + 1, share.iloc[-1:], "o", color=colour, markersize=5)
        style.mark_paper(axis, size.context, along="x", label="the whole context")
        axis.set(xscale="log", ylim=(0, 1.04), xlabel="last tokens, counted back")
        axis.set_title(f"context {size.context}, width {size.d_model}, {size.n_blocks} blocks")
    axes[0, 0].set_ylabel("share of the gradient")
    plots.legend_below(figure, axes[0, :1], ncols=3)
    return figure
