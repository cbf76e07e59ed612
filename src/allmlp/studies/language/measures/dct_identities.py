"""What a DCT neuron can express, exactly, in float64 (000-18)."""

import pandas as pd
import torch
from torch import Tensor

from allmlp.columns import exact, numeric
from allmlp.models.dct import DCTNeuron

RECIPE = 1
LENGTH, SEQUENCES = 64, 8
SIZES = ((1, 8), (2, 8), (4, 8), (4, 64), (8, 64), (64, 8))  # frequencies k and embedding d

COLUMNS = {
    "identity": exact(
        "any linear function of the last k tokens (t = k), or linear function of the mean (k = 1, t = T)"
    ),
    "window": exact("tokens t that the neuron sees"),
    "frequencies": exact("lowest frequencies k that it uses"),
    "d_model": exact("width d of a token's embedding"),
    "difference_1": numeric(
        "largest difference of neuron and function on random sequences; functions of variance 1", rtol=1.0, atol=1e-11
    ),
    "weights": exact("trained weights of the neuron"),
}


def measure() -> pd.DataFrame:
    """One row per identity and size."""
    rows = []
    for frequencies, d_model in SIZES:
        generator = torch.Generator().manual_seed(frequencies + 1000 * d_model)
        rows.append(_row("last k tokens", *last_tokens(frequencies, d_model, generator)))
        if frequencies == 1:
            rows.append(_row("mean of all tokens", *mean(d_model, generator)))
    return pd.DataFrame(rows, columns=list(COLUMNS))


def last_tokens(k: int, d_model: int, generator: torch.Generator) -> tuple[DCTNeuron, float]:
    """A neuron with t = k fitted to a random linear function v of the last k tokens: weights basis @ v."""
    v_kD = torch.randn(k, d_model, generator=generator, dtype=torch.float64) / (k * d_model) ** 0.5
    neuron = DCTNeuron(d_model, window=k, frequencies=k).double()
    neuron.weight.data = neuron.basis @ v_kD
    x_BTD = _sequences(d_model, generator)
    return neuron, _largest(neuron(x_BTD) - torch.einsum("btd,td->b", x_BTD[:, -k:], v_kD))


def mean(d_model: int, generator: torch.Generator) -> tuple[DCTNeuron, float]:
    """A neuron with k = 1 and t = T, and its weights' product with the mean of all tokens, sqrt(T) times."""
    neuron = DCTNeuron(d_model, window=LENGTH, frequencies=1).double()
    neuron.weight.data = torch.randn(1, d_model, generator=generator, dtype=torch.float64) / d_model**0.5
    x_BTD = _sequences(d_model, generator)
    return neuron, _largest(neuron(x_BTD) - LENGTH**0.5 * x_BTD.mean(1) @ neuron.weight[0])


def _sequences(d_model: int, generator: torch.Generator) -> Tensor:
    return torch.randn(SEQUENCES, LENGTH, d_model, generator=generator, dtype=torch.float64)


def _row(identity: str, neuron: DCTNeuron, difference: float) -> dict[str, object]:
    frequencies, window = neuron.basis.shape
    return {
        "identity": identity,
        "window": window,
        "frequencies": frequencies,
        "d_model": neuron.weight.shape[1],
        "difference_1": difference,
        "weights": sum(weight.numel() for weight in neuron.parameters()),
    }


def _largest(x: Tensor) -> float:
    return x.abs().max().item()
