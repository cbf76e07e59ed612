"""The learning rate that a search's measured runs chose, for tables and figures: as the training itself chooses."""

import math

import pandas as pd

from allmlp.spec.search_rules import Choice, choose, lowest_mean


def chosen_rate(rows: pd.DataFrame) -> Choice:
    """The choice among the runs of one search.

    rows: learning_rate, seed, validation_nats and diverged of a run each; `criterion` where a search may have one
    (`spec.search_rules`). A rate with a diverged run comes last.
    """
    loss = rows["validation_nats"].where(~rows["diverged"].astype(bool)).fillna(math.inf)
    rows = rows.assign(loss=loss).sort_values(["learning_rate", "seed"])
    values = {rate: of["loss"].tolist() for rate, of in rows.groupby(rows["learning_rate"].astype(float))}
    if "criterion" in rows and rows["criterion"].fillna("").ne("").any():
        return choose(values)
    return lowest_mean(values)
