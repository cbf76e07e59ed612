"""How many constructed neurons each reading of Appendix H sorts rightly (000-19)."""

import pandas as pd

from allmlp.studies.language.verdicts.constructed import READING

MEASURES = ["constructed_neurons"]
PARTS = ["untrained"]
PAPER = "Appendix H"
CLAIMS = ["000-19"]
TITLE = "Which reading of the thresholds sorts neurons whose class is known"
CAPTION = (
    "Share of constructed neurons that each reading of Appendix H's undefined norms puts into their class: n-grams of "
    "one to four recent positions, equal rows with noise of a share of their norm, fresh initial weights, which are in "
    "none; at the width where the share is lowest. Rows: norms as they are or over the neuron's largest; variance: of "
    "each row over its own norm, over the mean norm, or over the root mean square; its threshold as printed or scaled "
    "to the width. `worst_1` is the lowest of the row."
)


def tabulate(tables: dict[str, pd.DataFrame]) -> pd.DataFrame:
    """One row per reading, a column per kind, best reading first."""
    rows = tables["constructed_neurons"]
    order = list(rows["kind"].unique())
    table = rows.groupby([*READING, "kind"])["right_share_1"].min().unstack()[order]
    table = table.assign(worst_1=table.min(axis=1)).sort_values("worst_1", ascending=False, kind="stable")
    return table.reset_index().rename_axis(columns=None)
