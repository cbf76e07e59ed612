"""Figures of the retrieval: accuracy by reader of the embeddings, matchers over training, search by tournament."""

import math
from collections.abc import Mapping
from typing import Any

import numpy as np
import pandas as pd
from matplotlib.axes import Axes
from matplotlib.figure import Figure

from allmlp.judging.statistics import t_interval
from allmlp.report import plots, style
from allmlp.report.names import display
from allmlp.report.seeds import aggregate_seeds, last_rows
from allmlp.spec.exhibits import Paper, figure
from allmlp.studies.mixers import drawing
from allmlp.studies.mixers.matcher_settings import OTHER_WORDS, PART, SHARED_WORDS
from allmlp.studies.mixers.matching import POSITIONS, READERS, readings, usual_matchers
from allmlp.studies.mixers.runs.retrieval_settings import EMBEDDERS

TITLES = {SHARED_WORDS: "shared words", OTHER_WORDS: "no shared content word"}
DARK = 0.6  # an accuracy above is written in white


@figure(
    "Is the information not there, or did the matcher not find it?",
    where="Accurate Representation and Retrieval, of which it gives no accuracy",
    claims=["001-21", "001-own-5", "001-own-6", "001-own-7"],
    parts=[PART],
)
def retrieval_accuracy(retrieval: pd.DataFrame, distances: pd.DataFrame, embedding_probes: pd.DataFrame) -> Figure:
    """Share of held-out queries with their own text first among the candidates: mean over seeds and half the 95 % t
    interval, at the largest context that was run, up to the article's 32. Rows: the embedding, taken before the end of
    the text or averaged over it; queries may share words with their texts, or are paraphrases that share no content
    word, if these were run. Columns: its reader. The matcher is trained. The probes are closed-form ridge regressions
    that predict the words of the query from the text's embedding (given the query's true words), from the query's
    embedding (given those of the candidates) and from both. The others are distances between raw embeddings. If a probe
    is high and the matcher low, the information is there. Chance is one over the number of candidates, in the title.
    """
    rows = readings(retrieval, distances, embedding_probes)
    blocks = [(position, words) for position in POSITIONS for words in TITLES]
    of_blocks = {block: rows[rows["position"].eq(block[0]) & rows["words"].eq(block[1])] for block in blocks}
    embeddings = {block: _embeddings(found) for block, found in of_blocks.items() if len(found)}
    heights = [len(of) for of in embeddings.values()]
    figure, axes = style.canvas(rows=len(heights), height=0.5 + 0.22 * sum(heights) / len(heights), ratios=heights)
    readers = [reader for reader in READERS if rows["reader"].eq(reader).any()]
    for axis, ((position, words), of_block) in zip(axes[:, 0], embeddings.items(), strict=True):
        _accuracies(axis, of_block, readers)
        axis.set_title(f"{POSITIONS[position]}, {TITLES[words]}: chance {1 / rows['candidates'].iloc[0]:.2f}")
    axes[-1, 0].set_xticks(range(len(readers)), [reader.replace(": ", ":\n") for reader in readers], fontsize=8)
    return figure


def _embeddings(rows: pd.DataFrame) -> dict[str, pd.DataFrame]:
    """The name of an embedding -> its rows, in the order of EMBEDDERS. A name without a side is padded on the right."""
    return {
        display(embedder) if side == "right" else f"{display(embedder)}, left": of_side
        for embedder in EMBEDDERS
        for side, of_side in rows[rows["embedder"].eq(embedder)].groupby("padding", sort=True)
    }


def _accuracies(axis: Axes, of_block: dict[str, pd.DataFrame], readers: list[str]) -> None:
    points = {name: aggregate_seeds(rows, ["reader"], "top_1").set_index("reader") for name, rows in of_block.items()}
    means = np.array([[of["mean"].get(reader, np.nan) for reader in readers] for of in points.values()])
    axis.imshow(style.shades(means), cmap="Blues", vmin=0, vmax=1, aspect="auto")
    for y, of in enumerate(points.values()):
        for reader in of.index.intersection(readers):
            mean, half = of.loc[reader, "mean"], of.loc[reader, "high"] - of.loc[reader, "mean"]
            text = f"{mean:.2f}" if math.isnan(half) else f"{mean:.2f}±{half:.2f}"
            colour = "white" if mean > DARK else "black"
            axis.text(readers.index(reader), y, text, color=colour, fontsize=7.8, ha="center", va="center")
    axis.set_yticks(range(len(points)), list(points), fontsize=8)
    axis.set_xticks([])
    axis.grid(visible=False)
    axis.tick_params(length=0)


PRINTED = {32: "001-22", 128: "001-23"}  # context -> the claim with the article's two test losses
TEST_LOSSES = ("mixer_test_loss_nats", "transformer_test_loss_nats")


