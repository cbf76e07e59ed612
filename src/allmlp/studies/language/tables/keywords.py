"""Keywords and completions of the clearest neurons of each class, and of random vectors (000-11)."""

import pandas as pd

from allmlp.studies.language.keywords import RANDOM
from allmlp.studies.language.verdicts.keywords import DECIDING

MEASURES = ["keywords"]
PARTS = ["neurons"]
PAPER = "Figures 13 and 14"
CLAIMS = ["000-11"]
TITLE = "Keywords of neurons"
CAPTION = (
    "Of the first seed, after the last step: the six neurons of least variance over time (bag-of-words, by their mean "
    "row), the six with the least row norm (n-gram, by their row of largest norm), the neurons of the class before all "
    "others, and six random vectors; the ten tokens nearest by dot product with the input embedding, of which the "
    "first five are the text's (E000-7), their coherence (mean NPMI in held-out documents), and what the model goes on "
    "with after each of the first five where all other inputs are zero. A space within a token is shown as ▁, the end "
    "of a document as ∎."
)


def tabulate(tables: dict[str, pd.DataFrame]) -> pd.DataFrame:
    """One row per class and neuron."""
    rows = tables["keywords"]
    rows = rows[(rows["seed"] == rows["seed"].min()) & (rows["nearness"] == DECIDING)]
    neuron = rows["neuron"].astype(str).where(rows["class"] != RANDOM, "")
    in_class = rows["in_class"].gt(0).map({True: "yes", False: "no"}).where(rows["class"] != RANDOM, "")
    table = rows.assign(neuron=neuron, in_class=in_class)
    return table[["class", "neuron", "in_class", "keywords", "coherence_1", "completions"]].reset_index(drop=True)
