"""Coherence of the keywords of the clearest neurons of each class, beside random vectors (000-11)."""

import numpy as np
import pandas as pd
from matplotlib.figure import Figure

from allmlp.report import plots, style
from allmlp.report.exhibits import figure
from allmlp.report.statistics import t_interval
from allmlp.studies.language.classification import BAG_OF_WORDS, N_GRAM
from allmlp.studies.language.drawing import COLOURS
from allmlp.studies.language.keywords import NEARNESS, RANDOM


@figure("Are keywords of one neuron about one thing?", where="Figures 13 and 14", claims=["000-11"], parts=["neurons"])
def coherence(keywords: pd.DataFrame) -> Figure:
    """Mean normalised pointwise mutual information, over pairs among a vector's ten nearest tokens, of their occurring
    in the same held-out document: -1 never together, 0 independent, 1 only together. Vectors are those of the six
    clearest neurons of each class (dots, all seeds; open where the neuron is not in the class) and random ones; bars
    are means over seeds with 95 % t intervals. Nearness by dot product decides the claim. The paper shows words and no
    number.
    """
    names, known = [BAG_OF_WORDS, N_GRAM, RANDOM], keywords["coherence_1"].dropna()
    lowest, highest = (known.min(), known.max()) if len(known) else (-1.0, 1.0)
    figure, axes = style.canvas(columns=len(NEARNESS), height=2.7)
    jitter = np.linspace(-0.25, 0.25, max(1, keywords["rank"].nunique() * keywords["seed"].nunique()))
    for axis, nearness in zip(axes[0], NEARNESS, strict=True):
        for place, name in enumerate(names):
            of_class = keywords[(keywords["nearness"] == nearness) & (keywords["class"] == name)]
            inside, colour = of_class["in_class"].gt(0) | (name == RANDOM), COLOURS.get(name, style.PAPER)
            x = pd.Series(place + jitter[: len(of_class)], index=of_class.index)
            for there, face in ((inside, colour), (~inside, "none")):
                values = of_class.loc[there, "coherence_1"]
                axis.scatter(x[there], values, s=10, facecolor=face, edgecolor=colour, linewidth=0.6)
            mean = t_interval(of_class.groupby("run")["coherence_1"].mean().to_numpy())
            plots.whisker(axis, place, mean, fmt="_", color="black", markersize=16, capsize=3)
        axis.axhline(0, color="black", linewidth=0.6)
        axis.set_xticks(range(len(names)), names, rotation=20)
        axis.grid(visible=False, axis="x")
        axis.set_title(f"nearest by {nearness}")
        axis.set_ylim(lowest - 0.02, highest + 0.02)
    axes[0, 0].set_ylabel("coherence (NPMI)")
    return figure
