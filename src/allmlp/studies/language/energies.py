"""Inner products of a neuron's time rows, in float64: enough to compute its class and its energies.

With G[t, s] = <w_t, w_s>, (T, T) for each neuron, row norms are the root of G's diagonal, the norm of frequency k is
the root of c_k G c_k, and the energy of a constant is a mean of G. Fifteen rows of 512 weights become 225 numbers.

Frequencies are those of the orthonormal DCT-II over time, c_k in row k of `basis` (000-8, 000-12, 000-16). Frequency 0
is the mean, as required for k = 1 in Appendix C.1 (E000-5). The paper leaves the normalisation open; the orthonormal
one preserves energies and so the scale of the thresholds.
"""

from dataclasses import dataclass
from functools import cache, cached_property

import numpy as np
from numpy.typing import NDArray

from allmlp.studies.language.neurons import check_neurons


@cache
def basis(length: int) -> NDArray[np.float64]:
    """c[k, t] = sqrt((2 - [k = 0]) / T) cos(pi k (2 t + 1) / (2 T)), (T, T): rows are an orthonormal basis."""
    if length < 1:
        raise ValueError(f"a cosine basis over {length} positions: there must be one at least")
    k, t = np.arange(length)[:, None], np.arange(length)[None]
    waves = np.sqrt(2 / length) * np.cos(np.pi * k * (2 * t + 1) / (2 * length))
    waves[0] = np.sqrt(1 / length)
    waves.setflags(write=False)
    return waves


def to_frequencies(neurons_NTD: NDArray) -> NDArray[np.float64]:
    """Each coordinate's frequencies over time, (n, T, d) -> (n, T, d), frequency k in row k; energies are preserved."""
    neurons_NTD = np.asarray(neurons_NTD, dtype=np.float64)
    return basis(neurons_NTD.shape[1]) @ neurons_NTD


def over(numerator: NDArray, denominator: NDArray, empty: float) -> NDArray[np.float64]:
    """Quotient, `empty` where the denominator is 0."""
    return np.divide(numerator, denominator, out=np.full(np.shape(numerator), empty), where=denominator != 0)


@dataclass(frozen=True)
class Energies:
    """`gram`: inner products of time rows, (n, T, T); `width`: how many weights a row has, d."""

    gram: NDArray[np.float64]
    width: int

    def __len__(self) -> int:
        return len(self.gram)

    @property
    def context(self) -> int:
        """T, the number of time rows."""
        return self.gram.shape[1]

    @cached_property
    def rows(self) -> NDArray[np.float64]:
        """Energy of each time row, (n, T)."""
        return np.diagonal(self.gram, axis1=1, axis2=2).copy()

    @cached_property
    def frequencies(self) -> NDArray[np.float64]:
        """Energy of each frequency, (n, T)."""
        waves = basis(self.context)
        energies_NT = ((waves @ self.gram) * waves).sum(axis=2)
        return energies_NT.clip(min=0)  # a difference of sums may round below 0

    @cached_property
    def total(self) -> NDArray[np.float64]:
        """Energy of each neuron, (n,)."""
        return self.rows.sum(axis=1)

    def constant(self, recent: int = 0) -> NDArray[np.float64]:
        """Energy of the part of all but the `recent` last rows that is constant in time, (n,)."""
        older = self.older(recent)
        return self.gram[:, :older, :older].sum(axis=(1, 2)).clip(min=0) / older

    def older(self, recent: int) -> int:
        """How many rows are not among the `recent` last. Raises ValueError unless there is one."""
        if not 0 <= recent < self.context:
            raise ValueError(
                f"a window of {recent} rows leaves no older row of {self.context}: choose 0 to {self.context - 1}"
            )
        return self.context - recent

    def explained(self, window: int) -> NDArray[np.float64]:
        """Share of energy that a free window of last rows and one constant row before it explain, (n,); nan if dead."""
        recent_N = self.rows[:, self.older(window) :].sum(axis=1)
        return over(recent_N + self.constant(window), self.total, np.nan)


def of_neurons(neurons: "NDArray | Energies") -> Energies:
    """The energies of neurons (n, T, d); energies are returned unchanged. Raises ValueError as `check_neurons`."""
    if isinstance(neurons, Energies):
        return neurons
    neurons_NTD = check_neurons(neurons)
    return Energies(gram(neurons_NTD), neurons_NTD.shape[2])


def gram(neurons_NTD: NDArray) -> NDArray[np.float64]:
    """Inner products of time rows, (n, T, d) -> (n, T, T)."""
    return neurons_NTD @ neurons_NTD.transpose(0, 2, 1)
