"""Which hidden units and inputs of an expanded mixing act under its triangular masks (001-9)."""

import pandas as pd

from allmlp.columns import exact
from allmlp.studies.mixers.structure import used

RECIPE = 1
EXPANSIONS = (0.5, 0.75, 2.0, 4.0)

COLUMNS = {
    "expansion_1": exact("hidden units over tokens of the context"),
    "hidden": exact("hidden units"),
    "hidden_used": exact("those that influence an output"),
    "inputs": exact("tokens of the context"),
    "inputs_lost": exact("those that influence no output"),
    "weights": exact("weights of both layers"),
    "weights_used": exact("those that take part in an output"),
}


def measure() -> pd.DataFrame:
    """One row per expansion, at a context of 32."""
    rows = [(expansion, *used(expansion)) for expansion in EXPANSIONS]
    return pd.DataFrame(rows, columns=list(COLUMNS))
