"""Top-1 accuracy on the same held-out draws by matcher, linear probes and distances, per embedder (001-21, own-7)."""

import pandas as pd
from matplotlib.axes import Axes
from matplotlib.figure import Figure

from allmlp.report import plots, style
from allmlp.report.exhibits import figure
from allmlp.studies.mixers import drawing
from allmlp.studies.mixers.matching import OTHER_WORDS, PART, POSITIONS, SHARED_WORDS
from allmlp.studies.mixers.readings import READERS, readings
from allmlp.studies.mixers.runs.retrieval_settings import EMBEDDERS
from allmlp.studies.seeds import over_seeds

MARKS = {"right": "o", "left": "<"}
TITLES = {SHARED_WORDS: "shared words", OTHER_WORDS: "no shared content word"}


@figure(
    "Is the information not there, or did the matcher not find it?",
    where="Accurate Representation and Retrieval, of which it gives no accuracy",
    claims=["001-21", "001-own-5", "001-own-6", "001-own-7"],
    parts=[PART],
)
def retrieval_accuracy(retrieval: pd.DataFrame, distances: pd.DataFrame, embedding_probes: pd.DataFrame) -> Figure:
    """Share of held-out queries whose own text comes first among the candidates, by what reads the embeddings: mean
    over seeds and 95 % t interval, largest context that was run up to the article's 32. The trained matcher; ridge
    regressions, in closed form, that read the words of the query in the text's embedding (the query's true words are
    given), in the query's embedding (those of the candidates are given) and in both; and distances between embeddings
    as they are. Where a probe is high and the matcher low, the information is there. Rows: the embedding read before
    the end of the text, and averaged over it. Left: queries that may share words with their texts. Right, where it was
    run: paraphrases that share no content word. Circles: padded on the right; triangles: on the left. Grey line:
    chance.
    """
    rows = readings(retrieval, distances, embedding_probes)
    kinds = [words for words in TITLES if rows["words"].eq(words).any()]
    positions = [name for name in POSITIONS if rows["position"].eq(name).any()]
    figure, axes = style.canvas(columns=len(kinds), rows=len(positions), height=2.9)
    for row, position in zip(axes, positions, strict=True):
        for axis, words in zip(row, kinds, strict=True):
            found = rows[rows["words"].eq(words) & rows["position"].eq(position)]
            _panel(axis, found)
            axis.set_title(f"{POSITIONS[position]}, {TITLES[words]}")
        row[0].set_ylabel("top-1 accuracy")
    plots.legend_below(figure, axes.flat[::-1], ncols=4)
    return figure


def _panel(axis: Axes, rows: pd.DataFrame) -> None:
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
