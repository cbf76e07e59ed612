"""What a run writes while it learns: words, pairs and sequences that the training text has (004-6)."""

import pandas as pd
from matplotlib.figure import Figure

from allmlp.report import plots, style
from allmlp.report.exhibits import Paper, figure
from allmlp.studies.seeds import curve

SHARES = {"word_share_1": "words", "pair_share_1": "pairs of words", "four_word_share_1": "sequences of four"}


@figure("From letters to sentences", where="Section 4", claims=["004-6"])
def milestones(milestones: pd.DataFrame, paper: Paper) -> Figure:
    """Samples of the model in training: share of their words, of pairs of neighbouring words and of sequences of four
    words that occur in the training text (in four million characters of a longer one); mean length of the words spelled
    right, and different pairs of words; and how much of its loss a model owes to its own document's context. Mean over
    seeds and 95 % t interval against iterations (logarithmic; the samples before the first step stand at 1). Grey: the
    iterations at which the paper saw words, phrases, small sentences and the use of context.
    """
    rows = milestones.assign(step=milestones["step"].clip(lower=1))
    figure, axes = style.canvas(columns=3, height=3.0)
    shares, words, context = axes[0]
    beside = words.twinx()
    lines = [(shares, column, position) for position, column in enumerate(SHARES)]
    lines += [(words, "known_word_characters", 0), (beside, "distinct_pairs", 1), (context, "context_nats", 2)]
    for axis, column, position in lines:
        line, label = curve(rows, column), SHARES.get(column, "")
        plots.band(axis, line, color=style.NEUTRAL[position], marker="os^"[position], label=label)
    shares.set_ylim(0, 1)
    shares.set_ylabel("share known")
    shares.legend(loc="upper left")
    words.set_ylabel("mean length of a word (characters)", color=style.NEUTRAL[0])
    beside.set_ylabel("different pairs", color=style.NEUTRAL[1])
    beside.grid(visible=False)
    context.axhline(0, color="black", linewidth=0.8)
    context.set_ylabel("loss without its context (nats more)")
    for axis in axes[0]:
        style.mark_paper(axis, list(paper["004-6"].values()), along="x", label="_paper")
        axis.set_xscale("log")
        axis.set_xlabel("iteration")
    return figure
