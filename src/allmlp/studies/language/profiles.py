"""A checkpoint's neurons, read once, and how a neuron's weight is spread over time, without thresholds (000-7).

`l1_l2` is the paper's (section 4.1, Figure 5): 1 for a unigram, sqrt(T) for a bag-of-words neuron. The others measure
whether its histogram has two peaks, and how much of a neuron is constant over time. This bag-of-words part shows in
short trainings, long before there are whole bag-of-words neurons.
"""

from collections.abc import Callable, Iterator
from dataclasses import dataclass

import numpy as np
import pandas as pd
from numpy.typing import NDArray

from allmlp.spec.columns import exact, numeric
from allmlp.spec.protocols import TrainedRun
from allmlp.studies.language.neurons import (
    Energies,
    check_neurons,
    first_layer,
    gram,
    neuron_energies,
    safe_divide,
    transform_neurons,
    wear,
)

RECENT = 3  # last time rows that are not in the constant tail: the window of most n-gram neurons


def l1_l2(neurons_NTD: NDArray) -> NDArray[np.float64]:
    """(1/d) sum_i ||w[:, i]||_1 / ||w[:, i]||_2 over time, (n, T, d) -> (n,) in [1, sqrt(T)].

    Coordinates with only zero weights are left out of the mean; a neuron with only zero weights has nan.
    """
    neurons_NTD = check_neurons(neurons_NTD)
    l2_ND = np.sqrt(np.einsum("ntd,ntd->nd", neurons_NTD, neurons_NTD))
    ratio_ND = safe_divide(np.abs(neurons_NTD).sum(axis=1), l2_ND, 0.0)
    return safe_divide(ratio_ND.sum(axis=1), np.count_nonzero(l2_ND, axis=1), np.nan)


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
    energies = neuron_energies(neurons)
    return safe_divide(energies.constant(recent), energies.rows[:, : energies.older(recent)].sum(axis=1), np.nan)


def window_share(neurons: NDArray | Energies, window: int = RECENT) -> NDArray[np.float64]:
    """Share of a neuron's energy explained by a free window of last rows plus one constant row before it.

    (n, T, d) -> (n,) in [0, 1]; (window + 1) / T on average for random weights, 1 for every n-gram (n <=
    window), bag-of-words and hybrid neuron. nan for a neuron without weights. Raises ValueError unless 0 <=
    window < T.
    """
    return neuron_energies(neurons).explained_share(window)


AT_ONCE = 1 << 17  # weights; these and their frequencies fit into a core's cache


@dataclass(frozen=True)
class Profile:
    """Of n neurons: energies; l1/l2 over time and over frequencies, (n,) each."""

    energies: Energies
    time_ratio: NDArray[np.float64]
    frequency_ratio: NDArray[np.float64]


def profile(neurons_NTD: NDArray) -> Profile:
    """The profile of neurons (n, T, d) of any float type; all sums in float64. ValueError as `check_neurons`."""
    grams, times, frequencies = [], [], []
    some = max(1, AT_ONCE // max(1, neurons_NTD[0].size))
    for start in range(0, len(neurons_NTD), some):
        block_NTD = check_neurons(neurons_NTD[start : start + some])
        grams.append(gram(block_NTD))
        times.append(l1_l2(block_NTD))
        frequencies.append(l1_l2(transform_neurons(block_NTD)))
    energies = Energies(np.concatenate(grams), neurons_NTD.shape[2])
    return Profile(energies, np.concatenate(times), np.concatenate(frequencies))


_of_last: tuple[object, dict[int, Profile]] = (None, {})  # the last run only: its measures are taken one after another


def step_profile(trained: TrainedRun, step: int) -> Profile:
    """The profile of a run's first layer at a kept step. Errors as in `first_layer`."""
    global _of_last
    if _of_last[0] is not trained:
        _of_last = (trained, {})
    known = _of_last[1]
    if step not in known:
        known[step] = profile(first_layer(trained, step))
    return known[step]


def training_profiles(trained: TrainedRun) -> Iterator[tuple[int, Profile]]:
    """(step, profile) of every step whose weights a run has kept. Errors as in `first_layer`."""
    for step in sorted(set(trained.steps)):  # a run that diverged at a kept step lists it twice
        yield step, step_profile(trained, step)


AT_MOMENTS = {  # the first columns of `moment_rows`
    "moment": exact("start, half or end of training"),
    "step": exact("training steps done"),
    "wear_1": numeric("weight decay times the sum of learning rates: e-foldings of the initial weights", rtol=1e-6),
}


def moment_rows(trained: TrainedRun, rows: Callable[[Profile], pd.DataFrame]) -> pd.DataFrame:
    """A measure's table: `rows` of the profile at start, half and end, with the columns AT_MOMENTS."""
    parts = []
    for moment, step in moments(trained).items():
        parts.append(rows(step_profile(trained, step)).assign(moment=moment, step=step, wear_1=wear(trained, step)))
    return pd.concat(parts, ignore_index=True)


def moments(trained: TrainedRun) -> dict[str, int]:
    """Start, half and end: first kept step, the one nearest to half of training (the earlier of two), the last."""
    steps = sorted(trained.steps)
    half = min(steps, key=lambda step: (abs(2 * step - trained.run.steps), step))
    return {"start": steps[0], "half": half, "end": steps[-1]}
