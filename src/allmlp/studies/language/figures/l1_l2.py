"""Histogram of l1/l2 over time of first-layer neurons at the start, half and end of training (000-7)."""

import pandas as pd
from matplotlib.figure import Figure

from allmlp.studies.language.drawing import ratio_histograms

MEASURES = ["l1_l2"]
PARTS = ["neurons"]
PAPER = "Figure 5"
CLAIMS = ["000-7"]
TITLE = "How first-layer neurons concentrate in time"
CAPTION = (
    "Share of first-layer neurons by the ratio of l1 to l2 norm over time (mean over the embedding), at the "
    "start, half and end of training from left to right (the paper's caption names the two ends in the other "
    "order, E000-4); bars are means over seeds, whiskers 95 % t intervals. Grey: the idealised unigram "
    "neuron at 1 and bag-of-words neuron at the square root of the context length, where the paper sees its "
    "two peaks."
)


def draw(tables: dict[str, pd.DataFrame]) -> Figure:
    """Three histograms with common axes; tables["l1_l2"] with run and seed."""
    ends = "1 and √T: ideal unigram, bag-of-words"
    return ratio_histograms(tables["l1_l2"], "ratio_1", "ℓ1 / ℓ2 over time", ends)
