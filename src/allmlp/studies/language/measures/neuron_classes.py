"""Share of first-layer neurons in each class of Appendix H at every kept step (000-5, -10, -12, -15)."""

import pandas as pd

from allmlp.columns import exact, numeric
from allmlp.protocols import Trained
from allmlp.studies.language import classification, neurons, profiles

RECIPE = 2

_SHARE = {"rtol": 1e-2, "atol": 0.02}  # another CPU type moves a few neurons over a threshold
COLUMNS = {
    "step": exact("training steps done"),
    "wear_1": numeric("weight decay times the sum of learning rates: e-foldings of the initial weights", rtol=1e-6),
    "reading": exact("what Appendix H's norms are relative to: paper or relative"),
    "n_gram_share_1": numeric("share of neurons that are n-gram", **_SHARE),
    "bag_of_words_share_1": numeric("share of neurons that are bag-of-words and not n-gram", **_SHARE),
    "hybrid_share_1": numeric("share of neurons in neither class, but in both when relaxed", **_SHARE),
    "dct_sparse_share_1": numeric("share of neurons in none of these with few large frequencies", **_SHARE),
    "other_share_1": numeric("share of the remaining neurons", **_SHARE),
}


def measure(trained: Trained) -> pd.DataFrame:
    """One row per kept step and reading. Raises UserError for an architecture without a first layer."""
    rows = []
    for step, profile in profiles.over_training(trained):
        wear = neurons.wear(trained, step)
        for reading in classification.READINGS:
            share = classification.shares(profile.energies, reading)
            columns = {classification.share_column(name): value for name, value in share.items()}
            rows.append({"step": step, "wear_1": wear, "reading": reading.name, **columns})
    return pd.DataFrame(rows, columns=list(COLUMNS))
