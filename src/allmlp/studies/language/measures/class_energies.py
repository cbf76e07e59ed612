"""How well the neurons of each class match the ideal of the class, at start, half and end (000-6, 000-8)."""

import numpy as np
import pandas as pd

from allmlp.columns import exact, numeric
from allmlp.protocols import Trained
from allmlp.studies.language import classification
from allmlp.studies.language.neurons import Energies, over
from allmlp.studies.language.profiles import AT_MOMENTS, RECENT, Profile, at_moments

RECIPE = 1
WINDOW = 4  # consecutive positions (000-6)
LOWEST = 3  # frequencies (000-9)

_CLASS = {"rtol": 1e-2, "atol": 0.05}  # in a small class a single neuron moves the mean
COLUMNS = {
    **AT_MOMENTS,
    "reading": exact("what Appendix H's norms are relative to: paper or relative"),
    "class": exact("a class of Appendix H"),
    "neurons": numeric("how many neurons are in it", rtol=0.05, atol=3),
    "window_energy_1": numeric("mean share of energy in the most energetic 4 positions in a row", **_CLASS),
    "recent_energy_1": numeric("mean share of energy in the last 3 positions", **_CLASS),
    "constant_energy_1": numeric("mean share of energy that is constant in time: that of frequency 0", **_CLASS),
    "low_energy_1": numeric("mean share of energy in the 3 lowest frequencies", **_CLASS),
}


def shares(energies: Energies) -> pd.DataFrame:
    """A row per neuron, a column per share of its energy; nan for neurons without weights."""
    rows_NT, total_N = energies.rows, energies.total
    sums_NT = np.cumsum(np.pad(rows_NT, ((0, 0), (1, 0))), axis=1)
    window = min(WINDOW, energies.context)
    parts = {
        "window_energy_1": (sums_NT[:, window:] - sums_NT[:, :-window]).max(axis=1),
        "recent_energy_1": rows_NT[:, -RECENT:].sum(axis=1),
        "constant_energy_1": energies.frequencies[:, 0],
        "low_energy_1": energies.frequencies[:, :LOWEST].sum(axis=1),
    }
    return pd.DataFrame({name: over(part_N, total_N, np.nan) for name, part_N in parts.items()})


def measure(trained: Trained) -> pd.DataFrame:
    """One row per moment, reading and class. Raises UserError for an architecture without a first layer."""
    return at_moments(trained, _means)[list(COLUMNS)]


def _means(profile: Profile) -> pd.DataFrame:
    of_neurons, rows = shares(profile.energies), []
    for reading in classification.READINGS:
        classes = classification.classify(profile.energies, reading)
        for name in classification.CLASSES:
            there = of_neurons[classes == name]
            head = {"reading": reading.name, "class": name, "neurons": float(len(there))}
            rows.append({**head, **there.mean().to_dict()})
    return pd.DataFrame(rows)
