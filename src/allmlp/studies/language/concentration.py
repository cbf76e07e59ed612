"""How a neuron's weight is spread over time, in numbers without thresholds (000-7).

`l1_l2` is the paper's (section 4.1, Figure 5): 1 for a unigram, sqrt(T) for a bag-of-words neuron. The others measure
whether its histogram has two peaks, and how much of a neuron is constant over time. This bag-of-words part shows in
short trainings, long before there are whole bag-of-words neurons.
"""

import numpy as np
from numpy.typing import NDArray

from allmlp.studies.language.energies import Energies, of_neurons, over
from allmlp.studies.language.neurons import check_neurons

RECENT = 3  # last time rows that are not in the constant tail: the window of most n-gram neurons


def l1_l2(neurons_NTD: NDArray) -> NDArray[np.float64]:
    """(1/d) sum_i ||w[:, i]||_1 / ||w[:, i]||_2 over time, (n, T, d) -> (n,) in [1, sqrt(T)].

    Coordinates with only zero weights are left out of the mean; a neuron with only zero weights has nan.
    """
    neurons_NTD = check_neurons(neurons_NTD)
    l2_ND = np.sqrt(np.einsum("ntd,ntd->nd", neurons_NTD, neurons_NTD))
    ratio_ND = over(np.abs(neurons_NTD).sum(axis=1), l2_ND, 0.0)
    return over(ratio_ND.sum(axis=1), np.count_nonzero(l2_ND, axis=1), np.nan)


def bimodality(values: NDArray) -> float:
    """Sarle's coefficient of a sample (n,): about 5/9 if uniform, 1/3 if normal, 1 if two points.

    (g^2 + 1) / (k + 3 (n - 1)^2 / ((n - 2)(n - 3))), g and k the sample skewness and excess kurtosis. Values
    that are not finite are left out; nan for fewer than 4 or for equal values.
    """
    values = np.asarray(values, dtype=np.float64)
    values = values[np.isfinite(values)]
    n = len(values)
    spread = values.std() if n else 0.0
    if n < 4 or spread <= 1e-12 * np.abs(values).max():
        return float("nan")
    z = (values - values.mean()) / spread
    skewness = (z**3).mean() * np.sqrt(n * (n - 1)) / (n - 2)
    kurtosis = ((n + 1) * ((z**4).mean() - 3) + 6) * (n - 1) / ((n - 2) * (n - 3))
    return float((skewness**2 + 1) / (kurtosis + 3 * (n - 1) ** 2 / ((n - 2) * (n - 3))))


def constant_share(neurons: NDArray | Energies, recent: int = RECENT) -> NDArray[np.float64]:
    """The share that is constant in time, of the energy of all but the `recent` last rows, (n, T, d) -> (n,).

    1 / (T - recent) on average for random weights, 1 for a constant tail; nan without a tail. This is the
    energy of the tail's zero frequency. Raises ValueError unless 0 <= recent < T.
    """
    energies = of_neurons(neurons)
    return over(energies.constant(recent), energies.rows[:, : energies.older(recent)].sum(axis=1), np.nan)


def window_share(neurons: NDArray | Energies, window: int = RECENT) -> NDArray[np.float64]:
    """Share of a neuron's energy explained by a free window of last rows plus one constant row before it.

    (n, T, d) -> (n,) in [0, 1]; (window + 1) / T on average for random weights, 1 for every n-gram (n <=
    window), bag-of-words and hybrid neuron. nan for a neuron without weights. Raises ValueError unless 0 <=
    window < T.
    """
    return of_neurons(neurons).explained(window)
