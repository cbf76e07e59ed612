"""Appendix H's classes of first-layer neurons: n-gram, bag-of-words, hybrid, DCT-sparse, other (000-5, -12, -19).

The paper leaves open what its norms are relative to (E000-2, E000-3). This is a parameter here, a `Reading`:

    "paper"     row norms as they are; each time row over its own norm; 0.0003. For the paper's width, 512.
    "relative"  row norms over the neuron's largest; rows over their root mean square; 0.0003 * 512 / d.
                Scale-free, so it also fits narrow models and short trainings.

    >>> unigram = np.zeros((1, 15, 512)); unigram[0, -1] = 1.0
    >>> classify(unigram, PAPER)
    array(['n-gram'], dtype='<U12')
"""

from dataclasses import dataclass
from typing import Literal, get_args

import numpy as np
from numpy.typing import NDArray

from allmlp.studies.language.neurons import Energies, neuron_energies, safe_divide

N_GRAM, BAG_OF_WORDS, HYBRID, DCT_SPARSE, OTHER = CLASSES = ("n-gram", "bag-of-words", "hybrid", "dct-sparse", "other")
RowScale = Literal["raw", "max-row"]
SliceScale = Literal["time-slice", "mean-slice", "rms-row"]
PAPER_WIDTH = 512  # the embedding width that the thresholds were chosen at


@dataclass(frozen=True)
class Thresholds:
    """Appendix H's numbers: share of low rows, low and high row norm, variance over time."""

    low_rows: float
    low: float
    high: float
    variance: float


STRICT = Thresholds(low_rows=0.6, low=0.4, high=0.9, variance=0.0003)
RELAXED = Thresholds(low_rows=0.5, low=0.5, high=0.8, variance=0.0005)  # a hybrid is in both classes under these


@dataclass(frozen=True)
class Reading:
    """What Appendix H's norms are relative to, and the thresholds. Raises ValueError for an unknown name.

    The variance's threshold is multiplied by reference_width / d if there is a reference_width.
    """

    name: str
    rows: RowScale
    slices: SliceScale
    reference_width: int | None = None
    strict: Thresholds = STRICT
    relaxed: Thresholds = RELAXED

    def __post_init__(self) -> None:
        for value, known in ((self.rows, get_args(RowScale)), (self.slices, get_args(SliceScale))):
            if value not in known:
                raise ValueError(f"reading '{self.name}': '{value}' is none of {', '.join(known)}")


PAPER = Reading("paper", rows="raw", slices="time-slice")
RELATIVE = Reading("relative", rows="max-row", slices="rms-row", reference_width=PAPER_WIDTH)
READINGS = (PAPER, RELATIVE)


def share_column(name: str) -> str:
    """The column that a class's share is measured in: 'n-gram' -> 'n_gram_share_1'."""
    return f"{name.replace('-', '_')}_share_1"


def is_n_gram(neurons: NDArray | Energies, reading: Reading, thresholds: Thresholds) -> NDArray[np.bool_]:
    """Which neurons (n, T, d) have over `low_rows` of rows below `low` and one above `high`, as (n,)."""
    return _has_few_large(neuron_energies(neurons).rows, reading, thresholds)


def is_dct_sparse(neurons: NDArray | Energies, reading: Reading, thresholds: Thresholds) -> NDArray[np.bool_]:
    """The same of their frequencies, in the orthonormal cosine basis (000-12)."""
    return _has_few_large(neuron_energies(neurons).frequencies, reading, thresholds)


def _has_few_large(energies_NT: NDArray, reading: Reading, thresholds: Thresholds) -> NDArray[np.bool_]:
    norms_NT = np.sqrt(energies_NT)
    if reading.rows == "max-row":  # the largest is then 1: the second condition holds for all but dead neurons
        norms_NT = safe_divide(norms_NT, np.broadcast_to(norms_NT.max(axis=1, keepdims=True), norms_NT.shape), 0.0)
    many_low = (norms_NT < thresholds.low).mean(axis=1) > thresholds.low_rows
    return many_low & (norms_NT > thresholds.high).any(axis=1)


def time_variance(neurons: NDArray | Energies, reading: Reading) -> NDArray[np.float64]:
    """(1/d) sum_i var_t(w / |w|), (n, T, d) -> (n,), with |w| as the reading says; inf for dead neurons.

    The mean over time of the scaled rows' energy, less the energy of their mean row, over d.
    """
    energies = neuron_energies(neurons)
    norms_NT = np.sqrt(energies.rows)
    scale_NT = {
        "time-slice": norms_NT,
        "mean-slice": norms_NT.mean(axis=1, keepdims=True),
        "rms-row": np.sqrt(energies.rows.mean(axis=1, keepdims=True)),
    }[reading.slices]
    T, per_row_NT = (
        energies.context,
        safe_divide(np.ones_like(norms_NT), np.broadcast_to(scale_NT, norms_NT.shape), 0.0),
    )
    energy_N = (energies.rows * per_row_NT**2).mean(axis=1)
    of_mean_N = np.einsum("nt,nts,ns->n", per_row_NT, energies.gram, per_row_NT, optimize=True) / T**2
    variance_N = (energy_N - of_mean_N).clip(min=0) / energies.width
    return np.where(energies.total == 0, np.inf, variance_N)  # a dead neuron is in no class


def is_bag_of_words(neurons: NDArray | Energies, reading: Reading, thresholds: Thresholds) -> NDArray[np.bool_]:
    """Which neurons (n, T, d) vary little over time: `<`, where the paper prints `>` (E000-1)."""
    energies = neuron_energies(neurons)
    return time_variance(energies, reading) < thresholds.variance * variance_scale(energies, reading)


def variance_scale(energies: Energies, reading: Reading) -> float:
    """What the variance's threshold is multiplied by at this width."""
    return 1.0 if reading.reference_width is None else reading.reference_width / energies.width


def classify(neurons: NDArray | Energies, reading: Reading) -> NDArray[np.str_]:
    """One of CLASSES for each neuron (n, T, d) -> (n,). Raises ValueError for other shapes.

    n-gram is tested first, because rows of exactly zero also vary little over time. A hybrid is in neither class but
    passes both relaxed criteria. A DCT-sparse neuron is none of these. A neuron without weights is "other".
    """
    energies = neuron_energies(neurons)
    n_gram = is_n_gram(energies, reading, reading.strict)
    bag_of_words = is_bag_of_words(energies, reading, reading.strict)
    relaxed = reading.relaxed
    hybrid = is_n_gram(energies, reading, relaxed) & is_bag_of_words(energies, reading, relaxed)
    dct_sparse = is_dct_sparse(energies, reading, reading.strict)
    return np.select([n_gram, bag_of_words, hybrid, dct_sparse], CLASSES[:4], default=OTHER)


def shares(neurons: NDArray | Energies, reading: Reading) -> dict[str, float]:
    """The share of neurons (n, T, d) in each of CLASSES; they sum to 1."""
    classes = classify(neurons, reading)
    return {name: float((classes == name).mean()) for name in CLASSES}


def deciding_reading(width: int) -> Reading:
    """The reading that claims are judged by: "paper" at the paper's width, "relative" at any other."""
    return PAPER if width == PAPER_WIDTH else RELATIVE
