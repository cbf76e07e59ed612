"""How many times the transformer's size a DCT-MLP of equal perplexity has (000-13)."""

import numpy as np
import pandas as pd
from matplotlib.axes import Axes
from matplotlib.figure import Figure
from matplotlib.ticker import FuncFormatter, MultipleLocator

from allmlp.report import style
from allmlp.studies.language.crossings import DCT, GPT, crossings, of_part
from allmlp.studies.seeds import over_seeds

MEASURES = ["perplexity"]
PARTS = ["perplexity"]
PAPER = "Section 5.2, Figure 9"
CLAIMS = ["000-13", "000-own-6", "000-own-7"]
TITLE = "Size of a DCT-MLP over that of the transformer it equals"
CAPTION = (
    "Weights outside the embeddings, and counted operations of training, of the DCT-MLP whose perplexity is that of a "
    "GPT-2 of so many blocks, over the GPT-2's own; loss interpolated linearly in the logarithm of the size. Dots are "
    "seeds, lines means over seeds with 95 % t intervals. Open triangles: even the smallest DCT-MLP tried is better "
    "(pointing down: the ratio is lower) or even the largest is worse (pointing up: it is higher). Grey: the paper's "
    "ratios at equal data and with more, at a context and with data far beyond these."
)

SIDES = {"low": "v", "high": "^"}
KEYS = {1: "parameters_ratio_1", 3: "parameters_ratio_more_data_1"}  # the paper's, by times the data


def _points(axes: Axes, found: pd.DataFrame, data: int, shift: float) -> None:
    colour, filled = style.colour(DCT), data == 1
    label = "equal data" if filled else f"{data} times the data"
    at = found["n_blocks"] * 2**shift
    inside = found["censored"] == ""
    face = colour if filled else "white"
    axes.scatter(at[inside], found.loc[inside, "log2"], s=9, color=face, edgecolor=colour, linewidth=0.7)
    for side, marker in SIDES.items():
        of_side = found["censored"] == side
        axes.scatter(at[of_side], found.loc[of_side, "log2"], s=20, marker=marker, facecolor="none", edgecolor=colour)
    means = over_seeds(found.rename(columns={"seed": "run"}), ["n_blocks"], "log2")
    half = means["high"] - means["mean"]
    axes.errorbar(
        means["n_blocks"] * 2**shift,
        means["mean"],
        yerr=None if half.isna().all() else half,
        fmt="-" if filled else "--",
        color=colour,
        capsize=2,
        label=label,
    )


def draw(tables: dict[str, pd.DataFrame]) -> Figure:
    """Two panels of tables["perplexity"]; tables["paper"] with 000-13's numbers."""
    rows = of_part(tables["perplexity"])
    of_claim = tables["paper"][tables["paper"]["claim"] == "000-13"]
    paper = {str(key): float(value) for key, value in zip(of_claim["key"], of_claim["value"], strict=True)}
    figure, axes = style.canvas(columns=2, height=2.9)
    multiples = sorted(rows.loc[rows["model"] == DCT, "data"].unique())
    for axis, (size, title) in zip(axes[0], {"weights": "weights", "operations": "operations"}.items(), strict=True):
        for position, data in enumerate(multiples):
            _points(axis, crossings(rows, int(data), size), int(data), 0.06 * position)
        if size == "weights":
            claimed = [np.log2(paper[key]) for data, key in KEYS.items() if data in multiples and key in paper]
            if claimed:
                style.mark_paper(axis, claimed)
        axis.axhline(0, color="black", linewidth=0.6)
        axis.set_xscale("log", base=2)
        depths = sorted(rows.loc[rows["model"] == GPT, "n_blocks"].unique())
        axis.set_xticks(depths, [f"{depth:g}" for depth in depths])
        axis.yaxis.set_major_locator(MultipleLocator(1))
        axis.yaxis.set_major_formatter(FuncFormatter(lambda value, _: f"{2.0**value:g}"))
        axis.set_xlabel("blocks of the GPT-2")
        axis.set_ylabel(f"{title}, DCT-MLP over GPT-2")
    figure.legend(*axes[0, 0].get_legend_handles_labels(), loc="outside lower center", ncols=3)
    return figure
