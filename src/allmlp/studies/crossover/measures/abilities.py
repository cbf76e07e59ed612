"""Which architecture of the registry can do which task, and why the others cannot. Measured once, without training."""

import pandas as pd

from allmlp.columns import exact
from allmlp.studies.crossover.fits import all_fits

RECIPE = 2
COLUMNS = {
    "architecture": exact("name in the registry"),
    "task": exact("row of the matrix"),
    "reason": exact("why it cannot do the task, in a sentence; empty where it can"),
}


def measure() -> pd.DataFrame:
    """One row per architecture and task, in the registry's order."""
    return pd.DataFrame(all_fits(), columns=list(COLUMNS))
