"""Does a triangular mask agree with the paper's worked example, in every form of mixing? In float64 (001-1)."""

from collections.abc import Iterator
from typing import Any

import pandas as pd
import torch
from torch import Tensor

from allmlp.columns import exact
from allmlp.models.masked_mixing import Mixing

RECIPE = 1
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

COLUMNS = {
    "form": exact("form of the mixing; the worked example has three tokens and one filter per token"),
    "property": exact("masked weights and output against the printed ones, future, gradients of masked weights"),
    "difference_1": exact("largest difference, change or gradient; 0 where the property holds"),
}


def measure() -> pd.DataFrame:
    """One row per form and property."""
    rows = [("worked example", name, difference) for name, difference in example().items()]
    for form, options in FORMS.items():
        rows.append((form, "future", future(options)))
        rows.append((form, "gradients of masked weights", masked_gradients(options)))
    return pd.DataFrame(rows, columns=list(COLUMNS))


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
    mixing, x_BTD = random_mixing(options)
    before_BTD = mixing(x_BTD)
    changes = []
    for t in range(CONTEXT - 1):
        other_BTD = x_BTD.clone()
        other_BTD[:, t + 1 :] = torch.randn(other_BTD[:, t + 1 :].shape, generator=_generator(t), dtype=torch.float64)
        changes.append(_largest((mixing(other_BTD) - before_BTD)[:, : t + 1]))
    return max(changes)


def masked_gradients(options: dict[str, Any]) -> float:
    """float64: the largest gradient of a weight above the diagonal, from a sum that every output takes part in."""
    mixing, x_BTD = random_mixing(options)
    mixing(x_BTD).square().sum().backward()
    return max(_largest(gradient.triu(1)) for gradient in gradients(mixing))


def gradients(mixing: Mixing) -> Iterator[Tensor]:
    """Of the weights of each layer."""
    for layer in mixing.layers:
        gradient = layer.get_parameter("weight").grad
        assert gradient is not None
        yield gradient


def random_mixing(options: dict[str, Any], context: int = CONTEXT) -> tuple[Mixing, Tensor]:
    """A mixing with random weights, and an input (2, T, D), in float64."""
    torch.manual_seed(0)
    mixing = Mixing(FEATURES, context, **options).double()
    for weight in mixing.parameters():  # of size 1, so that no nonzero gradient is too small to detect
        torch.nn.init.normal_(weight, std=1.0)
    return mixing, torch.randn(2, context, FEATURES, generator=_generator(0), dtype=torch.float64)


def _generator(seed: int) -> torch.Generator:
    return torch.Generator().manual_seed(seed)


def _largest(x: Tensor) -> float:
    return x.abs().max().item()
