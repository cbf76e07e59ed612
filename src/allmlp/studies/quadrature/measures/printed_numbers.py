"""Printed numbers and formulas that do not depend on training, recalculated (003-13, errata)."""

import pandas as pd

from allmlp.columns import exact, numeric
from allmlp.studies.quadrature.printed import checks

RECIPE = 1

COLUMNS = {
    "item": exact("claim or erratum"),
    "quantity": exact("what is taken"),
    "printed_1": numeric("what the paper prints, or what its text implies; NaN where neither", rtol=1e-12),
    "value_1": numeric("worked out again in float64", rtol=1e-6, atol=1e-9),
    "how": exact("by what means"),
}


def measure() -> pd.DataFrame:
    """One row per number; the run's weights are not used."""
    return pd.DataFrame(checks(), columns=list(COLUMNS))
