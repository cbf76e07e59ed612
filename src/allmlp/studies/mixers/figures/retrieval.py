"""Figures of the retrieval: accuracy by reader of the embeddings, matchers over training, search by tournament."""

import math

import numpy as np
import pandas as pd
from matplotlib.axes import Axes
from matplotlib.figure import Figure

from allmlp.report import plots, style
from allmlp.report.exhibits import Paper, figure
from allmlp.studies.mixers import drawing
from allmlp.studies.mixers.matching import POSITIONS, READERS, SIDES, readings, usual
from allmlp.studies.mixers.runs.retrieval_settings import EMBEDDERS
from allmlp.studies.mixers.setting import OTHER_WORDS, PART, SHARED_WORDS
from allmlp.studies.seeds import curve, over_seeds

MARKS = {"right": "o", "left": "<"}
TITLES = {SHARED_WORDS: "shared words", OTHER_WORDS: "no shared content word"}


@figure(
    "Is the information not there, or did the matcher not find it?",
    where="Accurate Representation and Retrieval, of which it gives no accuracy",
    claims=["001-21", "001-own-5", "001-own-6", "001-own-7"],
    parts=[PART],
)
def retrieval_accuracy(retrieval: pd.DataFrame, distances: pd.DataFrame, embedding_probes: pd.DataFrame) -> Figure:
    """Share of held-out queries with their own text first among the candidates, by reader of the embeddings: mean over
    seeds and 95 % t interval, at the largest context that was run, up to the article's 32. Readers are the trained
    matcher; closed-form ridge regressions that predict the words of the query from the text's embedding (given the
    query's true words), from the query's embedding (given those of the candidates) and from both; and distances between
    raw embeddings. If a probe is high and the matcher low, the information is there. Rows: the embedding before the end
    of the text, and averaged over it. Left: queries that may share words with their texts. Right, if it was run:
    paraphrases that share no content word. Circles: padded on the right; triangles: on the left. Grey line: chance.
    """
    rows = readings(retrieval, distances, embedding_probes)
    kinds = [words for words in TITLES if rows["words"].eq(words).any()]
    positions = [name for name in POSITIONS if rows["position"].eq(name).any()]
    figure, axes = style.canvas(columns=len(kinds), rows=len(positions), height=2.9)
    for row, position in zip(axes, positions, strict=True):
        for axis, words in zip(row, kinds, strict=True):
            found = rows[rows["words"].eq(words) & rows["position"].eq(position)]
            _accuracies(axis, found)
            axis.set_title(f"{POSITIONS[position]}, {TITLES[words]}")
        row[0].set_ylabel("top-1 accuracy")
    plots.legend_below(figure, axes.flat[::-1], ncols=4)
    return figure


def _accuracies(axis: Axes, rows: pd.DataFrame) -> None:
    readers = [reader for reader in READERS if rows["reader"].eq(reader).any()] or list(READERS)
    axis.set_xticks(range(len(readers)), readers, rotation=30, ha="right")
    axis.set_ylim(0, 1.02)
    if rows.empty:
        drawing.not_run(axis)
        return
    axis.axhline(1 / float(rows["candidates"].iloc[0]), color=style.PAPER, linewidth=1.0)
    for number, embedder in enumerate(EMBEDDERS):
        for side, of_side in rows[rows["embedder"].eq(embedder)].groupby("padding"):
            points = over_seeds(of_side, ["reader"], "top_1")
            shift = 0.13 * (number - 2) + (0.05 if side == "left" else 0.0)
            points = points.assign(place=points["reader"].map(readers.index) + shift)
            named = side == "right" or not rows.loc[rows["embedder"].eq(embedder), "padding"].eq("right").any()
            looks = {**drawing.of_embedder(embedder), "fmt": MARKS[str(side)], "label": embedder if named else None}
            plots.bars(axis, points, "place", markersize=4, capsize=0, elinewidth=0.8, **looks)


PRINTED = {32: "001-22", 128: "001-23"}  # context -> the claim with the article's two test losses
TEST_LOSSES = ("mixer_test_loss_nats", "transformer_test_loss_nats")
LINES = {"right": "-", "left": ":"}


