"""Share of the input recovered from the last hidden layer, against training, width and depth (001-28, own-9)."""

import pandas as pd
from matplotlib.axes import Axes
from matplotlib.figure import Figure

from allmlp.report import style
from allmlp.studies.mixers.drawing import colour
from allmlp.studies.mixers.parts import BASE
from allmlp.studies.seeds import over_seeds

MEASURES = ["recovery"]
PAPER = "Language Mixer Basics"
CLAIMS = ["001-28", "001-own-9", "001-own-10"]
TITLE = "What the last hidden layer gives back"
CAPTION = (
    "Share of a text's tokens recovered by descent on its embeddings until the last hidden layer matches: above from "
    "the whole layer, below the first half of the text from the layer at the positions of the second half, so that "
    "only what is passed between tokens counts. By training; and, of untrained weights, by width and by depth. Lines:"
    " mean over seeds and 95 % t interval, at the best rate of a few chosen for each model on other texts. A search "
    "over tokens, one after the other, in place of descent gives the diamonds: it tells what is lost from what "
    "descent does not find. Tokens are read off as the paper does; what that loses even of true embeddings, at small "
    "widths, is in the table."
)

ROWS = {"self": "whole layer", "non-self": "later positions only"}


def _lines(axes: Axes, rows: pd.DataFrame, x: str) -> None:
    for position, (variant, of_variant) in enumerate(rows.groupby("variant", sort=True)):
        of_variant = of_variant.assign(value=of_variant["recovered_1"])
        means = over_seeds(of_variant, [x], "value")
        half = (means["high"] - means["mean"]).fillna(0.0)
        axes.errorbar(
            means[x],
            means["mean"],
            yerr=half,
            color=colour(str(variant), position),
            marker=".",
            capsize=2,
            label=variant,
        )
    axes.set_ylim(-0.05, 1.05)


def _searched(axes: Axes, rows: pd.DataFrame) -> None:
    last = rows[rows["way"].eq("search") & rows["step"].eq(rows.groupby("run")["step"].transform("max"))]
    for position, (variant, of_variant) in enumerate(last.groupby("variant", sort=True)):
        x, y = of_variant["step"].mean(), of_variant["recovered_1"].mean()
        axes.scatter(x, y, s=26, marker="D", facecolor="none", edgecolor=colour(str(variant), position), zorder=3)


def panels(rows: pd.DataFrame) -> dict[str, pd.DataFrame]:
    """Column of x -> its rows: training steps of the base size; untrained weights by width and depth where varied."""
    base = rows[rows["size"].eq(BASE) & rows["padding"].eq("right")]
    width, depth = base["d_model"].iloc[0], base["n_blocks"].iloc[0]
    untrained = rows[rows["step"].eq(0) & rows["padding"].eq("right")]
    varied = {
        "step": base[base.groupby("run")["step"].transform("max").gt(0)],
        "d_model": untrained[untrained["n_blocks"].eq(depth)],
        "n_blocks": untrained[untrained["d_model"].eq(width)],
    }
    return {x: found for x, found in varied.items() if x == "step" or found[x].nunique() > 1}


def draw(tables: dict[str, pd.DataFrame]) -> Figure:
    """A row for the whole layer and one for later positions, a column per thing varied; from tables["recovery"]."""
    found = panels(tables["recovery"])
    titles = {"step": "training steps", "d_model": "width, untrained", "n_blocks": "layers, untrained"}
    figure, axes = style.canvas(columns=len(found), rows=len(ROWS), height=2.1)
    for across, (x, rows) in enumerate(found.items()):
        for down, (way, said) in enumerate(ROWS.items()):
            axis = axes[down, across]
            _lines(axis, rows[rows["way"].eq(way) & rows["rates"].eq("searched")], x)
            if x == "step" and way == "self":
                _searched(axis, rows)
            if x != "step":
                axis.set_xscale("log", base=2)
                ticks = sorted(rows[x].unique())
                axis.set_xticks(ticks, [str(tick) for tick in ticks])
            axis.set_xlabel(titles[x] if down == len(ROWS) - 1 else "")
            if across == 0:
                axis.set_ylabel(f"share of tokens\n{said}")
    handles, labels = axes[0, 0].get_legend_handles_labels()
    figure.legend(handles, labels, loc="outside lower center", ncols=4, frameon=False, fontsize=8)
    return figure
