"""The learning rate that a search's measured runs chose, for tables and figures: as the training itself chooses."""

import math

import pandas as pd

from allmlp.spec.search_rules import Choice, choose


def chosen_rate(rows: pd.DataFrame) -> Choice:
    """The choice among the runs of one search.

    rows: learning_rate, seed, validation_nats and diverged of a run each; `criterion` where a search may have one
    (`spec.search_rules`). Without one the lowest mean loss wins, and of equal ones the lower rate. A rate with a
    diverged run comes last.
    """
    loss = rows["validation_nats"].where(~rows["diverged"].astype(bool)).fillna(math.inf)
    rows = rows.assign(loss=loss).sort_values(["learning_rate", "seed"])
    values = {rate: of["loss"].tolist() for rate, of in rows.groupby(rows["learning_rate"].astype(float))}
    if "criterion" in rows and rows["criterion"].fillna("").ne("").any():
        return choose(values)
    rate = min(values, key=lambda one: (sum(values[one]) / len(values[one]), one))
    return Choice(rate, rate in (min(values), max(values)))
