"""Row norms of all neurons in both bases, neurons sorted by their number of large rows, over training (000-9, 000-10).

If there are more neurons than COLUMNS_DRAWN, neighbours in that order are averaged, since a picture shows no more.
"""

import numpy as np
import pandas as pd
from numpy.typing import NDArray

from allmlp.columns import exact, numeric
from allmlp.protocols import Trained
from allmlp.studies.language import profiles
from allmlp.studies.language.measures.energy_map import LARGE
from allmlp.studies.language.neurons import Energies, over

RECIPE = 1
COLUMNS_DRAWN = 32
FRACTIONS = (0.0, 0.01, 0.1, 0.5, 1.0)  # of training, the nearest kept steps

_NORM = {"rtol": 0.05, "atol": 0.05}  # sorting may exchange two neurons on another CPU type
COLUMNS = {
    "step": exact("training steps done"),
    "basis": exact("time: rows are positions, the last one the most recent token; frequency: orthonormal DCT-II"),
    "column": exact("place in the order by number of large rows, from few to many"),
    "row": exact("position or frequency, from 0"),
    "norm_1": numeric("l2 norm of the row, mean over the neurons of this place", **_NORM),
    "large_rows": numeric("rows of norm above 0.01 in the time basis, mean over the neurons of this place", atol=2),
}


def in_order(energies: Energies) -> NDArray[np.int64]:
    """The neurons by their number of large rows; ties by the sum of row norms over the largest."""
    norms_NT = np.sqrt(energies.rows)
    spread_N = over(norms_NT.sum(axis=1), norms_NT.max(axis=1), 0.0)
    return np.lexsort((spread_N, (norms_NT > LARGE).sum(axis=1)))


def kept_at(steps: list[int], total: int) -> list[int]:
    """The kept steps nearest to FRACTIONS of training, each once."""
    return sorted({min(steps, key=lambda step: (abs(step - share * total), step)) for share in FRACTIONS})


def _digits(values: NDArray) -> NDArray[np.float64]:
    """Rounded to three digits: more would only enlarge the file."""
    scale = 10.0 ** (2 - np.floor(np.log10(np.where(values > 0, values, 1.0))))
    return np.round(values * scale) / scale


def measure(trained: Trained) -> pd.DataFrame:
    """One row per step, basis, place and row. Raises UserError for an architecture without a first layer."""
    parts = []
    for step in kept_at(sorted(trained.steps), trained.run.steps):
        energies = profiles.at(trained, step).energies
        places = np.array_split(in_order(energies), min(COLUMNS_DRAWN, len(energies)))
        large_N = (energies.rows > LARGE**2).sum(axis=1)
        large_P = np.array([large_N[place].mean() for place in places])
        for basis, energies_NT in (("time", energies.rows), ("frequency", energies.frequencies)):
            norms_PT = np.stack([np.sqrt(energies_NT[place]).mean(axis=0) for place in places])
            column, row = (index.ravel() for index in np.indices(norms_PT.shape))
            table = {"column": column, "row": row, "norm_1": _digits(norms_PT.ravel()), "large_rows": large_P[column]}
            parts.append(pd.DataFrame(table).assign(step=step, basis=basis))
    return pd.concat(parts, ignore_index=True)[list(COLUMNS)]
