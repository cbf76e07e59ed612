"""Who passes the causality audit (001-1, 001-19, 001-27)."""

import pandas as pd

MEASURES = ["audit"]
PAPER = "Transformer mixer hybrids"
CLAIMS = ["001-1", "001-19", "001-27"]
TITLE = "Causality audit"
CAPTION = (
    "Every architecture of the registry, tiny, with fresh weights in double precision. Later tokens: no prediction "
    "changes with a later token. Later gradients: none comes back to a later token. Left padding: the first, in rows "
    "that begin with padding. More padding: it alters no prediction, where an architecture says so. Right padding: a "
    "text before padding is predicted as alone. Batch neighbours: other rows alter no prediction. Inputs matter: each "
    "input alters a prediction of its row. A dash: the check does not apply. What leaks is kept as published, so that "
    "the audit has something to catch."
)
WORDS = {"pass": "pass", "fail": "leaks", "not applicable": "-"}


def tabulate(tables: dict[str, pd.DataFrame]) -> pd.DataFrame:
    """One row per architecture, one column per check, and in words what leaks."""
    rows = tables["audit"]
    rows = rows[rows["run"] == rows["run"].iloc[0]]  # no run plays a part: all say the same
    word = rows["result"].map(WORDS).mask(rows["result"].eq("fail") & rows["declared"].eq(""), "FAILS")
    cells = rows.assign(word=word).pivot(index="architecture", columns="check", values="word")
    failed = rows[rows["result"] == "fail"]
    found = (
        failed.assign(found=failed["check"] + ": " + failed["detail"]).groupby("architecture")["found"].agg("; ".join)
    )
    table = cells.loc[rows["architecture"].unique(), rows["check"].unique()]
    return table.assign(found=found.reindex(table.index).fillna("")).reset_index()
