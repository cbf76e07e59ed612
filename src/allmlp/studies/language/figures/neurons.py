"""Figures of single first-layer neurons: their energy, rows, frequencies and keywords."""

import textwrap
from typing import Any

import numpy as np
import pandas as pd
from matplotlib.axes import Axes
from matplotlib.figure import Figure

from allmlp.judging.statistics import t_interval
from allmlp.report import plots, style
from allmlp.report.seeds import histogram
from allmlp.spec.exhibits import figure
from allmlp.studies.language.classification import BAG_OF_WORDS, CLASSES, N_GRAM
from allmlp.studies.language.drawing import COLOURS, MOMENTS, add_sentence, matrix, picture
from allmlp.studies.language.keywords import NEARNESS, RANDOM
from allmlp.studies.language.neurons import transform_neurons
from allmlp.studies.language.profiles import RECENT


@figure("Where neurons have their energy", where="Section 4.1", claims=["000-5", "000-6"], parts=["neurons"])
def energy_map(energy_map: pd.DataFrame, explained_energy: pd.DataFrame) -> Figure:
    """Each first-layer neuron of every seed, by the share of its energy in the last three rows (across) and the share
    that one constant explains in all rows before them (up), at the start, half and end of training. On the diagonal a
    window and a constant explain everything: n-gram neurons of up to three tokens lie at its right end, bag-of-words
    neurons at the grey square, their sums in between. Grey cross: random weights. The map needs no threshold; the paper
    has no such map. Below: the share of energy that the last n rows and one constant before them explain, median over
    neurons (line) and the middle 90 % (area), means over seeds; grey: random weights.
    """
    context = int(explained_energy["window_rows"].max()) + 1
    figure, axes = style.canvas(columns=len(MOMENTS), rows=2, height=2.5)
    for (above, below), moment in zip(axes.T, MOMENTS, strict=True):
        at = energy_map[energy_map["moment"] == moment]
        _map(above, at, context)
        above.set_title(f"{moment} (step {at['step'].max():,})")
        _draw_explained(below, explained_energy[explained_energy["moment"] == moment])
    axes[0, 0].set_ylabel("energy of one constant before")
    axes[1, 0].set_ylabel("energy explained")
    return figure


def _map(axes: Axes, rows: pd.DataFrame, context: int) -> None:
    looks: dict[str, Any] = {"color": style.colour("mlp"), "alpha": 0.4, "linewidth": 0, "rasterized": True}
    axes.scatter(rows["recent_energy_1"], rows["constant_energy_1"], s=5, **looks)
    axes.plot([0, 1], [1, 0], color="black", linewidth=0.8)
    axes.plot(RECENT / context, 1 / context, marker="x", color=style.PAPER, linestyle="none")
    axes.plot(RECENT / context, 1 - RECENT / context, marker="s", color=style.PAPER, linestyle="none")
    axes.set(xlim=(0, 1.02), ylim=(0, 1.02), xlabel="energy of the last 3 rows")


