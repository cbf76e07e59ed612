"""The same histogram over frequencies: l1/l2 in the cosine basis at the start, half and end of training (000-16)."""

import pandas as pd
from matplotlib.figure import Figure

from allmlp.studies.language.drawing import ratio_histograms

MEASURES = ["l1_l2"]
PARTS = ["neurons"]
PAPER = "Figure 15"
CLAIMS = ["000-16"]
TITLE = "How first-layer neurons concentrate in frequency"
CAPTION = (
    "Share of first-layer neurons by the ratio of l1 to l2 norm over the frequencies of the orthonormal DCT-II (mean "
    "over the embedding), at the start, half and end of training from left to right (the paper's caption names the two "
    "ends in the other order, E000-4); bars are means over seeds, whiskers 95 % t intervals. Grey: an ideal "
    "bag-of-words neuron, which has frequency 0 only, at 1, and equal weight on all frequencies at the square root of "
    "the context length. The paper sees n-gram neurons on the right and bag-of-words neurons on the left, the inverse "
    "of the picture over time."
)


def draw(tables: dict[str, pd.DataFrame]) -> Figure:
    """Three histograms with common axes; tables["l1_l2"] with run and seed."""
    ends = "1 and √T: ideal bag-of-words, all frequencies alike"
    return ratio_histograms(tables["l1_l2"], "frequency_ratio_1", "ℓ1 / ℓ2 over frequencies", ends)
