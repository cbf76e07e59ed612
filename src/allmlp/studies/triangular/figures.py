"""Figures of study 004: variants, pre-training and fine-tuning, reach."""

from typing import Any

import numpy as np
import pandas as pd
from matplotlib.figure import Figure

from allmlp.report import plots, style
from allmlp.report.exhibits import Paper, figure
from allmlp.report.statistics import t_interval
from allmlp.studies.seeds import curve
from allmlp.studies.triangular.parts import ALONE, COMPARISON, FINE_TUNING, RATES, RATES_OF_VARIANTS
from allmlp.studies.triangular.printed import MULTIPLE, PRINTED
from allmlp.studies.triangular.runs import PUBLISHED

EARLY = 0.25  # share of the steps
PANELS = {
    "mask and triangles": ["one-plain", "one-averaging", "two-plain", "two-averaging", "one-discounted"],
    "activation": ["two-averaging", "gelu", "relu", "leaky-relu"],
    "form": ["two-averaging", "reshape", "gradient-mask"],
}
NAMES = {
    "one-plain": "one, plain",
    "one-averaging": "one, averaging",
    "one-discounted": "one, discounted",
    "two-plain": "two, plain",
    "two-averaging": "two, averaging, sine",
    "gradient-mask": "mask on the gradient",
}
STYLES = ("o-", "s--", "^-.", "d:", "v-")  # lines may lie upon each other
FINE: dict[str, Any] = {"markersize": 2.5, "linewidth": 1.0, "capsize": 1.5}


@figure(
    "Masks, triangles, activations and forms",
    where="Figures 1, 4 and 5, which show the variants and no loss",
    claims=["004-2", "004-3", "004-4", "004-5", "004-own-1", "004-own-2"],
    parts=[COMPARISON],
    values={"rates": RATES_OF_VARIANTS},
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
    figure, axes = style.canvas(columns=len(panels), height=3.4)
    for axis, (title, names) in zip(axes[0], panels.items(), strict=True):
        for position, name in enumerate(names):
            line = curve(rows[rows["variant"] == name], "validation_nats")
            mark, colour = STYLES[position % len(STYLES)], style.NEUTRAL[position % len(style.NEUTRAL)]
            plots.bars(axis, line, fmt=mark, color=colour, label=NAMES.get(name, name), **FINE)
        style.mark_paper(axis, EARLY * float(rows["step"].max()), along="x", label="_early")
        axis.set(title=title, xlabel="training step")
        axis.legend(loc="upper right")
    axes[0, 0].set_ylabel("held-out loss (nats per token)")
    return figure


COLUMNS = {"early_nats": "early (mean over the first quarter)", "end_nats": "at the end"}


@figure(
    "What each variant costs",
    where="Sections 2 and 3",
    claims=["004-2", "004-3", "004-4", "004-5", "004-own-1", "004-own-2"],
    parts=[COMPARISON],
    values={"rates": RATES_OF_VARIANTS},
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
            values, colour = against[learning["variant"] == name], style.NEUTRAL[position % len(style.NEUTRAL)]
            axis.plot(values, np.full(len(values), position), "o", markersize=2.5, alpha=0.5, color=colour)
            interval = t_interval(values.to_numpy())
            plots.whisker(axis, position, interval, along="x", fmt="D", markersize=4, capsize=3, color=colour)
        axis.axvline(0, color="black", linewidth=0.8)
        axis.set_yticks(range(len(names)), names if axis is axes[0, 0] else [""] * len(names))
        axis.set(ylim=(-0.6, len(names) - 0.4), title=title)
    figure.supxlabel("nats per token more than two triangles, averaging, sine", fontsize="medium")
    return figure


SHARES = {"word_share_1": "words", "pair_share_1": "pairs of words", "four_word_share_1": "sequences of four"}


@figure("From letters to sentences", where="Section 4", claims=["004-6"])
def milestones(milestones: pd.DataFrame, paper: Paper) -> Figure:
    """Samples of the model in training: share of their words, of pairs of neighbouring words and of sequences of four
    words that occur in the training text (in four million characters of a longer one); mean length of correctly spelled
    words, and different pairs of words; and how much its own document's context lowers a model's loss. Mean over seeds
    and 95 % t interval against iterations (logarithmic; the samples before the first step stand at 1). Grey: the
    iterations at which the paper reports words, phrases, small sentences and the use of context.
    """
    rows = milestones.assign(step=milestones["step"].clip(lower=1))
    figure, axes = style.canvas(columns=3, height=3.7)
    shares, words, context = axes[0]
    beside = words.twinx()
    lines = [(shares, column, position) for position, column in enumerate(SHARES)]
    lines += [(words, "known_word_characters", 0), (beside, "distinct_pairs", 1), (context, "context_nats", 2)]
    for axis, column, position in lines:
        line, label = curve(rows, column), SHARES.get(column, "")
        plots.band(axis, line, color=style.NEUTRAL[position], marker="os^"[position], label=label)
    shares.set(ylim=(0, 1), ylabel="share known")
    words.set_ylabel("mean length of a word (characters)", color=style.NEUTRAL[0])
    beside.set_ylabel("different pairs", color=style.NEUTRAL[1])
    beside.grid(visible=False)
    context.axhline(0, color="black", linewidth=0.8)
    context.set_ylabel("loss without its context (nats more)")
    for axis in axes[0]:
        style.mark_paper(axis, list(paper["004-6"].values()), along="x", label="_paper")
        axis.set(xscale="log", xlabel="iteration")
    plots.legend_below(figure, axes[0, :1], ncols=3)
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


FORMS = {"transpose": "transpose (text)", "reshape": "reshape (published code)"}


@figure("How far information travels", where="Figure 3 and its published code", claims=["004-8"])
def reach(reach: pd.DataFrame) -> Figure:
    """Norm of the gradient of the last position's output with respect to each earlier token, over that with respect to
    its own, in models with fresh weights and plain masks: at the paper's context, width and number of blocks, and with
    a width that is a multiple of the context. Tokens with a gradient of exactly zero, which have no influence, are not
    drawn. The text transposes; the published code reshapes, so that a block moves information by about one token, or
    not at all. Grey: the whole context.
    """
    figure, axes = style.canvas(columns=2, height=2.9)
    for axis, size in zip(axes[0], (PRINTED, MULTIPLE), strict=True):
        heard = reach[reach["context"].eq(size.context) & reach["d_model"].eq(size.d_model) & reach["heard"].eq(True)]
        for position, (form, name) in enumerate(FORMS.items()):
            line = heard[heard["form"] == form]
            looks = {"marker": "o" if len(line) < size.context // 2 else "", "markersize": 3}
            axis.plot(line["tokens_back"] + 1, line["gradient_1"], color=style.NEUTRAL[position], label=name, **looks)
        style.mark_paper(axis, size.context, along="x", label="the whole context")
        axis.set(xscale="log", yscale="log", xlabel="token, counted back (the last: 1)")
        axis.set_title(f"context {size.context}, width {size.d_model}, {size.n_blocks} blocks")
    axes[0, 0].set_ylabel("gradient over the own token's")
    plots.legend_below(figure, axes[0, :1], ncols=3)
    return figure
