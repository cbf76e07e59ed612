"""Top-1 accuracy on the same held-out draws by matcher, linear probes and distances, per embedder (001-21, own-7)."""

import pandas as pd
from matplotlib.axes import Axes
from matplotlib.figure import Figure

from allmlp.report import style
from allmlp.studies.mixers.figures.retrieval_losses import legend
from allmlp.studies.mixers.matching import OTHER_WORDS, PART, POSITIONS, SHARED_WORDS
from allmlp.studies.mixers.runs.retrieval_settings import EMBEDDERS
from allmlp.studies.mixers.tables.retrieval_probes import READERS, readings
from allmlp.studies.seeds import over_seeds

MEASURES = ["retrieval", "distances", "embedding_probes"]
PARTS = [PART]
PAPER = "Accurate Representation and Retrieval, of which it gives no accuracy"
CLAIMS = ["001-21", "001-own-5", "001-own-6", "001-own-7"]
TITLE = "Is the information not there, or did the matcher not find it?"
CAPTION = (
    "Share of held-out queries whose own text comes first among the candidates, by what reads the embeddings: mean "
    "over seeds and 95 % t interval, largest context that was run up to the article's 32. The trained matcher; ridge "
    "regressions, in closed form, that read the words of the query in the text's embedding (the query's true words "
    "are given), in the query's embedding (those of the candidates are given) and in both; and distances between "
    "embeddings as they are. Where a probe is high and the matcher low, the information is there. Rows: the "
    "embedding read before the end of the text, and averaged over it. Left: queries that may share words with their "
    "texts. Right, where it was run: paraphrases that share no content word. Circles: "
    "padded on the right; triangles: on the left. Grey line: chance."
)
MARKS = {"right": "o", "left": "<"}
TITLES = {SHARED_WORDS: "shared words", OTHER_WORDS: "no shared content word"}


def draw(tables: dict[str, pd.DataFrame]) -> Figure:
    """tables as in tables/retrieval_probes.py."""
    rows = readings(tables)
    kinds = [words for words in TITLES if rows["words"].eq(words).any()]
    positions = [name for name in POSITIONS if rows["position"].eq(name).any()]
    figure, axes = style.canvas(columns=len(kinds), rows=len(positions), height=2.9)
    for row, position in zip(axes, positions, strict=True):
        for axis, words in zip(row, kinds, strict=True):
            found = rows[rows["words"].eq(words) & rows["position"].eq(position)]
            _panel(axis, found)
            axis.set_title(f"{POSITIONS[position]}, {TITLES[words]}")
        row[0].set_ylabel("top-1 accuracy")
    legend(figure, list(axes.flat))
    return figure


def _panel(axis: Axes, rows: pd.DataFrame) -> None:
    readers = [reader for reader in READERS if rows["reader"].eq(reader).any()] or list(READERS)
    axis.set_xticks(range(len(readers)), readers, rotation=30, ha="right")
    axis.set_ylim(0, 1.02)
    if rows.empty:
        axis.text(0.5, 0.5, "not run", transform=axis.transAxes, ha="center")
        return
    axis.axhline(1 / float(rows["candidates"].iloc[0]), color=style.PAPER, linewidth=1.0)
    for place, embedder in enumerate(EMBEDDERS):
        _marks(axis, rows[rows["embedder"].eq(embedder)], embedder, readers, 0.13 * (place - 2))


def _marks(axis: Axes, rows: pd.DataFrame, embedder: str, readers: list[str], shift: float) -> None:
    place = {reader: number for number, reader in enumerate(readers)}
    colour = style.colour(EMBEDDERS[embedder])  # type: ignore[index]
    for side, of_side in rows.groupby("padding"):
        found = over_seeds(of_side, ["reader"], "top_1")
        half = found["high"] - found["mean"]
        axis.errorbar(
            found["reader"].map(place) + shift + (0.05 if side == "left" else 0.0),
            found["mean"],
            yerr=None if half.isna().all() else half,
            fmt=MARKS[str(side)],
            color=colour,
            markersize=4,
            markerfacecolor="white" if embedder.startswith("untrained") else colour,
            elinewidth=0.8,
            label=embedder if side == "right" or not rows["padding"].eq("right").any() else None,
        )
