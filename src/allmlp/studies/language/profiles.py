"""A checkpoint's neurons, read once: the input of every measure of the first layer's classes."""

from collections.abc import Iterator
from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from allmlp.protocols import Trained
from allmlp.studies.language.concentration import l1_l2
from allmlp.studies.language.energies import Energies, gram, to_frequencies
from allmlp.studies.language.neurons import check_neurons, first_layer

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
        frequencies.append(l1_l2(to_frequencies(block_NTD)))
    energies = Energies(np.concatenate(grams), neurons_NTD.shape[2])
    return Profile(energies, np.concatenate(times), np.concatenate(frequencies))


_of_last: tuple[object, dict[int, Profile]] = (None, {})  # the last run only: its measures are taken one after another


def at(trained: Trained, step: int) -> Profile:
    """The profile of a run's first layer at a kept step. Errors as in `first_layer`."""
    global _of_last
    if _of_last[0] is not trained:
        _of_last = (trained, {})
    known = _of_last[1]
    if step not in known:
        known[step] = profile(first_layer(trained, step))
    return known[step]


def over_training(trained: Trained) -> Iterator[tuple[int, Profile]]:
    """(step, profile) of every step whose weights a run has kept. Errors as in `first_layer`."""
    for step in sorted(set(trained.steps)):  # a run that diverged at a kept step lists it twice
        yield step, at(trained, step)


def moments(trained: Trained) -> dict[str, int]:
    """Start, half and end: first kept step, the one nearest to half of training (the earlier of two), the last."""
    steps = sorted(trained.steps)
    half = min(steps, key=lambda step: (abs(2 * step - trained.run.steps), step))
    return {"start": steps[0], "half": half, "end": steps[-1]}
