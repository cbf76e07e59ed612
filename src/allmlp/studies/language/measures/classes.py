"""The classes of Appendix H: shares of them, their thresholds, and a test on constructed neurons."""

from dataclasses import replace
from itertools import product
from typing import get_args

import numpy as np
from numpy.typing import NDArray

from allmlp.spec.columns import Rows, exact, numeric
from allmlp.spec.measures import measure
from allmlp.spec.protocols import TrainedRun
from allmlp.studies.language import classification, neurons, profiles
from allmlp.studies.language.classification import (
    BAG_OF_WORDS,
    N_GRAM,
    OTHER,
    PAPER_WIDTH,
    Reading,
    RowScale,
    SliceScale,
    Thresholds,
    classify,
)

_SHARE = {"rtol": 1e-2, "atol": 0.02}  # another CPU type moves a few neurons over a threshold


@measure(
    recipe=2,
    step=exact("training steps done"),
    wear_1=numeric("weight decay times the sum of learning rates: e-foldings of the initial weights", rtol=1e-6),
    reading=exact("what Appendix H's norms are relative to: paper or relative"),
    n_gram_share_1=numeric("share of neurons that are n-gram", **_SHARE),
    bag_of_words_share_1=numeric("share of neurons that are bag-of-words and not n-gram", **_SHARE),
    hybrid_share_1=numeric("share of neurons in neither class, but in both when relaxed", **_SHARE),
    dct_sparse_share_1=numeric("share of neurons in none of these with few large frequencies", **_SHARE),
    other_share_1=numeric("share of the remaining neurons", **_SHARE),
)
def neuron_classes(trained: TrainedRun) -> Rows:
    """Share of first-layer neurons in each class of Appendix H at every kept step (000-5, -10, -12, -15).

    One row per kept step and reading. Raises UserError for an architecture without a first layer.
    """
    for step, profile in profiles.training_profiles(trained):
        wear = neurons.wear(trained, step)
        for reading in classification.READINGS:
            share = classification.shares(profile.energies, reading)
            columns = {classification.share_column(name): value for name, value in share.items()}
            yield {"step": step, "wear_1": wear, "reading": reading.name, **columns}


FACTORS = tuple(np.round(np.geomspace(1 / 16, 16, 25), 4).tolist())  # of the printed variance
NORMS = tuple(np.round(np.linspace(0.05, 1.0, 20), 2).tolist())
VARIED: dict[str, tuple[float, ...]] = {
    "low_rows": tuple(np.round(np.linspace(0.3, 0.9, 13), 2).tolist()),
    "low": NORMS,
    "high": NORMS,
    "variance": FACTORS,
}


def _vary_threshold(name: str, value: float) -> tuple[Thresholds, float]:
    """Appendix H's thresholds with one changed, and the printed value on the same scale."""
    printed = float(getattr(classification.STRICT, name))
    if name == "variance":
        return replace(classification.STRICT, variance=value * printed), 1.0
    return replace(classification.STRICT, **{name: value}), printed


@measure(
    recipe=1,
    reading=exact("what Appendix H's norms are relative to: paper or relative"),
    threshold=exact("the one that is varied: low_rows, low, high or variance"),
    value_1=exact("its value; of the variance's, the factor that multiplies the printed one"),
    printed_1=exact("the value in Appendix H, on the same scale"),
    n_gram_share_1=numeric("share of n-gram neurons", rtol=1e-2, atol=0.02),
    bag_of_words_share_1=numeric("share of neurons that vary little over time, n-gram or not", rtol=1e-2, atol=0.02),
)
def thresholds(trained: TrainedRun) -> Rows:
    """How the shares of the two classes at the end depend on Appendix H's thresholds, one varied at a time (000-19).

    One row per reading, threshold and value. Raises UserError for an architecture without a first layer.
    """
    energies = profiles.step_profile(trained, profiles.moments(trained)["end"]).energies
    for reading in classification.READINGS:
        variance_N = classification.time_variance(energies, reading)
        scale = classification.variance_scale(energies, reading)
        for name, values in VARIED.items():
            for value in values:
                thresholds, printed = _vary_threshold(name, value)
                yield {
                    "reading": reading.name,
                    "threshold": name,
                    "value_1": value,
                    "printed_1": printed,
                    "n_gram_share_1": classification.is_n_gram(energies, reading, thresholds).mean(),
                    "bag_of_words_share_1": (variance_N < thresholds.variance * scale).mean(),
                }


