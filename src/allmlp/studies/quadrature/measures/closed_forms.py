"""The integrals of Section 3 and Appendix B, numerically, by hand, and as printed (003-3)."""

import numpy as np
import pandas as pd

from allmlp.columns import exact, numeric
from allmlp.protocols import Trained
from allmlp.studies.quadrature.integrals import INTEGRALS

RECIPE = 1

COLUMNS = {
    "integral": exact("what is integrated over phi from -pi to pi"),
    "where": exact("where the paper prints it"),
    "kt_rad": numeric("the angle k t, t = x + y, at which it is taken", rtol=1e-12),
    "value_1": numeric("by numerical integration in float64", rtol=1e-9, atol=1e-9),
    "closed_form_1": numeric("by hand", rtol=1e-12, atol=1e-15),
    "paper_1": numeric("as the paper prints it, with t where it is missing (E003-3)", rtol=1e-12, atol=1e-15),
    "difference_1": numeric("value_1 - closed_form_1: the error of the numerical integration", atol=1e-9),
}


def measure(trained: Trained) -> pd.DataFrame:
    """One row per integral and angle k t = 2 pi t / p, t = 0 .. p - 1; no weights are used."""
    p, rows = trained.run.hyperparameters["vocabulary"], []
    for integral in INTEGRALS:
        for kt in (2 * np.pi * np.arange(p) / p).tolist():
            value, by_hand = integral.value(kt), integral.closed_form.at(kt)
            rows.append((integral.name, integral.where, kt, value, by_hand, integral.paper.at(kt), value - by_hand))
    return pd.DataFrame(rows, columns=list(COLUMNS))
