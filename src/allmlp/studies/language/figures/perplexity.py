"""Perplexity of DCT-MLPs and GPT-2s against weights, depth and operations (000-13)."""

import numpy as np
import pandas as pd
from matplotlib.axes import Axes
from matplotlib.figure import Figure
from matplotlib.ticker import EngFormatter, FuncFormatter, LogLocator, MaxNLocator, NullFormatter

from allmlp.report import style
from allmlp.studies.language.crossings import DCT, GPT, of_part
from allmlp.studies.seeds import over_seeds

MEASURES = ["perplexity"]
PARTS = ["perplexity"]
PAPER = "Figure 9"
CLAIMS = ["000-13", "000-own-6", "000-own-7"]
TITLE = "Perplexity of the DCT-MLP beside a transformer"
CAPTION = (
    "Perplexity per token on held-out documents at the end of training against weights outside the embeddings, "
    "blocks, and counted operations of the whole training (matrix products, forward and backward). All models have one "
    "width and differ in depth. Dots are seeds, lines means over seeds with 95 % t intervals. Solid: equal data; "
    "dashed: the DCT-MLP with more. Where the text is drawn from a grammar, the black dotted line is the perplexity of "
    "its exact entropy, below which no model can stay; far below all models the legend alone gives it. The paper's "
    "figure has no numbers in its text; its context, width and data are far larger."
)

PANELS = {"weights": "weights outside embeddings", "n_blocks": "blocks", "operations": "operations of training"}
STYLES = {1: ("-", "o"), 2: ("--", "s")}  # equal data, more data
FAR = 2  # a floor so many times below the best model would press all lines together


def lines(rows: pd.DataFrame) -> list[tuple[str, str, int, pd.DataFrame]]:
    """Label, architecture, 1 or 2 for more data, and rows of each line."""
    found = []
    for model in (GPT, DCT):
        for data, of_data in rows[rows["model"] == model].groupby("data"):
            times = int(of_data["data"].iloc[0])
            label = model if times == 1 else f"{model}, {times} times the data"
            found.append((label, model, 1 if data == 1 else 2, of_data))
    return found


def _line(axes: Axes, rows: pd.DataFrame, x: str, label: str, model: str, which: int) -> None:
    colour, (dash, marker) = style.colour(model), STYLES[which]
    axes.scatter(rows[x], rows["perplexity_1"], s=7, marker=marker, color=colour, alpha=0.4, linewidth=0)
    means = over_seeds(rows, [x], "perplexity_1")
    half = means["high"] - means["mean"]
    yerr = None if half.isna().all() else half
    axes.errorbar(
        means[x], means["mean"], yerr=yerr, fmt=dash + marker, markersize=3, color=colour, capsize=2, label=label
    )


def draw(tables: dict[str, pd.DataFrame]) -> Figure:
    """Three panels of tables["perplexity"]."""
    rows = of_part(tables["perplexity"])
    figure, axes = style.canvas(columns=3, height=3.0, width=7.5)
    floors, best = sorted(rows["floor_perplexity_1"].dropna().unique()), rows["perplexity_1"].min()
    for axis, (x, title) in zip(axes[0], PANELS.items(), strict=True):
        for label, model, which, of_line in lines(rows):
            _line(axis, of_line, x, label, model, which)
        for floor in floors:
            at = [floor] if floor * FAR > best else []
            label = "entropy" if at else f"entropy: {floor:.3g}"
            axis.plot(
                [0, 1], 2 * at or [np.nan] * 2, ":", color="black", transform=axis.get_yaxis_transform(), label=label
            )
        _scales(axis, logarithmic=x != "n_blocks")
        axis.set_xlabel(title)
    for axis in axes[0, 1:]:
        axis.sharey(axes[0, 0])
        axis.tick_params(labelleft=False)
    axes[0, 0].set_ylabel("perplexity per token (logarithmic)")
    figure.legend(*axes[0, 0].get_legend_handles_labels(), loc="outside lower center", ncols=4)
    return figure


def _scales(axes: Axes, logarithmic: bool) -> None:
    axes.set_yscale("log")
    axes.yaxis.set_major_locator(MaxNLocator(6, steps=[1, 2, 5, 10]))
    axes.yaxis.set_major_formatter(FuncFormatter(lambda value, _: f"{value:g}"))
    axes.yaxis.set_minor_formatter(NullFormatter())
    if not logarithmic:
        axes.xaxis.set_major_locator(MaxNLocator(integer=True))
        return
    axes.set_xscale("log")
    axes.xaxis.set_major_locator(LogLocator(subs=(1, 2, 5)))
    axes.xaxis.set_major_formatter(EngFormatter(sep=" "))
    axes.xaxis.set_minor_formatter(NullFormatter())
