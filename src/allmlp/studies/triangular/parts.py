"""Rows of a measurement that belong together: the study's parts, and its variants."""

from typing import Any

import numpy as np
import pandas as pd

from allmlp.judging.rules import NotPlannedError, part_rows
from allmlp.studies.shared.searched import chosen_rate

COMPARISON, PRETRAINING, ALONE, FINE_TUNING, SEARCH = "comparison", "pretraining", "alone", "fine-tuning", "search"
ALONE_AS_LONG = "alone-as-long"  # as many steps on the second text as pre-training and fine-tuning have together
SHAKESPEARE = ("shakespeare", "gutenberg-shakespeare")  # corpora that 004-7 can be judged on
RATES = (  # for captions: true of every scale
    "Learning rates: where the scale searches, each one's own, chosen on a seed that nothing else uses with one budget "
    "for all; else one that is set for all, at the paper's scale the printed one."
)
OF_VARIANTS: dict[str, Any] = {  # of what shows the comparison of all variants
    "claims": ["004-2", "004-3", "004-4", "004-5", "004-own-1", "004-own-2"],
    "parts": [COMPARISON],
    "values": {"rates": f"{RATES} The discounted mask takes the averaging one's."},
}


def variants(rows: pd.DataFrame, *names: str) -> pd.DataFrame:
    """The comparison's rows of these variants. NotPlannedError if one is not planned."""
    found = part_rows(rows, COMPARISON)
    if missing := [name for name in names if name not in set(found["variant"])]:
        raise NotPlannedError(f"needs the variants {', '.join(missing)}, which are not planned")
    return found[found["variant"].isin(names)]


def pivot_variants(rows: pd.DataFrame, column: str, *names: str) -> pd.DataFrame:
    """A column's values of these variants: one row per seed, one column per variant, nan for a missing value."""
    return variants(rows, *names).pivot(index="seed", columns="variant", values=column)


def search_table(cost: pd.DataFrame) -> pd.DataFrame:
    """The search in `cost`: a row per variant, corpus and beginning, a column `rate <r>` per learning rate with the
    held-out loss (nats per token, a mean over seeds, nan where one diverged or the variant was not given the rate);
    `chosen` (see `chosen_rate`); `edge`, which says whether the chosen or the best rate is the lowest or the highest
    that was tried; steps.
    """
    keys = ["variant", "corpus", "begins"]
    begins = cost["run"].str.contains("-continued", regex=False).map({True: "pre-trained", False: "fresh"})
    loss = cost["validation_nats"].where(~cost["diverged"].astype(bool))
    rows = cost.assign(begins=begins, loss=loss)
    of_rate = rows.groupby([*keys, "learning_rate"])["loss"]
    shown = of_rate.agg(lambda of: of.mean(skipna=False)).unstack("learning_rate")
    choices = [chosen_rate(of) for _, of in rows.groupby(keys)]
    chosen = pd.Series([choice.rate for choice in choices], shown.index)
    lowest = rows.groupby(keys)["learning_rate"].min()
    lower = lowest.eq(chosen) | lowest.eq(shown.idxmin(axis=1))
    edge = np.where([choice.edge for choice in choices], np.where(lower, "lowest", "highest"), "")
    shown.columns = [f"rate {rate:g}" for rate in shown.columns]
    steps = rows.groupby(keys)["steps_done"].max()
    return shown.assign(chosen=chosen, edge=edge, steps=steps).reset_index()
