"""The neurons of an MLP's first layer as the paper defines them: one (time, embedding) matrix each (000-5).

The first linear layer maps (T * d) -> n. Its weight (n, T * d) is cut into n neurons of T time rows and d
embedding columns; row T - 1 reads the most recent token. All maths on neurons is float64.

Inner products of a neuron's time rows, G[t, s] = <w_t, w_s>, (T, T), are enough for its class and its energies. Row
norms are the root of G's diagonal, the norm of frequency k is the root of c_k G c_k, and the energy of a constant is a
mean of G. Fifteen rows of 512 weights become 225 numbers.

Frequencies are those of the orthonormal DCT-II over time, c_k in row k of `basis` (000-8, 000-12, 000-16). Frequency 0
is the mean, as required for k = 1 in Appendix C.1 (E000-5). The paper leaves the normalisation open; the orthonormal
one preserves energies and so the scale of the thresholds.
"""

from dataclasses import dataclass
from functools import cache, cached_property

import numpy as np
from numpy.typing import NDArray

from allmlp.common.errors import UserError
from allmlp.spec.protocols import TrainedRun

FIRST_LAYER = "first.weight"


def split_neurons(weight: NDArray, context: int) -> NDArray:
    """Cut a first layer's weight (n, T * d) into neurons (n, T, d), T = `context`; oldest token first.

    Raises ValueError if the weight is not a matrix, or `context` does not divide its width.
    """
    weight = np.asarray(weight)
    if weight.ndim != 2 or context < 1 or weight.shape[1] % context or not weight.size:
        raise ValueError(
            f"a first layer's weight is (neurons, context * embedding); "
            f"{weight.shape} cannot be cut into {context} time rows"
        )
    return weight.reshape(len(weight), context, -1)


def check_neurons(neurons_NTD: NDArray) -> NDArray[np.float64]:
    """As float64 (n, T, d). Raises ValueError for another shape, an empty axis or weights not finite."""
    neurons_NTD = np.asarray(neurons_NTD, dtype=np.float64)
    if neurons_NTD.ndim != 3 or 0 in neurons_NTD.shape:
        raise ValueError(f"neurons are (neuron, time, embedding), none of them empty; got {neurons_NTD.shape}")
    if not np.isfinite(neurons_NTD).all():
        raise ValueError("neurons with weights that are not finite belong to no class")
    return neurons_NTD


def row_norms(neurons_NTD: NDArray) -> NDArray[np.float64]:
    """The l2 norm of each time row over the embedding, (n, T, d) -> (n, T): Appendix H's w with a tilde."""
    return np.linalg.norm(check_neurons(neurons_NTD), axis=2)


def first_layer(trained: TrainedRun, step: int) -> NDArray:
    """The neurons (n, T, d) of a run at a kept step, of its float type. UserError if its architecture has none."""
    weights = trained.weights(step)
    if FIRST_LAYER not in weights:
        raise UserError(
            f"run of {trained.run.labels.get('model', 'an architecture')} has no weight '{FIRST_LAYER}' but "
            f"{', '.join(sorted(weights))}. Neurons are measured on architecture 'mlp' only."
        )
    return split_neurons(weights[FIRST_LAYER].detach().cpu().numpy(), trained.run.hyperparameters["context"])


def wear(trained: TrainedRun, step: int) -> float:
    """Weight decay times the sum of learning rates of the first `step` updates.

    The number of e-foldings by which AdamW has faded the initial weights: 30 in the paper. A share exp(-wear) of the
    random start is still in the weights (000-5, 000-7).
    """
    log = trained.log
    rates = log.loc[log["step"] < step, "learning_rate"]
    return float(trained.run.optimiser["weight_decay"] * rates.sum())


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


def transform_neurons(neurons_NTD: NDArray) -> NDArray[np.float64]:
    """Each coordinate's frequencies over time, (n, T, d) -> (n, T, d), frequency k in row k; energies are preserved."""
    neurons_NTD = np.asarray(neurons_NTD, dtype=np.float64)
    return basis(neurons_NTD.shape[1]) @ neurons_NTD


def safe_divide(numerator: NDArray, denominator: NDArray, empty: float) -> NDArray[np.float64]:
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

    def explained_share(self, window: int) -> NDArray[np.float64]:
        """Share of energy that a free window of last rows and one constant row before it explain, (n,); nan if dead."""
        recent_N = self.rows[:, self.older(window) :].sum(axis=1)
        return safe_divide(recent_N + self.constant(window), self.total, np.nan)


def neuron_energies(neurons: "NDArray | Energies") -> Energies:
    """The energies of neurons (n, T, d); energies are returned unchanged. Raises ValueError as `check_neurons`."""
    if isinstance(neurons, Energies):
        return neurons
    neurons_NTD = check_neurons(neurons)
    return Energies(gram(neurons_NTD), neurons_NTD.shape[2])


def gram(neurons_NTD: NDArray) -> NDArray[np.float64]:
    """Inner products of time rows, (n, T, d) -> (n, T, T)."""
    return neurons_NTD @ neurons_NTD.transpose(0, 2, 1)
