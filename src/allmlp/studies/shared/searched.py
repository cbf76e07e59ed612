"""The learning rate that a search's measured runs chose, for tables and figures: as the training itself chooses."""

import math
from typing import Any

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


def searched_row(rows: pd.DataFrame) -> dict[str, Any]:
    """The runs of one search as a row of a table of learning rates: steps, the chosen rate, whether it or the best one
    is at an edge, and `at_<rate>`, the mean loss over seeds, nan where one diverged.

    rows: as for `chosen_rate`, with steps_done.
    """
    choice, rates = chosen_rate(rows), rows["learning_rate"].astype(float)
    loss = rows["validation_nats"].where(~rows["diverged"].astype(bool))
    means = loss.groupby(rates).agg(lambda of: of.mean(skipna=False))
    found = {"steps": int(rows["steps_done"].max()), "chosen": choice.rate, "at": "edge" if choice.edge else ""}
    return found | {f"at_{rate:g}": mean for rate, mean in means.items()}
