"""Which architecture can do which task, and why the others cannot."""

import pandas as pd

MEASURES = ["abilities"]
PAPER = ""
CLAIMS: list[str] = []
TITLE = "What each architecture can do"
CAPTION = (
    "By what its class says: whether it is causal, which tokens it predicts, whether it reads tokens or patches, and "
    "what it must be given besides a width and a depth. Every architecture of the registry has a row."
)


def tabulate(tables: dict[str, pd.DataFrame]) -> pd.DataFrame:
    """One row per architecture, one column per task: `yes`, or `cannot: ` and the reason."""
    rows = tables["abilities"]
    said = rows.assign(said=["yes" if not reason else f"cannot: {reason}" for reason in rows["reason"]])
    table = said.pivot(index="architecture", columns="task", values="said")[list(rows["task"].unique())]
    return table.loc[rows["architecture"].unique()].reset_index()
