"""What a run writes while it learns: words, pairs and sequences that the training text has (004-6)."""

import pandas as pd
from matplotlib.axes import Axes
from matplotlib.figure import Figure

from allmlp.report import style
from allmlp.studies.seeds import curve

MEASURES = ["milestones"]
PAPER = "Section 4"
CLAIMS = ["004-6"]
TITLE = "From letters to sentences"
CAPTION = (
    "Samples of the model in training: share of their words, of pairs of neighbouring words and of sequences of four "
    "words that occur in the training text (in four million characters of a longer one); mean length of the words "
    "spelled right, and different pairs of words; and how much of its loss a model owes to its own document's context. "
    "Mean over seeds and 95 % t interval against iterations (logarithmic; the samples before the first step stand at "
    "1). Grey: the iterations at which the paper saw words, phrases, small sentences and the use of context."
)
SHARES = {"word_share_1": "words", "pair_share_1": "pairs of words", "four_word_share_1": "sequences of four"}


def draw(tables: dict[str, pd.DataFrame]) -> Figure:
    """Three panels; tables["milestones"] with run and seed, and the paper's iterations."""
    rows = tables["milestones"].assign(step=tables["milestones"]["step"].clip(lower=1))
    paper = tables["paper"]
    printed = [float(value) for value in paper.loc[paper["claim"] == "004-6", "value"]]
    figure, axes = style.canvas(columns=3, height=3.0)
    shares, words, context = axes[0]
    for position, (column, label) in enumerate(SHARES.items()):
        _line(shares, rows, column, position, label)
    shares.set_ylim(0, 1)
    shares.set_ylabel("share known")
    shares.legend(loc="upper left")
    _line(words, rows, "known_word_characters", 0, "characters")
    words.set_ylabel("mean length of a word (characters)", color=style.NEUTRAL[0])
    beside = words.twinx()
    _line(beside, rows, "distinct_pairs", 1, "pairs")
    beside.set_ylabel("different pairs", color=style.NEUTRAL[1])
    beside.grid(visible=False)
    _line(context, rows, "context_nats", 2, "")
    context.axhline(0, color="black", linewidth=0.8)
    context.set_ylabel("loss without its context (nats more)")
    for axis in axes[0]:
        style.mark_paper(axis, printed, along="x", label="_paper")
        axis.set_xscale("log")
        axis.set_xlabel("iteration")
    return figure


def _line(axes: Axes, rows: pd.DataFrame, column: str, position: int, label: str) -> None:
    line = curve(rows, column)
    colour = style.NEUTRAL[position]
    axes.fill_between(line["step"], line["low"], line["high"], color=colour, alpha=0.2, linewidth=0)
    axes.plot(line["step"], line["mean"], "os^"[position] + "-", markersize=3, color=colour, label=label)
