"""The energy of each first-layer neuron in last rows, constant and low frequencies, without thresholds (000-9, -12).

A window of the last three rows and one constant before them hold all energy of every n-gram of up to three, every
bag-of-words neuron and every sum of the two. The paper has no such map.
"""

import numpy as np
import pandas as pd

from allmlp.columns import exact, numeric
from allmlp.protocols import Trained
from allmlp.studies.language.measures.class_energies import LOWEST
from allmlp.studies.language.neurons import over
from allmlp.studies.language.profiles import AT_MOMENTS, RECENT, Profile, at_moments

RECIPE = 1
LARGE = 0.01  # the row norm that Section 4.3 calls large; raw, as its scale is open (E000-3)
DECIMALS = 4  # more digits would only enlarge the file

_ENERGY = {"rtol": 1e-2, "atol": 0.05}  # one neuron's; training differs in its last digits between CPU types
COLUMNS = {
    **AT_MOMENTS,
    "neuron": exact("position of the neuron in the first layer"),
    "recent_energy_1": numeric("share of its energy in the last 3 rows", **_ENERGY),
    "constant_energy_1": numeric("share of its energy that one constant explains in all rows before them", **_ENERGY),
    "low_energy_1": numeric("share of its energy in the 3 lowest frequencies over all rows", **_ENERGY),
    "large_rows": numeric("how many of its rows have a norm above 0.01", atol=2),
}


def measure(trained: Trained) -> pd.DataFrame:
    """One row per moment and neuron. Raises UserError for an architecture without a first layer."""
    return at_moments(trained, shares)[list(COLUMNS)]


def shares(profile: Profile) -> pd.DataFrame:
    """A row per neuron; nan for shares of one without weights."""
    energies = profile.energies
    recent = min(RECENT, energies.context - 1)
    energy_of = {
        "recent_energy_1": energies.rows[:, energies.older(recent) :].sum(axis=1),
        "constant_energy_1": energies.constant(recent),
        "low_energy_1": energies.frequencies[:, :LOWEST].sum(axis=1),
    }
    columns = {name: over(of_N, energies.total, np.nan).round(DECIMALS) for name, of_N in energy_of.items()}
    rows = pd.DataFrame({**columns, "large_rows": (energies.rows > LARGE**2).sum(axis=1)})
    return rows.assign(neuron=np.arange(len(rows)))
