"""Shares of the classes at the end of every variation of the MLP (000-15, own claims)."""

import pandas as pd

from allmlp.studies.language.parts import SETTINGS, at_end
from allmlp.studies.language.verdicts.wear import of_deciding
from allmlp.studies.seeds import over_seeds

MEASURES = ["neuron_classes", "concentration", "cost"]
PARTS = ["variation"]
ALSO = ["control"]
PAPER = "Figure 11"
CLAIMS = ["000-15", "000-own-3", "000-own-4", "000-own-5"]
TITLE = "The MLP with one thing changed"
CAPTION = (
    "Every variation after its last step: corpus, context, hidden width, weight decay, standard deviation of the "
    "initial embeddings, and the e-foldings of the initial weights; mean over seeds with 95 % t intervals of the "
    "shares of n-gram and of bag-of-words neurons (by the reading that decides), of the medians over neurons of the "
    "energy that is constant before the last three rows and of that which they and one constant explain (all of it, "
    "where the context is four tokens), and of the loss on held-out documents."
)

COLUMNS = {
    "n_gram_share_1": "n_gram_1",
    "bag_of_words_share_1": "bag_of_words_1",
    "constant_share_median_1": "constant_1",
    "window_share_median_1": "explained_1",
    "validation_nats": "validation_nats",
}


def tabulate(tables: dict[str, pd.DataFrame]) -> pd.DataFrame:
    """One row per variation; interval ends are empty for a single seed."""
    rows = at_end(of_deciding(tables["neuron_classes"]))
    numbers = at_end(tables["concentration"])[["run", "constant_share_median_1", "window_share_median_1"]]
    rows = rows.merge(numbers, on="run").merge(tables["cost"][["run", "validation_nats"]], on="run")
    keys = list(SETTINGS)
    table = rows.groupby(keys, as_index=False).agg(seeds=("run", "nunique"), wear_1=("wear_1", "mean"))
    for column, name in COLUMNS.items():
        means = over_seeds(rows, keys, column).drop(columns="n")
        table = table.merge(means.rename(columns={"mean": name, "low": f"{name}_low", "high": f"{name}_high"}), on=keys)
    return table
