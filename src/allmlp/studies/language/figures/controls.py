"""The same MLP on text without long-range information, and on text without order (own claims)."""

import pandas as pd
from matplotlib.figure import Figure

from allmlp.report import style
from allmlp.studies.language.drawing import line
from allmlp.studies.language.parts import CONTROLS, on_corpora
from allmlp.studies.language.verdicts.wear import of_deciding
from allmlp.studies.seeds import curve

MEASURES = ["neuron_classes", "concentration"]
PARTS = ["variation", "control"]
PAPER = ""  # the paper shows one corpus
CLAIMS = ["000-own-3", "000-own-4"]
TITLE = "Neurons of text without topics, and without order"
CAPTION = (
    "The same MLP on the study's corpus, on the same with its sentences dealt anew among documents (nothing reaches "
    "beyond a sentence), and on the same with words shuffled within each document (no order): share of n-gram and of "
    "bag-of-words neurons, by the reading that decides, and median over neurons of the share of energy of all but the "
    "last three rows that is constant in time, against training steps. Mean over seeds and 95 % t interval."
)

PANELS = {
    "n_gram_share_1": "n-gram neurons",
    "bag_of_words_share_1": "bag-of-words neurons",
    "constant_share_median_1": "constant energy",
}


def draw(tables: dict[str, pd.DataFrame]) -> Figure:
    """A panel per number, a line per corpus; the two tables with the labels of variations."""
    numbers = tables["concentration"][["run", "step", "constant_share_median_1"]]
    rows = of_deciding(tables["neuron_classes"]).merge(numbers, on=["run", "step"])
    lines = {CONTROLS.get(ending, "as it is"): of_corpus for ending, of_corpus in on_corpora(rows).items()}
    figure, axes = style.canvas(columns=len(PANELS), height=2.7)
    for axis, (value, title) in zip(axes[0], PANELS.items(), strict=True):
        for position, (name, of_corpus) in enumerate(lines.items()):
            colour = style.NEUTRAL[position]
            line(axis, curve(of_corpus, value), "step", colour, marker="os^"[position], label=name)
        axis.set_xscale("symlog", linthresh=max(1, rows.loc[rows["step"] > 0, "step"].min()))
        axis.set_xlim(0, 1.1 * rows["step"].max())
        axis.set_ylim(-0.02, 1.02)
        axis.set_xlabel("training steps (logarithmic)")
        axis.set_title(title)
    axes[0, 0].set_ylabel("share")
    handles, labels = axes[0, 0].get_legend_handles_labels()
    figure.legend(handles, labels, loc="outside lower center", ncols=3, title=rows["base_corpus"].iloc[0])
    return figure
