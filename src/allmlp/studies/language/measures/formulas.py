"""What follows without training: a DCT neuron's functions, an MLP's weights."""

import torch
from torch import Tensor

from allmlp import models
from allmlp.models import flops
from allmlp.models.dct import DCTNeuron
from allmlp.spec.columns import Rows, exact, numeric
from allmlp.spec.measures import measure

LENGTH, SEQUENCES = 64, 8
SIZES = ((1, 8), (2, 8), (4, 8), (4, 64), (8, 64), (64, 8))  # frequencies k and embedding d


@measure(
    recipe=1,
    identity=exact("any linear function of the last k tokens (t = k), or linear function of the mean (k = 1, t = T)"),
    window=exact("tokens t that the neuron sees"),
    frequencies=exact("lowest frequencies k that it uses"),
    d_model=exact("width d of a token's embedding"),
    difference_1=numeric(
        "largest difference of neuron and function on random sequences; functions of variance 1", rtol=1.0, atol=1e-11
    ),
    weights=exact("trained weights of the neuron"),
)
def dct_identities() -> Rows:
    """What a DCT neuron can express, exactly, in float64 (000-18).

    One row per identity and size.
    """
    for frequencies, d_model in SIZES:
        generator = torch.Generator().manual_seed(frequencies + 1000 * d_model)
        yield _row("last k tokens", *last_tokens(frequencies, d_model, generator))
        if frequencies == 1:
            yield _row("mean of all tokens", *mean(d_model, generator))


def last_tokens(k: int, d_model: int, generator: torch.Generator) -> tuple[DCTNeuron, float]:
    """A neuron with t = k fitted to a random linear function v of the last k tokens: weights basis @ v."""
    v_kD = torch.randn(k, d_model, generator=generator, dtype=torch.float64) / (k * d_model) ** 0.5
    neuron = DCTNeuron(d_model, window=k, frequencies=k).double()
    neuron.weight.data = neuron.basis @ v_kD
    x_BTD = _sequences(d_model, generator)
    return neuron, _largest_absolute(neuron(x_BTD) - torch.einsum("btd,td->b", x_BTD[:, -k:], v_kD))


def mean(d_model: int, generator: torch.Generator) -> tuple[DCTNeuron, float]:
    """A neuron with k = 1 and t = T, and its weights' product with the mean of all tokens, sqrt(T) times."""
    neuron = DCTNeuron(d_model, window=LENGTH, frequencies=1).double()
    neuron.weight.data = torch.randn(1, d_model, generator=generator, dtype=torch.float64) / d_model**0.5
    x_BTD = _sequences(d_model, generator)
    return neuron, _largest_absolute(neuron(x_BTD) - LENGTH**0.5 * x_BTD.mean(1) @ neuron.weight[0])


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


def _largest_absolute(x: Tensor) -> float:
    return x.abs().max().item()


CONTEXTS = (1, 2, 4, 8, 15, 16, 32, 64, 128)
PAPER = {"d_model": 512, "d_mlp": 16384}
READINGS = {"all": {}, "without norms": {"norm": False}, "matrices": {"norm": False, "bias": False}}


@measure(
    recipe=1,
    reading=exact("which weights count: the paper does not say whether biases and norms do"),
    context=exact("context length T"),
    parameters=exact("weights outside the embeddings"),
    beyond_context=exact("the same less T d^2"),
)
def context_parameters() -> Rows:
    """Weights of the MLP against its context at the paper's size, beyond T d^2 (000-14).

    One row per reading and context; the run's weights are not used.
    """
    for reading, options in READINGS.items():
        for context in CONTEXTS:
            with torch.device("meta"):
                model = models.build("mlp", vocabulary=1, context=context, **PAPER, **options)
            count = flops.parameters(model)["non_embedding"]
            yield (reading, context, count, count - context * PAPER["d_model"] ** 2)
