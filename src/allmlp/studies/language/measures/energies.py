"""How the energy of first-layer neurons is spread over time and over frequencies."""

import numpy as np
import pandas as pd
from numpy.typing import NDArray

from allmlp.spec.columns import Rows, exact, numeric
from allmlp.spec.measures import measure
from allmlp.spec.protocols import TrainedRun
from allmlp.studies.language import classification, profiles
from allmlp.studies.language.neurons import Energies, safe_divide
from allmlp.studies.language.profiles import AT_MOMENTS, RECENT, Profile, moment_rows


@measure(
    recipe=2,
    **AT_MOMENTS,
    neuron=exact("position of the neuron in the first layer"),
    ratio_1=numeric("l1 over l2 norm over time, mean over the embedding", rtol=1e-2),
    frequency_ratio_1=numeric("the same over orthonormal frequencies in place of time", rtol=1e-2),
    bound_1=numeric("the largest ratio there is, sqrt(context): equal weight at every time", rtol=1e-12),
)
def l1_l2(trained: TrainedRun) -> Rows:
    """l1/l2 of every first-layer neuron over time and over frequencies, at start, half and end (000-7, 000-16).

    One row per moment and neuron. Raises UserError for an architecture without a first layer.
    """
    return moment_rows(trained, _ratios)


def _ratios(profile: Profile) -> pd.DataFrame:
    ratios = pd.DataFrame({"ratio_1": profile.time_ratio, "frequency_ratio_1": profile.frequency_ratio})
    return ratios.assign(neuron=np.arange(len(ratios)), bound_1=np.sqrt(profile.energies.context))


@measure(
    recipe=2,
    step=exact("training steps done"),
    l1_l2_median_1=numeric("median over neurons of l1 over l2 norm over time", rtol=1e-2),
    sarle_1=numeric("Sarle's bimodality coefficient of l1/l2 over neurons; 0.556 if uniform", rtol=1e-2, atol=0.02),
    constant_share_median_1=numeric(
        "median over neurons: share of the energy of all rows but the last 3 that is constant in time; "
        "1 / (context - 3) for random weights",
        rtol=1e-2,
        atol=0.02,
    ),
    window_share_median_1=numeric(
        "median over neurons: share of the energy that the last 3 rows and one constant before them explain; "
        "4 / context for random weights",
        rtol=1e-2,
        atol=0.02,
    ),
)
def concentration(trained: TrainedRun) -> Rows:
    """How first-layer neurons spread over time at every kept step, without thresholds (000-5, 000-7).

    One row per kept step. Raises UserError for an architecture without a first layer.
    """
    recent = min(profiles.RECENT, trained.run.hyperparameters["context"] - 1)
    for step, profile in profiles.training_profiles(trained):
        yield {
            "step": step,
            "l1_l2_median_1": np.nanmedian(profile.time_ratio),
            "sarle_1": profiles.bimodality(profile.time_ratio),
            "constant_share_median_1": np.nanmedian(profiles.constant_share(profile.energies, recent)),
            "window_share_median_1": np.nanmedian(profiles.window_share(profile.energies, recent)),
        }


QUANTILES = (0.05, 0.5, 0.95)


@measure(
    recipe=1,
    moment=exact("start, half or end of training"),
    step=exact("training steps done"),
    window_rows=exact("n, the last time rows that are free"),
    quantile_1=exact("of the neurons"),
    explained_1=numeric("share of a neuron's energy that they and one constant explain", rtol=1e-2, atol=0.02),
    by_chance_1=numeric("the same of random weights, (n + 1) / context", rtol=1e-9),
)
def explained_energy(trained: TrainedRun) -> Rows:
    """How much of a neuron's energy a window of n last rows and one constant explain, for every n: spread over neurons.

    One row per moment, n from 0 to context - 1 and quantile. Raises UserError as `first_layer`.
    """
    for moment, step in profiles.moments(trained).items():
        energies = profiles.step_profile(trained, step).energies
        for window in range(energies.context):
            explained = np.nanquantile(energies.explained_share(window), QUANTILES)
            head = {"moment": moment, "step": step, "window_rows": window}
            chance = (window + 1) / energies.context
            for quantile, value in zip(QUANTILES, explained.tolist(), strict=True):
                yield {**head, "quantile_1": quantile, "explained_1": value, "by_chance_1": chance}


WINDOW = 4  # consecutive positions (000-6)
LOWEST = 3  # frequencies (000-9)

_CLASS = {"rtol": 1e-2, "atol": 0.05}  # in a small class a single neuron moves the mean


def class_shares(energies: Energies) -> pd.DataFrame:
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
    return pd.DataFrame({name: safe_divide(part_N, total_N, np.nan) for name, part_N in parts.items()})


@measure(
    recipe=1,
    **AT_MOMENTS,
    reading=exact("what Appendix H's norms are relative to: paper or relative"),
    class_=exact("a class of Appendix H"),
    neurons=numeric("how many neurons are in it", rtol=0.05, atol=3),
    window_energy_1=numeric("mean share of energy in the most energetic 4 positions in a row", **_CLASS),
    recent_energy_1=numeric("mean share of energy in the last 3 positions", **_CLASS),
    constant_energy_1=numeric("mean share of energy that is constant in time: that of frequency 0", **_CLASS),
    low_energy_1=numeric("mean share of energy in the 3 lowest frequencies", **_CLASS),
)
def class_energies(trained: TrainedRun) -> Rows:
    """How well the neurons of each class match the ideal of the class, at start, half and end (000-6, 000-8).

    One row per moment, reading and class. Raises UserError for an architecture without a first layer.
    """
    return moment_rows(trained, _means)


