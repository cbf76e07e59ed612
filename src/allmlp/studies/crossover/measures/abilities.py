"""Which architecture of the registry can do which task, and why the others cannot. Taken once, of no training."""

from typing import TYPE_CHECKING

import pandas as pd

from allmlp.columns import exact
from allmlp.models import REGISTRY
from allmlp.studies.crossover.fits import TASKS, fits

if TYPE_CHECKING:
    from allmlp.training.checkpoint import Trained

RECIPE = 1
COLUMNS = {
    "architecture": exact("name in the registry"),
    "task": exact("row of the matrix"),
    "reason": exact("why it cannot do the task; empty where it can"),
}


def measure(trained: "Trained") -> pd.DataFrame:
    """One row per architecture and task, in the registry's order."""
    rows = [(name, task, fits(name, task) or "") for name in REGISTRY for task in TASKS]
    return pd.DataFrame(rows, columns=list(COLUMNS))
