"""What the search for a learning rate saw, and what it chose."""

import pandas as pd

from allmlp.studies.triangular.parts import SEARCH

MEASURES = ["cost"]
PARTS = [SEARCH]
PAPER = "Methods and Materials, which name one rate"
CLAIMS = ["004-2", "004-4", "004-5", "004-7"]
TITLE = "The search for learning rates"
CAPTION = (
    "Held-out loss (nats per token) after the search's steps on the search's own seed, for every learning rate; the "
    "lowest of a row is the rate that the variant's runs are trained with, and the discounted mask's, which differs "
    "from the averaging one by so little that it has no search of its own. `steps` is the same for all. A run that "
    "diverged has no loss. Scales that set one rate for all have no such table."
)


def tabulate(tables: dict[str, pd.DataFrame]) -> pd.DataFrame:
    """One row per variant, corpus and beginning, one column per rate."""
    rows = tables["cost"]
    begins = rows["run"].str.contains("-continued", regex=False).map({True: "pre-trained", False: "fresh"})
    loss = rows["validation_nats"].where(~rows["diverged"].astype(bool))
    rows = rows.assign(begins=begins, steps=rows["steps_done"], loss=loss).sort_values("learning_rate")
    table = rows.pivot_table(index=["variant", "corpus", "begins"], columns="learning_rate", values="loss", sort=True)
    chosen = table.idxmin(axis=1)
    table.columns = [f"rate {rate:g}" for rate in table.columns]
    steps = rows.groupby(["variant", "corpus", "begins"])["steps"].max()
    return table.assign(chosen=chosen, steps=steps).reset_index()