def _draw_explained(axes: Axes, rows: pd.DataFrame) -> None:
    means, colour = rows.groupby(["window_rows", "quantile_1"])["explained_1"].mean().unstack(), style.colour("mlp")
    axes.fill_between(means.index, means.iloc[:, 0], means.iloc[:, -1], color=colour, alpha=0.3, linewidth=0)
    axes.plot(means.index, means.iloc[:, len(means.columns) // 2], color=colour, marker="o", markersize=3)
    chance = rows.groupby("window_rows")["by_chance_1"].first()
    axes.plot(chance.index, chance, color=style.PAPER, linestyle="--")
    axes.set(xlim=(0, means.index.max()), ylim=(0, 1.02), xlabel="n, rows in the window")


WINDOW = 3  # Figure 6's last columns of the n-gram neuron


@figure(
    "Neurons of each class", where="Figure 4, right; Figures 6 and 12", claims=["000-6", "000-8"], parts=["neurons"]
)
def example_neurons(example_neurons: pd.DataFrame) -> Figure:
    """Weights of neurons of the first seed after the last step, drawn at random from their class: the first coordinates
    of the embedding (down) against time (across, the last token on the right), and below them the same in the
    orthonormal DCT-II over time, frequency 0 on the left; for n-gram neurons also the DCT of the last three positions
    alone. Each picture is scaled to its own largest weight. A class without a neuron in this seed is missing. The
    paper shows such slices without a colour scale.
    """
    rows = example_neurons[example_neurons["seed"] == example_neurons["seed"].min()]
    of_class = {name: rows[rows["class"] == name].groupby("neuron", sort=False) for name in CLASSES}
    examples = [(name, neuron, matrix(one)) for name, neurons in of_class.items() for neuron, one in neurons]
    figure, axes = style.canvas(columns=len(examples), rows=3, width=max(4.0, 1.0 * len(examples)), height=1.6)
    for column, (name, neuron, weights_TD) in zip(axes.T, examples, strict=True):
        shown = [weights_TD, transform_neurons(weights_TD[None])[0]]
        if name == N_GRAM:
            shown.append(transform_neurons(weights_TD[None, -WINDOW:])[0])
        else:
            column[2].set_axis_off()
        for axis, picture_TD in zip(column, shown, strict=False):
            picture(axis, picture_TD)
        column[0].set_title(f"{name}\nneuron {neuron}", fontsize=style.SMALLEST)
    for axis in axes.ravel():
        plots.clear_axis(axis)
    for axis, label in zip(axes[:, 0], ("time", "frequency", "frequency\nof the last three"), strict=True):
        axis.set_ylabel(f"embedding\nagainst {label}", fontsize=style.SMALLEST)
    return figure


BINS = 32


@figure("How first-layer neurons concentrate in time", where="Figure 5", claims=["000-7"], parts=["neurons"])
def l1_l2(l1_l2: pd.DataFrame) -> Figure:
    """Share of first-layer neurons by the ratio of l1 to l2 norm over time (mean over the embedding), at the start,
    half and end of training from left to right (the paper's caption names the two ends in the other order, E000-4);
    bars are means over seeds, whiskers 95 % t intervals. Grey: the idealised unigram neuron at 1 and bag-of-words
    neuron at the square root of the context length, where the paper sees its two peaks.
    """
    return _histograms(l1_l2, "ratio_1", "ℓ1 / ℓ2 over time", "1 and √T: ideal unigram, bag-of-words")


@figure("How first-layer neurons concentrate in frequency", where="Figure 15", claims=["000-16"], parts=["neurons"])
def l1_l2_frequencies(l1_l2: pd.DataFrame) -> Figure:
    """Share of first-layer neurons by the ratio of l1 to l2 norm over the frequencies of the orthonormal DCT-II (mean
    over the embedding), at the start, half and end of training from left to right (the paper's caption names the two
    ends in the other order, E000-4); bars are means over seeds, whiskers 95 % t intervals. Grey: an ideal bag-of-words
    neuron, which has frequency 0 only, at 1, and equal weight on all frequencies at the square root of the context
    length. The paper sees n-gram neurons on the right and bag-of-words neurons on the left, the inverse of the picture
    over time.
    """
    ends = "1 and √T: ideal bag-of-words, all frequencies alike"
    return _histograms(l1_l2, "frequency_ratio_1", "ℓ1 / ℓ2 over frequencies", ends)


def _histograms(rows: pd.DataFrame, column: str, xlabel: str, ends: str) -> Figure:
    """Histograms of a ratio in [1, bound_1] at start, half and end, its `ends` marked."""
    bound = float(rows["bound_1"].max())
    edges = np.linspace(1, bound, BINS + 1)
    middles, width = (edges[1:] + edges[:-1]) / 2, edges[1] - edges[0]
    figure, axes = style.canvas(columns=len(MOMENTS), height=2.7)
    for axis, moment in zip(axes[0], MOMENTS, strict=True):
        at = rows[rows["moment"] == moment]
        bins = histogram(at, column, edges)
        axis.bar(middles, bins["mean"], width=0.9 * width, color=style.colour("mlp"), label="mean over seeds")
        some = (bins["mean"] > 0) & bins["low"].notna()
        half = (bins["high"] - bins["mean"])[some]
        axis.errorbar(middles[some], bins["mean"][some], yerr=half, fmt="none", ecolor="black", elinewidth=0.8)
        style.mark_paper(axis, [edges[0], edges[-1]], along="x", label=ends)
        axis.set(title=f"{moment} (step {at['step'].max():,})", xlim=(0.9, bound + 0.1), xlabel=xlabel)
        if axis is not axes[0, 0]:
            axis.sharey(axes[0, 0])
    axes[0, 0].set(ylim=(0, None), ylabel="share of neurons")
    plots.add_legend(figure, [axes[0, 0]], ncols=2)
    return figure


@figure(
    "From few rows to few frequencies",
    where="Figure 7; Appendix J, which the text at hand lacks",
    claims=["000-9", "000-10"],
    parts=["neurons"],
)
def row_norms(row_norms: pd.DataFrame) -> Figure:
    """Norm of each row (down) of each first-layer neuron (across) of the first seed: above over time, the last token at
    the bottom, below over the frequencies of the orthonormal DCT-II, frequency 0 at the top. At each step neurons are
    sorted by their number of rows with a norm above the paper's 0.01 in the upper picture, few on the left. Ties,
    common if weight decay has left no row this small, are sorted by the sum of row norms over the largest. If there are
    more neurons than columns, neighbours are averaged. The pictures of a step share one scale, from 0 to the norm above
    them: weight decay shrinks all rows, so that one scale for all steps would leave the last one black. The paper shows
    the end of training and announces an appendix on its course.
    """
    rows = row_norms[row_norms["seed"] == row_norms["seed"].min()]
    steps, most = sorted(rows["step"].unique()), rows.groupby("step")["norm_1"].quantile(0.995)
    figure, axes = style.canvas(columns=len(steps), rows=2, height=1.9)
    for across, step in enumerate(steps):
        for axis, basis in zip(axes[:, across], ("time", "frequency"), strict=True):
            at = rows[(rows["step"] == step) & (rows["basis"] == basis)]
            norms = at.pivot(index="row", columns="column", values="norm_1")
            image = axis.imshow(style.shades(norms / most[step]), cmap="magma", vmin=0, vmax=1, **plots.PICTURE)
            plots.clear_axis(axis)
            axis.set_yticks([] if across else [0, len(norms) // 2, len(norms) - 1])
        axes[0, across].set_title(f"step {step:,}\nup to {most[step]:.2f}", fontsize=8)
    add_sentence(figure, _count_large(rows[(rows["basis"] == "time") & (rows["row"] == 0)], len(norms)))
    axes[0, 0].set_ylabel("position")
    axes[1, 0].set_ylabel("frequency")
    figure.colorbar(image, ax=axes, label="norm of the row\n(over the number above)", shrink=0.7)
    return figure


def _count_large(rows: pd.DataFrame, most: int) -> str:
    """How many rows of a neuron are above the paper's threshold, in one sentence for all steps."""
    counts = rows.groupby("step")["large_rows"].agg(["min", "max"]).astype(int)
    if counts.eq(most).all(axis=None):
        return f"All {most} rows of all neurons have norms above 0.01, at every step."
    found = (f"{least} to {largest} at step {step:,}" for step, least, largest in counts.itertuples())
    return textwrap.fill(f"Rows of a neuron with a norm above 0.01, of {most}: {', '.join(found)}.", 110)


@figure("Are keywords of one neuron about one thing?", where="Figures 13 and 14", claims=["000-11"], parts=["neurons"])
def coherence(keywords: pd.DataFrame) -> Figure:
    """Normalised pointwise mutual information of occurring in the same held-out document, mean over pairs of a vector's
    ten nearest tokens: -1 never together, 0 independent, 1 only together. Vectors are those of the six clearest neurons
    of each class (dots, all seeds; open if the neuron is not in the class) and random ones; bars are means over seeds
    with 95 % t intervals. No value: the nearest tokens are in no held-out document, or in none
    together with a value. Nearness by dot product decides the claim. The paper shows words but no number.
    """
    names, known = [BAG_OF_WORDS, N_GRAM, RANDOM], keywords["coherence_1"].dropna()
    lowest, highest = (known.min(), known.max()) if len(known) else (-1.0, 1.0)
    figure, axes = style.canvas(columns=len(NEARNESS), height=2.7)
    jitter = np.linspace(-0.25, 0.25, max(1, keywords["rank"].nunique() * keywords["seed"].nunique()))
    for axis, nearness in zip(axes[0], NEARNESS, strict=True):
        for place, name in enumerate(names):
            of_class = keywords[(keywords["nearness"] == nearness) & (keywords["class"] == name)]
            inside, colour = of_class["in_class"].gt(0) | (name == RANDOM), COLOURS.get(name, style.PAPER)
            x = pd.Series(place + jitter[: len(of_class)], index=of_class.index)
            for there, face in ((inside, colour), (~inside, "none")):
                values = of_class.loc[there, "coherence_1"]
                axis.scatter(x[there], values, s=10, facecolor=face, edgecolor=colour, linewidth=0.6)
            mean = t_interval(of_class.groupby("run")["coherence_1"].mean().to_numpy())
            plots.whisker(axis, place, mean, fmt="_", color="black", markersize=16, capsize=3)
            if of_class["coherence_1"].isna().all():
                axis.text(place, 0.02, "no\nvalue", ha="center", va="bottom", fontsize=style.SMALLEST, color="#555555")
        axis.axhline(0, color="black", linewidth=0.6)
        axis.set_xticks(range(len(names)), names, rotation=20)
        axis.grid(visible=False, axis="x")
        axis.set(title=f"nearest by {nearness}", ylim=(lowest - 0.02, highest + 0.02))
    axes[0, 0].set_ylabel("coherence (NPMI)")
    return figure
