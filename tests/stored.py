"""Made-up measurements in a store, as tests of what reads them need them."""

from collections.abc import Mapping

import pandas as pd
import pyarrow as pa

from allmlp.judging.selection import SelectedMeasurement
from allmlp.measurements import store
from allmlp.measurements.measurement import Measurement


def put(
    study: str, measure: str, rows: Mapping[str, pd.DataFrame], settings: str = "0" * 16, recipe: int = 1
) -> dict[str, SelectedMeasurement]:
    """Store the rows of some runs (run -> rows) in the working directory. Returns what a selection says of them."""
    taken = [
        (Measurement(run, settings, (1, 1, 1, recipe)), pa.Table.from_pandas(of.assign(run=run), preserve_index=False))
        for run, of in rows.items()
    ]
    store.write(study, measure, taken)
    return {run: SelectedMeasurement(run, recipe) for run in rows}


def digest(study: str, measure: str, held: Mapping[str, SelectedMeasurement]) -> str:
    """What a selection says of their rows."""
    return store.read_measure(study, measure).digest(one.key for one in held.values())