def _means(profile: Profile) -> pd.DataFrame:
    of_neurons, rows = class_shares(profile.energies), []
    for reading in classification.READINGS:
        classes = classification.classify(profile.energies, reading)
        for name in classification.CLASSES:
            there = of_neurons[classes == name]
            head = {"reading": reading.name, "class": name, "neurons": float(len(there))}
            rows.append({**head, **there.mean().to_dict()})
    return pd.DataFrame(rows)


LARGE = 0.01  # the row norm that Section 4.3 calls large; raw, as its scale is open (E000-3)
DECIMALS = 4  # more digits would only enlarge the file

_ENERGY = {"rtol": 1e-2, "atol": 0.05}  # one neuron's; training differs in its last digits between CPU types


@measure(
    recipe=1,
    **AT_MOMENTS,
    neuron=exact("position of the neuron in the first layer"),
    recent_energy_1=numeric("share of its energy in the last 3 rows", **_ENERGY),
    constant_energy_1=numeric("share of its energy that one constant explains in all rows before them", **_ENERGY),
    low_energy_1=numeric("share of its energy in the 3 lowest frequencies over all rows", **_ENERGY),
    large_rows=numeric("how many of its rows have a norm above 0.01", atol=2),
)
def energy_map(trained: TrainedRun) -> Rows:
    """The energy of each first-layer neuron in last rows, constant and low frequencies, without thresholds (000-9,
    -12).

    A window of the last three rows and one constant before them hold all energy of every n-gram of up to three, every
    bag-of-words neuron and every sum of the two. The paper has no such map.

    One row per moment and neuron. Raises UserError for an architecture without a first layer.
    """
    return moment_rows(trained, row_shares)


def row_shares(profile: Profile) -> pd.DataFrame:
    """A row per neuron; nan for shares of one without weights."""
    energies = profile.energies
    recent = min(RECENT, energies.context - 1)
    energy_of = {
        "recent_energy_1": energies.rows[:, energies.older(recent) :].sum(axis=1),
        "constant_energy_1": energies.constant(recent),
        "low_energy_1": energies.frequencies[:, :LOWEST].sum(axis=1),
    }
    columns = {name: safe_divide(of_N, energies.total, np.nan).round(DECIMALS) for name, of_N in energy_of.items()}
    rows = pd.DataFrame({**columns, "large_rows": (energies.rows > LARGE**2).sum(axis=1)})
    return rows.assign(neuron=np.arange(len(rows)))


COLUMNS_DRAWN = 32
FRACTIONS = (0.0, 0.01, 0.1, 0.5, 1.0)  # of training, the nearest kept steps

_NORM = {"rtol": 0.05, "atol": 0.05}  # sorting may exchange two neurons on another CPU type


def sort_neurons(energies: Energies) -> NDArray[np.int64]:
    """The neurons by their number of large rows; ties by the sum of row norms over the largest."""
    norms_NT = np.sqrt(energies.rows)
    spread_N = safe_divide(norms_NT.sum(axis=1), norms_NT.max(axis=1), 0.0)
    return np.lexsort((spread_N, (norms_NT > LARGE).sum(axis=1)))


def nearest_kept_steps(steps: list[int], total: int) -> list[int]:
    """The kept steps nearest to FRACTIONS of training, each once."""
    return sorted({min(steps, key=lambda step: (abs(step - share * total), step)) for share in FRACTIONS})


def _digits(values: NDArray) -> NDArray[np.float64]:
    """Rounded to three digits: more would only enlarge the file."""
    scale = 10.0 ** (2 - np.floor(np.log10(np.where(values > 0, values, 1.0))))
    return np.round(values * scale) / scale


@measure(
    recipe=1,
    step=exact("training steps done"),
    basis=exact("time: rows are positions, the last one the most recent token; frequency: orthonormal DCT-II"),
    column=exact("place in the order by number of large rows, from few to many"),
    row=exact("position or frequency, from 0"),
    norm_1=numeric("l2 norm of the row, mean over the neurons of this place", **_NORM),
    large_rows=numeric("rows of norm above 0.01 in the time basis, mean over the neurons of this place", atol=2),
)
def row_norms(trained: TrainedRun) -> Rows:
    """Row norms of all neurons in both bases, neurons sorted by their number of large rows, over training (000-9,
    000-10).

    If there are more neurons than COLUMNS_DRAWN, neighbours in that order are averaged, since a picture shows no more.

    One row per step, basis, place and row. Raises UserError for an architecture without a first layer.
    """
    parts = []
    for step in nearest_kept_steps(sorted(trained.steps), trained.run.steps):
        energies = profiles.step_profile(trained, step).energies
        places = np.array_split(sort_neurons(energies), min(COLUMNS_DRAWN, len(energies)))
        large_N = (energies.rows > LARGE**2).sum(axis=1)
        large_P = np.array([large_N[place].mean() for place in places])
        for basis, energies_NT in (("time", energies.rows), ("frequency", energies.frequencies)):
            norms_PT = np.stack([np.sqrt(energies_NT[place]).mean(axis=0) for place in places])
            column, row = (index.ravel() for index in np.indices(norms_PT.shape))
            table = {"column": column, "row": row, "norm_1": _digits(norms_PT.ravel()), "large_rows": large_P[column]}
            parts.append(pd.DataFrame(table).assign(step=step, basis=basis))
    return pd.concat(parts, ignore_index=True)
