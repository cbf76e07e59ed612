"""Appendix H's classes of first-layer neurons: n-gram, bag-of-words, hybrid, other (000-5, 000-19).

What its norms are relative to is open in the paper (E000-2, E000-3), so that is a parameter here, a
`Reading`:

    "paper"     row norms as they are; each time row over its own norm; 0.0003. For the paper's width, 512.
    "relative"  row norms over the neuron's largest; rows over their root mean square; 0.0003 * 512 / d.
                Free of scale, so it also reads narrow models and short trainings.

    >>> unigram = np.zeros((1, 15, 512)); unigram[0, -1] = 1.0
    >>> classify(unigram, PAPER)
    array(['n-gram'], dtype='<U12')
"""

from dataclasses import dataclass
from typing import Literal

import numpy as np
from numpy.typing import NDArray

from allmlp.studies.language.neurons import check_neurons, row_norms

N_GRAM, BAG_OF_WORDS, HYBRID, OTHER = CLASSES = ("n-gram", "bag-of-words", "hybrid", "other")
PAPER_WIDTH = 512  # the embedding width that the thresholds were chosen at


@dataclass(frozen=True)
class Thresholds:
    """Appendix H's numbers: share of low rows, low and high row norm, variance over time."""

    low_rows: float
    low: float
    high: float
    variance: float


STRICT = Thresholds(low_rows=0.6, low=0.4, high=0.9, variance=0.0003)
RELAXED = Thresholds(low_rows=0.5, low=0.5, high=0.8, variance=0.0005)  # a hybrid is in both classes by these


@dataclass(frozen=True)
class Reading:
    """What Appendix H's norms are relative to, and the thresholds. Raises ValueError for an unknown name.

    The variance's threshold is multiplied by reference_width / d where there is a reference_width.
    """

    name: str
    rows: Literal["raw", "max-row"]
    slices: Literal["time-slice", "mean-slice", "rms-row"]
    reference_width: int | None = None
    strict: Thresholds = STRICT
    relaxed: Thresholds = RELAXED

    def __post_init__(self) -> None:
        for value, known in (
            (self.rows, ("raw", "max-row")),
            (self.slices, ("time-slice", "mean-slice", "rms-row")),
        ):
            if value not in known:
                raise ValueError(f"reading '{self.name}': '{value}' is none of {', '.join(known)}")


PAPER = Reading("paper", rows="raw", slices="time-slice")
RELATIVE = Reading("relative", rows="max-row", slices="rms-row", reference_width=PAPER_WIDTH)
READINGS = (PAPER, RELATIVE)


def share_column(name: str) -> str:
    """The column that a class's share is measured in: 'n-gram' -> 'n_gram_share_1'."""
    return f"{name.replace('-', '_')}_share_1"


def _over(numerator: NDArray, denominator: NDArray) -> NDArray[np.float64]:
    """Quotient that is 0 where the denominator is: a row without weight has no direction."""
    return np.divide(numerator, denominator, out=np.zeros_like(numerator), where=denominator != 0)


def is_n_gram(neurons_NTD: NDArray, reading: Reading, thresholds: Thresholds) -> NDArray[np.bool_]:
    """Which neurons (n, T, d) have over `low_rows` of rows below `low` and one above `high`, as (n,)."""
    norms_NT = row_norms(neurons_NTD)
    if reading.rows == "max-row":  # the largest is then 1: the second condition holds for all but dead neurons
        norms_NT = _over(norms_NT, np.broadcast_to(norms_NT.max(axis=1, keepdims=True), norms_NT.shape))
    many_low = (norms_NT < thresholds.low).mean(axis=1) > thresholds.low_rows
    return many_low & (norms_NT > thresholds.high).any(axis=1)


def time_variance(neurons_NTD: NDArray, reading: Reading) -> NDArray[np.float64]:
    """(1/d) sum_i var_t(w / |w|), (n, T, d) -> (n,), with |w| as the reading says; inf for dead neurons."""
    neurons_NTD = check_neurons(neurons_NTD)
    norms_NT = row_norms(neurons_NTD)
    scale_NT = {
        "time-slice": norms_NT,
        "mean-slice": norms_NT.mean(axis=1, keepdims=True),
        "rms-row": np.sqrt((norms_NT**2).mean(axis=1, keepdims=True)),
    }[reading.slices]
    scaled_NTD = _over(neurons_NTD, np.broadcast_to(scale_NT[:, :, None], neurons_NTD.shape))
    variance_N = scaled_NTD.var(axis=1).mean(axis=1)
    return np.where((norms_NT == 0).all(axis=1), np.inf, variance_N)  # no weights, no words


def is_bag_of_words(neurons_NTD: NDArray, reading: Reading, thresholds: Thresholds) -> NDArray[np.bool_]:
    """Which neurons (n, T, d) vary little over time: `<`, where the paper prints `>` (E000-1)."""
    width = np.shape(neurons_NTD)[-1]
    scale = 1.0 if reading.reference_width is None else reading.reference_width / width
    return time_variance(neurons_NTD, reading) < thresholds.variance * scale


def classify(neurons_NTD: NDArray, reading: Reading) -> NDArray[np.str_]:
    """One of CLASSES for each neuron (n, T, d) -> (n,). Raises ValueError for other shapes.

    n-gram is asked first: rows of exactly zero also vary little over time. A hybrid is in neither class but
    passes both when relaxed. A neuron without weights is "other".
    """
    n_gram = is_n_gram(neurons_NTD, reading, reading.strict)
    bag_of_words = is_bag_of_words(neurons_NTD, reading, reading.strict)
    relaxed = reading.relaxed
    hybrid = is_n_gram(neurons_NTD, reading, relaxed) & is_bag_of_words(neurons_NTD, reading, relaxed)
    return np.select([n_gram, bag_of_words, hybrid], CLASSES[:3], default=OTHER)


def shares(neurons_NTD: NDArray, reading: Reading) -> dict[str, float]:
    """The share of neurons (n, T, d) in each of CLASSES; the four sum to 1."""
    classes = classify(neurons_NTD, reading)
    return {name: float((classes == name).mean()) for name in CLASSES}
