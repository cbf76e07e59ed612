"""One frequency of one run, for figures that show a single sum as the paper does."""

from dataclasses import dataclass

import numpy as np
import pandas as pd
from numpy.typing import NDArray

from allmlp.errors import UserError


@dataclass(frozen=True)
class Example:
    """The neurons of one key frequency: phases (rad) and widths (rad, summing to 2 pi), each (n,)."""

    seed: int
    frequency: int
    phi: NDArray[np.float64]
    psi: NDArray[np.float64]
    width: NDArray[np.float64]

    @property
    def title(self) -> str:
        """Which sum this is, for a panel's title."""
        return f"seed {self.seed}, k = {self.frequency}, {len(self.phi)} neurons"


def heaviest_key(rows: pd.DataFrame) -> Example:
    """Of the first seed, the key frequency whose neurons carry the most weight, from rows of `neurons`.

    Raises UserError where no neuron belongs to a key frequency.
    """
    of_seed = rows[(rows["seed"] == rows["seed"].min()) & rows["is_key"].astype(bool)]
    if of_seed.empty:
        raise UserError("neurons: no neuron of the first seed belongs to a key frequency; measure again")
    of_run = of_seed[of_seed["run"] == of_seed["run"].iloc[0]]  # one run, should a seed have several
    weight = of_run["amplitude_in_1"] * of_run["amplitude_out_1"]
    frequency = int(weight.groupby(of_run["frequency"]).sum().idxmax())
    neurons = of_run[of_run["frequency"] == frequency]
    columns = (neurons[name].to_numpy(dtype=float) for name in ("phi_rad", "psi_rad", "width_1"))
    return Example(int(of_run["seed"].iloc[0]), frequency, *columns)
