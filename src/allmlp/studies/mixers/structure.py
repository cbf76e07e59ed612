"""Properties of a triangular mask: the worked example, causality, gradients, hidden units (001-1, 001-9)."""

from collections.abc import Iterator
from typing import Any, NamedTuple

import torch
from torch import Tensor

from allmlp.models.masked_mixing import Mixing

W = ((2, 1, 1), (1, 1, 4), (1, 3, 1))  # the paper's weights: a column per output token; ours have a row
PRINTED_MASKED = ((2, 1, 1), (0, 1, 4), (0, 0, 1))
PRINTED_OUTPUT = ((2, 0, 0), (1, 1, 0), (1, 4, 1))  # row t: the factors of x_0, x_1, x_2 in output t
FORMS: dict[str, dict[str, Any]] = {
    "flat": {},
    "expansion 2": {"expansion": 2.0},
    "expansion 1/2": {"expansion": 0.5},
    "2 parallel": {"parallel": 2},
    "kernel 4": {"kernel": 4},
    "2 heads": {"n_heads": 2},
}
CONTEXT, FEATURES = 32, 8


class Used(NamedTuple):
    """One expanded mixing: hidden units, those that act, its inputs, those without influence, and weights."""

    hidden: int
    hidden_used: int
    inputs: int
    inputs_lost: int
    weights: int
    weights_used: int


def example() -> dict[str, float]:
    """Largest difference of our masked weights, and of their output for three tokens, from the printed matrices."""
    mixing = Mixing(2, 3, bias=False).double()
    weight = mixing.layers[0].get_parameter("weight")
    with torch.no_grad():
        weight.copy_(torch.tensor(W, dtype=torch.float64).T.expand_as(weight))
        basis_BTD = torch.eye(3, dtype=torch.float64)[:, :, None].expand(3, 3, 2)  # row b: token b is 1, the others 0
        output_tb = mixing(basis_BTD)[..., 0].T
        x_TD = torch.tensor([[3.0, -1.0], [5.0, 2.0], [-7.0, 11.0]], dtype=torch.float64)
        mixed_TD = mixing(x_TD[None])[0]
    printed_tb = torch.tensor(PRINTED_OUTPUT, dtype=torch.float64)
    return {
        "masked weights": _largest(output_tb.T - torch.tensor(PRINTED_MASKED, dtype=torch.float64)),
        "output": _largest(mixed_TD - printed_tb @ x_TD),
    }


def future(options: dict[str, Any]) -> float:
    """float64: largest change of outputs up to a position when all later tokens change, over all positions."""
    mixing, x_BTD = _random(options)
    before_BTD = mixing(x_BTD)
    changes = []
    for t in range(CONTEXT - 1):
        other_BTD = x_BTD.clone()
        other_BTD[:, t + 1 :] = torch.randn(other_BTD[:, t + 1 :].shape, generator=_generator(t), dtype=torch.float64)
        changes.append(_largest((mixing(other_BTD) - before_BTD)[:, : t + 1]))
    return max(changes)


def masked_gradients(options: dict[str, Any]) -> float:
    """float64: the largest gradient of a weight above the diagonal, from a sum that every output takes part in."""
    mixing, x_BTD = _random(options)
    mixing(x_BTD).square().sum().backward()
    return max(_largest(gradient.triu(1)) for gradient in _gradients(mixing))


def used(expansion: float, context: int = CONTEXT) -> Used:
    """The parts of an expanded mixing that act, with nonzero gradients at random weights and inputs."""
    mixing, x_BTD = _random({"expansion": expansion}, context)
    x_BTD.requires_grad_()
    mixing(x_BTD).square().sum().backward()
    first, second = (gradient[0, 0, 0] for gradient in _gradients(mixing))  # (H, T) and (T, H)
    assert x_BTD.grad is not None
    acting_H = (second != 0).any(0)
    return Used(
        hidden=len(first),
        hidden_used=int(acting_H.sum()),
        inputs=context,
        inputs_lost=int((x_BTD.grad == 0).all(2).all(0).sum()),
        weights=first.numel() + second.numel(),
        weights_used=int((first != 0).sum() + (second != 0).sum()),
    )


def _gradients(mixing: Mixing) -> Iterator[Tensor]:
    for layer in mixing.layers:
        gradient = layer.get_parameter("weight").grad
        assert gradient is not None
        yield gradient


def _random(options: dict[str, Any], context: int = CONTEXT) -> tuple[Mixing, Tensor]:
    torch.manual_seed(0)
    mixing = Mixing(FEATURES, context, **options).double()
    for weight in mixing.parameters():  # of size 1, so that no nonzero gradient is too small to detect
        torch.nn.init.normal_(weight, std=1.0)
    return mixing, torch.randn(2, context, FEATURES, generator=_generator(0), dtype=torch.float64)


def _generator(seed: int) -> torch.Generator:
    return torch.Generator().manual_seed(seed)


def _largest(x: Tensor) -> float:
    return x.abs().max().item()
