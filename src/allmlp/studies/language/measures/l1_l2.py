"""l1/l2 of every first-layer neuron over time and over frequencies, at start, half and end (000-7, 000-16)."""

import numpy as np
import pandas as pd

from allmlp.columns import exact, numeric
from allmlp.protocols import Trained
from allmlp.studies.language.profiles import AT_MOMENTS, Profile, at_moments

RECIPE = 2

COLUMNS = {
    **AT_MOMENTS,
    "neuron": exact("position of the neuron in the first layer"),
    "ratio_1": numeric("l1 over l2 norm over time, mean over the embedding", rtol=1e-2),
    "frequency_ratio_1": numeric("the same over orthonormal frequencies in place of time", rtol=1e-2),
    "bound_1": numeric("the largest ratio there is, sqrt(context): equal weight at every time", rtol=1e-12),
}


def measure(trained: Trained) -> pd.DataFrame:
    """One row per moment and neuron. Raises UserError for an architecture without a first layer."""
    return at_moments(trained, _ratios)[list(COLUMNS)]


def _ratios(profile: Profile) -> pd.DataFrame:
    ratios = pd.DataFrame({"ratio_1": profile.time_ratio, "frequency_ratio_1": profile.frequency_ratio})
    return ratios.assign(neuron=np.arange(len(ratios)), bound_1=np.sqrt(profile.energies.context))
