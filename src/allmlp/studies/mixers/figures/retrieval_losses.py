"""Held-out loss of matchers over training, by context and position, a line per embedder (001-22 to 001-26)."""

import math

import pandas as pd
from matplotlib.axes import Axes
from matplotlib.figure import Figure

from allmlp.report import plots, style
from allmlp.report.exhibits import Paper, figure
from allmlp.studies.mixers import drawing
from allmlp.studies.mixers.matching import PART, POSITIONS, SHARED_WORDS, SIDES, usual
from allmlp.studies.mixers.runs.retrieval_settings import EMBEDDERS
from allmlp.studies.seeds import curve

PRINTED = {32: "001-22", 128: "001-23"}  # context -> the claim that holds the article's two test losses
TEST_LOSSES = ("mixer_test_loss_nats", "transformer_test_loss_nats")
LINES = {"right": "-", "left": ":"}


@figure(
    "Learning to match queries and texts by their embeddings",
    where="Accurate Representation and Retrieval, losses given in the text",
    claims=["001-22", "001-23", "001-24", "001-25", "001-26"],
    parts=[PART],
)
def retrieval_losses(retrieval_curve: pd.DataFrame, retrieval: pd.DataFrame, paper: Paper) -> Figure:
    """Loss of a bidirectional mixer that is shown the embeddings of a query and of candidates, against its training
    steps: held-out pairs, mean over seeds and 95 % t interval, by the model that embeds. Solid: padded on the right;
    dotted: on the left. Hollow: the embedder is not trained. Embeddings are read at the token before the end, the last
    one that was trained to say anything, or averaged over the text; normalisation and learning rate are the best of
    each embedder's own search, where there is one. Black: chance, the logarithm of the number of candidates, one less
    than the context, which counts the query. Grey, at the contexts that the article has: its losses, after 200 passes
    over 200,000 pairs, with embeddings 1,024 wide: the lower of two is on its mixer's.
    """
    rows = usual(retrieval_curve)
    rows = rows[rows["words"].eq(SHARED_WORDS)]
    chance = retrieval.set_index("run")["chance_nats"]
    contexts = sorted(rows["context"].unique())
    positions = [name for name in POSITIONS if rows["position"].eq(name).any()]
    figure, axes = style.canvas(columns=len(contexts), rows=len(positions), height=2.6)
    for row, position in zip(axes, positions, strict=True):
        of_position = rows[rows["position"].eq(position)]
        for axis, context in zip(row, contexts, strict=True):
            _panel(axis, of_position[of_position["context"].eq(context)], chance, paper)
            axis.set_title(f"{context - 1} candidates\n{POSITIONS[position]}")
    figure.supylabel("held-out loss (nats)", fontsize="medium")
    for column in axes.T:  # below the lowest that was run
        next((axis for axis in column[::-1] if axis.axison), column[-1]).set_xlabel("training step")
    plots.legend_below(figure, axes.flat[::-1], ncols=4)
    return figure


def _panel(axis: Axes, rows: pd.DataFrame, chance: pd.Series, paper: Paper) -> None:
    if rows.empty:
        drawing.not_run(axis)
        axis.set_axis_off()
        return
    axis.axhline(float(chance[rows["run"].iloc[0]]), color="black", linewidth=1.0)
    _printed(axis, paper, int(rows["context"].iloc[0]))
    for embedder, side in ((embedder, side) for embedder in EMBEDDERS for side in SIDES):
        _line(axis, rows, embedder, side)
    axis.set_ylim(bottom=0)


def _line(axis: Axes, rows: pd.DataFrame, embedder: str, side: str) -> None:
    found = rows[rows["embedder"].eq(embedder) & rows["padding"].eq(side)]
    if found.empty:
        return
    label = embedder if side == "right" or not rows["padding"].eq("right").any() else f"{embedder}, left"
    looks = {**drawing.of_embedder(embedder), "linestyle": LINES[side], "marker": "o", "label": label}
    plots.bars(axis, curve(found, "held_out_nats"), markersize=3.5, capsize=1.5, elinewidth=0.7, **looks)


def _printed(axis: Axes, paper: Paper, context: int) -> None:
    values = [paper[PRINTED[context]].get(name, math.nan) for name in TEST_LOSSES] if context in PRINTED else []
    if numbers := [value for value in values if not math.isnan(value)]:
        style.mark_paper(axis, numbers)
