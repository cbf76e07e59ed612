"""Which rows of a measurement belong together: the study's parts, and its variants side by side."""

import pandas as pd

from allmlp.studies.rules import NotPlannedError

COMPARISON, PRETRAINING, ALONE, FINE_TUNING, SEARCH = "comparison", "pretraining", "alone", "fine-tuning", "search"
SHAKESPEARE = ("shakespeare", "gutenberg-shakespeare")  # corpora that 004-7 can be judged on


def of_part(rows: pd.DataFrame, *parts: str) -> pd.DataFrame:
    """The rows of some of the study's parts. NotPlannedError where there are none."""
    found = rows[rows["part"].isin(parts)] if "part" in rows else rows.iloc[:0]
    if found.empty:
        raise NotPlannedError(f"needs runs of {' and '.join(parts)}, which are not planned")
    return found


def variants(rows: pd.DataFrame, *names: str) -> pd.DataFrame:
    """The comparison's rows of these variants. NotPlannedError, naming them, where one is not planned."""
    found = of_part(rows, COMPARISON)
    if missing := [name for name in names if name not in set(found["variant"])]:
        raise NotPlannedError(f"needs the variants {', '.join(missing)}, which are not planned")
    return found[found["variant"].isin(names)]


def by_variant(rows: pd.DataFrame, column: str, *names: str) -> pd.DataFrame:
    """A column's values of these variants: one row per seed, one column per variant, nan where a run has none."""
    return variants(rows, *names).pivot(index="seed", columns="variant", values=column)
