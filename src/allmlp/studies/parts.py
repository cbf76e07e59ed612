"""The rows of a measurement of some parts of a study, or of a corpus, by the labels of their runs."""

from collections.abc import Collection

import pandas as pd

from allmlp.studies.rules import NotPlannedError


def of_part(rows: pd.DataFrame, *parts: str, models: Collection[str] = ()) -> pd.DataFrame:
    """The rows of some parts of the study. NotPlannedError if a part has none, or none of a model."""
    found = rows[rows["part"].isin(parts)] if "part" in rows else rows.iloc[:0]
    if missing := [model for model in models if model not in set(found.get("model", ()))]:
        raise NotPlannedError(f"needs runs of {' and '.join(missing)}, which are not planned")
    if found.empty:
        raise NotPlannedError(f"needs runs of {' and '.join(parts)}, which are not planned")
    return found


def of_corpus(rows: pd.DataFrame, corpus: str) -> pd.DataFrame:
    """The rows, which must all be of one corpus. NotPlannedError if some are of another."""
    if (rows["corpus"] != corpus).any():
        raise NotPlannedError(f"needs runs on {corpus}, which are not planned")
    return rows
