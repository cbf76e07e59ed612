"""Held-out loss of matchers over training, by context and position, a line per embedder (001-22 to 001-26)."""

import math
from typing import Any

import pandas as pd
from matplotlib.axes import Axes
from matplotlib.figure import Figure

from allmlp.report import style
from allmlp.studies.mixers.matching import PART, POSITIONS, SHARED_WORDS, SIDES, usual
from allmlp.studies.mixers.runs.retrieval_settings import EMBEDDERS
from allmlp.studies.seeds import curve

MEASURES = ["retrieval_curve", "retrieval"]
PARTS = [PART]
PAPER = "Accurate Representation and Retrieval, losses given in the text"
CLAIMS = ["001-22", "001-23", "001-24", "001-25", "001-26"]
TITLE = "Learning to match queries and texts by their embeddings"
CAPTION = (
    "Loss of a bidirectional mixer that is shown the embeddings of a query and of candidates, against its training "
    "steps: held-out pairs, mean over seeds and 95 % t interval, by the model that embeds. Solid: padded on the "
    "right; dotted: on the left. Hollow: the embedder is not trained. Embeddings are read at the token before the "
    "end, the last one that was trained to say anything, or averaged over the text; normalisation and learning rate "
    "are the best of each embedder's own search, where there is one. Black: chance, the logarithm of the number of "
    "candidates, one less than the context, which counts the query. Grey, at the contexts that the article has: its "
    "losses, after 200 passes over 200,000 pairs, with embeddings 1,024 wide: the lower of two is on its mixer's."
)
PRINTED = {32: "001-22", 128: "001-23"}  # context -> the claim that holds the article's two test losses
TEST_LOSSES = ("mixer_test_loss_nats", "transformer_test_loss_nats")
LINES = {"right": "-", "left": ":"}


def draw(tables: dict[str, pd.DataFrame]) -> Figure:
    """tables["retrieval_curve"] and ["retrieval"] with run, seed and the matchers' labels; ["paper"]."""
    rows = usual(tables["retrieval_curve"])
    rows = rows[rows["words"].eq(SHARED_WORDS)]
    chance = tables["retrieval"].set_index("run")["chance_nats"]
    contexts = sorted(rows["context"].unique())
    positions = [name for name in POSITIONS if rows["position"].eq(name).any()]
    figure, axes = style.canvas(columns=len(contexts), rows=len(positions), height=2.6)
    for row, position in zip(axes, positions, strict=True):
        of_position = rows[rows["position"].eq(position)]
        for axis, context in zip(row, contexts, strict=True):
            _panel(axis, of_position[of_position["context"].eq(context)], chance, tables["paper"])
            axis.set_title(f"{context - 1} candidates\n{POSITIONS[position]}")
    figure.supylabel("held-out loss (nats)", fontsize="medium")
    for column in axes.T:  # below the lowest that was run
        next((axis for axis in column[::-1] if axis.axison), column[-1]).set_xlabel("training step")
    legend(figure, list(axes.flat))
    return figure


def _panel(axis: Axes, rows: pd.DataFrame, chance: pd.Series, paper: pd.DataFrame) -> None:
    if rows.empty:
        axis.text(0.5, 0.5, "not run", transform=axis.transAxes, ha="center")
        axis.set_axis_off()
        return
    axis.axhline(float(chance[rows["run"].iloc[0]]), color="black", linewidth=1.0)
    _printed(axis, paper, int(rows["context"].iloc[0]))
    for embedder, side in ((embedder, side) for embedder in EMBEDDERS for side in SIDES):
        _line(axis, rows, embedder, side)
    axis.set_ylim(bottom=0)


def legend(figure: Figure, axes: list[Axes]) -> None:
    """One legend below all axes, each label once."""
    handles: dict[str, Any] = {}
    for axis in axes:
        handles |= dict(zip(*reversed(axis.get_legend_handles_labels()), strict=True))
    figure.legend(list(handles.values()), list(handles), loc="outside lower center", ncols=4)


def _line(axis: Axes, rows: pd.DataFrame, embedder: str, side: str) -> None:
    found = rows[rows["embedder"].eq(embedder) & rows["padding"].eq(side)]
    if found.empty:
        return
    held_out = curve(found, "held_out_nats")
    half = held_out["high"] - held_out["mean"]
    architecture = EMBEDDERS[embedder]  # type: ignore[index]
    axis.errorbar(
        held_out["step"],
        held_out["mean"],
        yerr=None if half.isna().all() else half,
        color=style.colour(architecture),
        linestyle=LINES[side],
        marker="o",
        markersize=3.5,
        markerfacecolor="white" if embedder.startswith("untrained") else style.colour(architecture),
        capsize=1.5,
        elinewidth=0.7,
        label=embedder if side == "right" or not rows["padding"].eq("right").any() else f"{embedder}, left",
    )


def _printed(axis: Axes, paper: pd.DataFrame, context: int) -> None:
    values = paper[paper["claim"].eq(PRINTED.get(context, "")) & paper["key"].isin(TEST_LOSSES)]["value"]
    numbers = [float(value) for value in values if not math.isnan(float(value))]
    if numbers:
        style.mark_paper(axis, numbers)