@figure(
    "How well queries and texts are matched by their embeddings",
    where="Accurate Representation and Retrieval, losses given in the text",
    claims=["001-22", "001-23", "001-24", "001-25", "001-26"],
    parts=[PART],
)
def retrieval_losses(retrieval_curve: pd.DataFrame, retrieval: pd.DataFrame, paper: Paper) -> Figure:
    """Held-out loss of a bidirectional mixer that reads the embeddings of a query and of candidates, after its last
    training step, by embedding model: dots are seeds, bars their mean and 95 % t interval. Hollow: the embedder is
    not trained. Embeddings are taken at the token before the end, the last one with a trained prediction, or averaged
    over the text; normalisation and learning rate are the best of each embedder's own search, if there is one. Black:
    chance, the logarithm of the number of candidates (the context less the query). Grey, at the article's contexts:
    its losses over 200 passes over 200,000 pairs, with embeddings 1,024 wide, its mixer's last and its transformer's
    lowest; the lower of the two is for its mixer.
    """
    rows = last_rows(usual_matchers(retrieval_curve))
    rows = rows[rows["words"].eq(SHARED_WORDS)]
    chance = retrieval.drop_duplicates("context").set_index("context")["chance_nats"]
    named = [
        (f"{name}, {POSITIONS[position]}", of)
        for position in POSITIONS
        for name, of in _embeddings(rows[rows["position"].eq(position)]).items()
    ]
    contexts = sorted(rows["context"].unique())
    figure, axes = style.canvas(columns=len(contexts), height=1.15 + 0.21 * len(named))
    for axis, context in zip(axes[0], contexts, strict=True):
        for y, (_, of) in enumerate(named):
            _draw_final(axis, y, of[of["context"].eq(context)])
        axis.axvline(float(chance[context]), color="black", linewidth=1.0, label="chance")
        _mark_printed(axis, paper, int(context))
        axis.set(ylim=(len(named) - 0.5, -0.5), title=f"{context - 1} candidates", xlabel="held-out loss (nats)")
        axis.set_xlim(0, 1.15 * float(chance[context]))
        axis.set_yticks(range(len(named)), [name for name, _ in named] if axis is axes[0, 0] else [], fontsize=8)
    plots.add_legend(figure, axes[0], ncols=2)
    return figure


def _draw_final(axis: Axes, y: int, rows: pd.DataFrame) -> None:
    """The last losses of one embedding, at a height."""
    if rows.empty:
        return
    values, looks = rows["held_out_nats"].to_numpy(), drawing.embedder_look(rows["embedder"].iloc[0])
    axis.scatter(values, np.full(len(values), y), s=8, alpha=0.5, linewidth=0.8, **_dot_style(looks))
    plots.whisker(axis, y, t_interval(values), along="x", fmt="|", markersize=8, capsize=2, color=looks["color"])


def _dot_style(looks: Mapping[str, str]) -> dict[str, Any]:
    return {"facecolor": looks["markerfacecolor"], "edgecolor": looks["color"]}


def _mark_printed(axis: Axes, paper: Paper, context: int) -> None:
    values = [paper[PRINTED[context]].get(name, math.nan) for name in TEST_LOSSES] if context in PRINTED else []
    if numbers := [value for value in values if not math.isnan(value)]:
        style.mark_paper(axis, numbers, along="x", label="the article's two losses")


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
    rows = usual_matchers(tournament_search)
    rows = rows[rows["words"].eq(SHARED_WORDS)]
    rows = rows[rows["position"].eq("mean" if rows["position"].eq("mean").any() else "before_last")]
    figure, axes = style.canvas(columns=2, height=3.0)
    _passes(axes[0, 0], rows)
    _draw_found_share(axes[0, 1], rows[rows["padding"].eq("right" if rows["padding"].eq("right").any() else "left")])
    return figure


def _passes(axis: Axes, rows: pd.DataFrame) -> None:
    for place, group in enumerate(sorted(rows["group"].unique())):
        counted = rows[rows["group"].eq(group)].drop_duplicates("texts").sort_values("texts", kind="stable")
        n = counted["texts"].to_numpy(float)
        axis.plot(n, counted["passes"], "o", markersize=4, color=style.NEUTRAL[place], label=f"groups of {group}")
        axis.plot(n, n / (group - 1), color="black", linewidth=0.8, label=f"n / {group - 1}")
        axis.plot(
            n,
            n * np.log(n) / np.log(group),
            color=style.PAPER,
            linestyle="--",
            linewidth=0.8,
            label="n log n, the article",
        )
    axis.set_yscale("log")
    _numbers_of_texts(axis, rows)
    axis.set_ylabel("forward passes")
    axis.legend()


def _draw_found_share(axis: Axes, rows: pd.DataFrame) -> None:
    largest = rows[rows["group"].eq(rows["group"].max())]
    for embedder in EMBEDDERS:
        of_embedder = largest[largest["embedder"].eq(embedder)]
        if of_embedder.empty:
            continue
        points, looks = aggregate_seeds(of_embedder, ["texts"], "top_1"), drawing.embedder_look(embedder)
        plots.bars(axis, points, "texts", fmt="o-", markersize=4, capsize=0, label=display(embedder), **looks)
    n = np.sort(largest["texts"].unique())
    axis.plot(n, 1 / n, color="black", linestyle=":", linewidth=1.0, label="chance")
    _numbers_of_texts(axis, largest)
    axis.set(ylim=(0, 1.02), ylabel="own text found (share)")
    axis.set_title(f"groups of {largest['group'].max()}" if len(largest) else "")
    axis.legend()


def _numbers_of_texts(axis: Axes, rows: pd.DataFrame) -> None:
    """A logarithmic axis with a tick at each number searched."""
    plots.ticks(axis, sorted(rows["texts"].unique()), form="{:,}".format)
    axis.set_xlabel("texts searched")
