"""The neurons of an MLP's first layer as the paper defines them: one (time, embedding) matrix each (000-5).

The first linear layer maps (T * d) -> n. Its weight (n, T * d) is cut into n neurons of T time rows and d
embedding columns; row T - 1 reads the most recent token. All maths on neurons is float64, see `energies`.
"""

import numpy as np
from numpy.typing import NDArray

from allmlp.errors import UserError
from allmlp.protocols import Trained

FIRST_LAYER = "first.weight"


def as_neurons(weight: NDArray, context: int) -> NDArray:
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


def first_layer(trained: Trained, step: int) -> NDArray:
    """The neurons (n, T, d) of a run at a kept step, of its float type. UserError if its architecture has none."""
    weights = trained.weights(step)
    if FIRST_LAYER not in weights:
        raise UserError(
            f"run of {trained.run.labels.get('model', 'an architecture')} has no weight '{FIRST_LAYER}' but "
            f"{', '.join(sorted(weights))}. Neurons are measured on architecture 'mlp' only."
        )
    return as_neurons(weights[FIRST_LAYER].detach().cpu().numpy(), trained.run.hyperparameters["context"])


def wear(trained: Trained, step: int) -> float:
    """Weight decay times the sum of learning rates of the first `step` updates.

    The number of e-foldings by which AdamW has faded the initial weights: 30 in the paper. A share exp(-wear) of the
    random start is still in the weights (000-5, 000-7).
    """
    log = trained.log
    rates = log.loc[log["step"] < step, "learning_rate"]
    return float(trained.run.optimiser["weight_decay"] * rates.sum())
