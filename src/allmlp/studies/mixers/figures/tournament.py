"""A matcher as a search engine: passes and accuracy against the number of texts (001-30)."""

import numpy as np
import pandas as pd
from matplotlib.axes import Axes
from matplotlib.figure import Figure

from allmlp.report import plots, style
from allmlp.report.exhibits import figure
from allmlp.studies.mixers import drawing
from allmlp.studies.mixers.matching import PART, SHARED_WORDS, usual
from allmlp.studies.mixers.runs.retrieval_settings import EMBEDDERS
from allmlp.studies.seeds import over_seeds


@figure(
    "Search by tournament",
    where="Accurate Representation and Retrieval, a remark without numbers",
    claims=["001-30"],
    parts=[PART],
)
def tournament(tournament_search: pd.DataFrame) -> Figure:
    """Left: forward passes of the matcher, counted, to find one of n held-out texts in groups of as many as its context
    holds; black lines: n / (group - 1), grey: n log n, to the base of the group, as the article has it. Right: share of
    queries that end at their own text, mean over seeds and 95 % t interval, padded on the right and embeddings averaged
    over the text where these were run; dotted: chance, 1 / n. A text must win every round, so errors of the matcher add
    up.
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
    axis.set_ylim(0, 1.02)
    axis.set_ylabel("own text found")
    axis.set_title(f"groups of {largest['group'].max()}" if len(largest) else "")
    axis.legend()


def _numbers_of_texts(axis: Axes, rows: pd.DataFrame) -> None:
    """A logarithmic axis with a tick at each number searched."""
    plots.ticks(axis, sorted(rows["texts"].unique()), form="{:,}")
    axis.set_xlabel("texts")