@figure(
    "Learning to match queries and texts by their embeddings",
    where="Accurate Representation and Retrieval, losses given in the text",
    claims=["001-22", "001-23", "001-24", "001-25", "001-26"],
    parts=[PART],
)
def retrieval_losses(retrieval_curve: pd.DataFrame, retrieval: pd.DataFrame, paper: Paper) -> Figure:
    """Loss of a bidirectional mixer that reads the embeddings of a query and of candidates, against its training steps:
    held-out pairs, mean over seeds and 95 % t interval, by embedding model. Solid: padded on the right; dotted: on the
    left. Hollow: the embedder is not trained. Embeddings are taken at the token before the end, the last one with a
    trained prediction, or averaged over the text; normalisation and learning rate are the best of each embedder's own
    search, if there is one. Black: chance, the logarithm of the number of candidates (the context less the query).
    Grey, at the article's contexts: its losses after 200 passes over 200,000 pairs, with embeddings 1,024 wide; the
    lower of the two is for its mixer.
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
            _losses(axis, of_position[of_position["context"].eq(context)], chance, paper)
            axis.set_title(f"{context - 1} candidates\n{POSITIONS[position]}")
    figure.supylabel("held-out loss (nats)", fontsize="medium")
    for column in axes.T:  # below the lowest that was run
        next((axis for axis in column[::-1] if axis.axison), column[-1]).set_xlabel("training step")
    plots.legend_below(figure, axes.flat[::-1], ncols=4)
    return figure


def _losses(axis: Axes, rows: pd.DataFrame, chance: pd.Series, paper: Paper) -> None:
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


@figure(
    "Search by tournament",
    where="Accurate Representation and Retrieval, a remark without numbers",
    claims=["001-30"],
    parts=[PART],
)
def tournament(tournament_search: pd.DataFrame) -> Figure:
    """Left: counted forward passes of the matcher to find one of n held-out texts, in groups that fill its context;
    black lines: n / (group - 1), grey: n log n, to the base of the group, as in the article. Right: share of queries
    that find their own text, mean over seeds and 95 % t interval, padded on the right and with embeddings averaged over
    the text if these were run; dotted: chance, 1 / n. A text must win every round, so errors of the matcher add up.
    """
    rows = usual(tournament_search)
    rows = rows[rows["words"].eq(SHARED_WORDS)]
    rows = rows[rows["position"].eq("mean" if rows["position"].eq("mean").any() else "before_last")]
    figure, axes = style.canvas(columns=2, height=3.0)
    _passes(axes[0, 0], rows)
    _found(axes[0, 1], rows[rows["padding"].eq("right" if rows["padding"].eq("right").any() else "left")])
    return figure


def _passes(axis: Axes, rows: pd.DataFrame) -> None:
    for place, group in enumerate(sorted(rows["group"].unique())):
        counted = rows[rows["group"].eq(group)].drop_duplicates("texts").sort_values("texts")
        n = counted["texts"].to_numpy(float)
        axis.plot(n, counted["passes"], "o", markersize=4, color=style.NEUTRAL[place], label=f"groups of {group}")
        axis.plot(n, n / (group - 1), color="black", linewidth=0.8)
        axis.plot(n, n * np.log(n) / np.log(group), color=style.PAPER, linestyle="--", linewidth=0.8)
    axis.set_yscale("log")
    _numbers_of_texts(axis, rows)
    axis.set_ylabel("forward passes")
    axis.legend()


def _found(axis: Axes, rows: pd.DataFrame) -> None:
    largest = rows[rows["group"].eq(rows["group"].max())]
    for embedder in EMBEDDERS:
        of_embedder = largest[largest["embedder"].eq(embedder)]
        if of_embedder.empty:
            continue
        points, looks = over_seeds(of_embedder, ["texts"], "top_1"), drawing.of_embedder(embedder)
        plots.bars(axis, points, "texts", fmt="o-", markersize=4, capsize=0, label=embedder, **looks)
    n = np.sort(largest["texts"].unique())
    axis.plot(n, 1 / n, color="black", linestyle=":", linewidth=1.0)
    _numbers_of_texts(axis, largest)
    axis.set(ylim=(0, 1.02), ylabel="own text found")
    axis.set_title(f"groups of {largest['group'].max()}" if len(largest) else "")
    axis.legend()


def _numbers_of_texts(axis: Axes, rows: pd.DataFrame) -> None:
    """A logarithmic axis with a tick at each number searched."""
    plots.ticks(axis, sorted(rows["texts"].unique()), form="{:,}")
    axis.set_xlabel("texts")
