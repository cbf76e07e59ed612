"""Figures of measurements: variants, pre-training and fine-tuning, reach."""

from typing import Any

import numpy as np
import pandas as pd
from matplotlib.figure import Figure

from allmlp.judging.statistics import t_interval
from allmlp.report import plots, style
from allmlp.report.names import display
from allmlp.report.seeds import curve
from allmlp.spec.exhibits import Paper, figure
from allmlp.studies.triangular.early_steps import WORDS, early_nats, last_step, run_curve
from allmlp.studies.triangular.paper_numbers import MULTIPLE, PRINTED
from allmlp.studies.triangular.parts import ALONE, FINE_TUNING, OF_VARIANTS, RATES
from allmlp.studies.triangular.runs import PUBLISHED

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
    one seed all variants see the same batches. {rates} The "beginning" of the rules is above the grey line, 1.95 nats
    per character. Variants that a scale leaves out are not drawn. The paper names the variants and prints no loss.
    """
    rows = loss_curve.dropna(subset="validation_nats")
    there = set(rows["variant"])
    panels = {title: [name for name in names if name in there] for title, names in PANELS.items()}
    panels = {title: names for title, names in panels.items() if len(names) > 1} or {"": sorted(there)}
    order = list(dict.fromkeys(name for names in panels.values() for name in names))
    words = WORDS * float((rows["validation_nats"] / rows["validation_nats_per_character"]).median())
    figure, axes = style.canvas(columns=len(panels), height=3.4)
    for axis, (title, names) in zip(axes[0], panels.items(), strict=True):
        for name in names:
            line = curve(rows[rows["variant"] == name], "validation_nats")
            mark = STYLES[order.index(name) % len(STYLES)]
            plots.bars(axis, line, fmt=mark, color=style.colour(name), label=display(name), **FINE)
        style.mark_paper(axis, words, along="y", label="_words")
        axis.set(title=title, xlabel="training step")
    axes[0, 0].set_ylabel("held-out loss (nats per token)")
    plots.add_legend(figure, axes[0], ncols=4)
    return figure


PAIRS = {  # the compared variants of 004-2, 004-4 (a) and (b), 004-own-2: the second one minus the first
    "one plain minus one averaging": ("one-averaging", "one-plain"),
    "one averaging minus two averaging": ("two-averaging", "one-averaging"),
    "one plain minus two plain": ("two-plain", "one-plain"),
    "two plain minus one averaging": ("one-averaging", "two-plain"),
}


@figure("Who is ahead, step by step", where="Sections 2 and 3", **OF_VARIANTS)
def beginnings(loss_curve: pd.DataFrame) -> Figure:
    """Differences in training loss on the same batches (nats per token) against training steps (logarithmic): mean over
    seeds and 95 % t interval. Above zero the variant named last is ahead. Dotted: the last step of the beginning, where
    the first of the two is down to 1.95 nats per character, mean over seeds. {rates}
    """
    losses = loss_curve.dropna(subset="loss_nats").pivot(index=["seed", "step"], columns="variant", values="loss_nats")
    pairs = {name: pair for name, pair in PAIRS.items() if set(pair) <= set(losses)}
    figure, axes = style.canvas(columns=2, rows=max(1, (len(pairs) + 1) // 2), height=2.1)
    for axis, (name, (first, second)) in zip(axes.flat, pairs.items(), strict=False):
        rows = (losses[second] - losses[first]).rename("nats").dropna().reset_index()
        rows = rows[rows["step"].gt(0)].assign(run=rows["seed"])
        plots.band(axis, curve(rows, "nats"), color="#333333")  # of two variants, so in the colour of neither
        of_two = loss_curve[loss_curve["variant"].isin([first, second])]
        ends = [
            last_step([run_curve(run) for _, run in of_seed.groupby("run")]) for _, of_seed in of_two.groupby("seed")
        ]
        axis.axvline(float(np.mean(ends)), color="black", linestyle=":", linewidth=1.0)
        axis.axhline(0, color="black", linewidth=0.8)
        axis.set(xscale="log", title=name, xlabel="training step")
    for axis in axes[:, 0]:
        axis.set_ylabel("nats per token")
    return figure


COLUMNS = {"early_nats": "in the beginning (training loss)", "end_nats": "at the end (held-out loss)"}


@figure(
    "What each variant costs",
    where="Sections 2 and 3",
    **OF_VARIANTS,
)
def differences(learning: pd.DataFrame, loss_curve: pd.DataFrame) -> Figure:
    """Loss of each variant minus that of the model as published (two triangles, averaging mask, sine) of the same size
    and seed, nats per token: training loss over the beginning, until the first of the two is down to 1.95 nats per
    character, and held-out loss after the last step. Points: seeds; bars: mean and 95 % t interval. Right of zero the
    model as published is better. {rates}
    """
    base = learning[learning["variant"] == PUBLISHED].set_index("seed")["end_nats"]
    names = [name for name in sorted(learning["variant"].unique()) if name != PUBLISHED]
    figure, axes = style.canvas(columns=2, height=0.7 + 0.28 * max(3, len(names)))
    for position, name in enumerate(names):
        early = early_nats(loss_curve[loss_curve["variant"].isin([name, PUBLISHED])], name, PUBLISHED)
        end = learning[learning["variant"] == name].set_index("seed")["end_nats"]
        against = {"early_nats": early[name] - early[PUBLISHED], "end_nats": end - base}
        for axis, column in zip(axes[0], COLUMNS, strict=True):
            values, colour = against[column].to_numpy(), style.colour(name, position)
            axis.plot(values, np.full(len(values), position), "o", markersize=2.5, alpha=0.5, color=colour)
            plots.whisker(axis, position, t_interval(values), along="x", fmt="D", markersize=4, capsize=3, color=colour)
    for axis, title in zip(axes[0], COLUMNS.values(), strict=True):
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
        plots.band(axis, curve(rows, column), color=style.colour("triangular"), marker="o")
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
            line = heard[heard["form"] == form].sort_values("tokens_back", kind="stable")
            share, colour = line["gradient_1"].cumsum() / line["gradient_1"].sum(), style.colour(variant)
            axis.plot(line["tokens_back"] + 1, share, color=colour, label=name)
            axis.plot(line["tokens_back"].iloc[-1:] + 1, share.iloc[-1:], "o", color=colour, markersize=5)
        style.mark_paper(axis, size.context, along="x", label="the whole context")
        axis.set(xscale="log", ylim=(0, 1.04), xlabel="last tokens, counted back")
        axis.set_title(f"context {size.context}, width {size.d_model}, {size.n_blocks} blocks")
    axes[0, 0].set_ylabel("share of the gradient")
    plots.add_legend(figure, axes[0, :1], ncols=3)
    return figure