CONTEXT = 15
NOISES = (0.0, 0.1, 0.3)  # relative to the norm of the equal rows
LONGEST = 4  # recent positions of an n-gram


def n_gram(rng: np.random.Generator, count: int, width: int, positions: int) -> NDArray[np.float64]:
    """(count, T, width): random rows of norm 1 at the last `positions`, 0 elsewhere."""
    neurons_NTD = np.zeros((count, CONTEXT, width))
    neurons_NTD[:, -positions:] = unit_rows(rng, count, positions, width)
    return neurons_NTD


def bag_of_words(rng: np.random.Generator, count: int, width: int, noise: float) -> NDArray[np.float64]:
    """(count, T, width): the same random row of norm 1 at every time, plus a random row of norm `noise` at each
    time."""
    return unit_rows(rng, count, 1, width) + noise * unit_rows(rng, count, CONTEXT, width)


def initial_weights(rng: np.random.Generator, count: int, width: int) -> NDArray[np.float64]:
    """(count, T, width): PyTorch's initial weights of a linear layer, uniform within 1 / sqrt(inputs)."""
    bound = 1 / np.sqrt(CONTEXT * width)
    return rng.uniform(-bound, bound, (count, CONTEXT, width))


def unit_rows(rng: np.random.Generator, count: int, rows: int, width: int) -> NDArray[np.float64]:
    """(count, rows, width): random directions."""
    w = rng.normal(size=(count, rows, width))
    return w / np.linalg.norm(w, axis=2, keepdims=True)


def kinds(rng: np.random.Generator, count: int, width: int) -> dict[str, tuple[str, NDArray[np.float64]]]:
    """kind -> (its class, neurons)."""
    n_grams = {f"{n} recent": (N_GRAM, n_gram(rng, count, width, n)) for n in range(1, LONGEST + 1)}
    words = {
        f"equal rows, {100 * noise:.0f} % noise": (BAG_OF_WORDS, bag_of_words(rng, count, width, noise))
        for noise in NOISES
    }
    return {**n_grams, **words, "initial weights": (OTHER, initial_weights(rng, count, width))}


WIDTHS = (64, 128, 512)
COUNT = 200  # neurons of each kind


@measure(
    recipe=1,
    width=exact("embedding width d"),
    kind=exact("how the neurons are made"),
    class_=exact("the class that they are in"),
    rows=exact("what row norms are relative to: raw, max-row"),
    slices=exact("what the variance's rows are relative to: time-slice, mean-slice, rms-row"),
    variance=exact("the variance's threshold: printed, or scaled to the width"),
    right_share_1=numeric("share of them that the reading puts there", atol=0.01),
)
def constructed_neurons() -> Rows:
    """The share of constructed neurons that each reading of Appendix H classifies correctly, at several widths
    (000-19).

    One row per width, kind and reading; the run's weights are not used.
    """
    for width in WIDTHS:
        made = kinds(np.random.default_rng(width), COUNT, width)
        readings = product(get_args(RowScale), get_args(SliceScale), {"printed": None, "scaled": PAPER_WIDTH}.items())
        for rows_by, slices_by, (variance, reference) in readings:
            reading = Reading(f"{rows_by}, {slices_by}", rows_by, slices_by, reference)
            for kind, (right, neurons_NTD) in made.items():
                share = float((classify(neurons_NTD, reading) == right).mean())
                yield (width, kind, right, rows_by, slices_by, variance, share)
