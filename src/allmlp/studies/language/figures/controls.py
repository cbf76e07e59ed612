"""The same MLP on text without long-range information, and on text without order (own claims)."""

import pandas as pd
from matplotlib.figure import Figure

from allmlp.report import plots, style
from allmlp.report.exhibits import figure
from allmlp.studies.language.drawing import kept_steps
from allmlp.studies.language.parts import CONTROLS, on_corpora
from allmlp.studies.language.verdicts.wear import of_deciding
from allmlp.studies.seeds import curve

PANELS = {
    "n_gram_share_1": "n-gram neurons",
    "bag_of_words_share_1": "bag-of-words neurons",
    "constant_share_median_1": "constant energy",
}


@figure(
    "Neurons of text without topics, and without order",
    claims=["000-own-3", "000-own-4"],
    parts=["variation", "control"],
)
def controls(neuron_classes: pd.DataFrame, concentration: pd.DataFrame) -> Figure:
    """The same MLP on the study's corpus, on the same with its sentences dealt again among documents (nothing reaches
    beyond a sentence), and on the same with words shuffled within each document (no order): share of n-gram and of
    bag-of-words neurons, by the reading that decides, and median over neurons of the share of energy of all but the
    last three rows that is constant in time, against training steps. Mean over seeds and 95 % t interval.
    """
    numbers = concentration[["run", "step", "constant_share_median_1"]]
    rows = of_deciding(neuron_classes).merge(numbers, on=["run", "step"])
    lines = {CONTROLS.get(ending, "as it is"): of_corpus for ending, of_corpus in on_corpora(rows).items()}
    figure, axes = style.canvas(columns=len(PANELS), height=2.7)
    for axis, (value, title) in zip(axes[0], PANELS.items(), strict=True):
        for position, (name, of_corpus) in enumerate(lines.items()):
            line, colour = curve(of_corpus, value), style.NEUTRAL[position]
            plots.band(axis, line, color=colour, marker="os^"[position], label=name)
        kept_steps(axis, rows["step"])
        axis.set_ylim(-0.02, 1.02)
        axis.set_title(title)
    axes[0, 0].set_ylabel("share")
    plots.legend_below(figure, [axes[0, 0]], ncols=3, title=rows["base_corpus"].iloc[0])
    return figure
