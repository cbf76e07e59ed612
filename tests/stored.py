"""Made-up measurements in a store, as tests of what reads them need them."""

from collections.abc import Mapping

import pandas as pd
import pyarrow as pa

from allmlp import store
from allmlp.measured import Measured
from allmlp.report.selection import Held


def put(
    study: str, measure: str, rows: Mapping[str, pd.DataFrame], settings: str = "0" * 16, recipe: int = 1
) -> dict[str, Held]:
    """Store the rows of some runs (run -> rows) in the working directory. Returns what a selection says of them."""
    taken = [
        (Measured(run, settings, (1, 1, 1, recipe)), pa.Table.from_pandas(of.assign(run=run), preserve_index=False))
        for run, of in rows.items()
    ]
    store.write(study, measure, taken)
    return {run: Held(run, recipe) for run in rows}


def digest(study: str, measure: str, held: Mapping[str, Held]) -> str:
    """What a selection says of their rows."""
    return store.of(study, measure).digest(one.key for one in held.values())
