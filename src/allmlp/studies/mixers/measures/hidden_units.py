"""Which hidden units and inputs of an expanded mixing act under its triangular masks (001-9)."""

from typing import NamedTuple

import pandas as pd

from allmlp.columns import exact
from allmlp.studies.mixers.measures.masking import CONTEXT, gradients, random_mixing

RECIPE = 1
EXPANSIONS = (0.5, 0.75, 2.0, 4.0)

COLUMNS = {
    "expansion_1": exact("hidden units over tokens of the context"),
    "hidden": exact("hidden units"),
    "hidden_used": exact("those that influence an output"),
    "inputs": exact("tokens of the context"),
    "inputs_lost": exact("those that influence no output"),
    "weights": exact("weights of both layers"),
    "weights_used": exact("those that take part in an output"),
}


def measure() -> pd.DataFrame:
    """One row per expansion, at a context of 32."""
    rows = [(expansion, *used(expansion)) for expansion in EXPANSIONS]
    return pd.DataFrame(rows, columns=list(COLUMNS))


class Used(NamedTuple):
    """One expanded mixing: hidden units, those that act, its inputs, those without influence, and weights."""

    hidden: int
    hidden_used: int
    inputs: int
    inputs_lost: int
    weights: int
    weights_used: int


def used(expansion: float, context: int = CONTEXT) -> Used:
    """The parts of an expanded mixing that act, with nonzero gradients at random weights and inputs."""
    mixing, x_BTD = random_mixing({"expansion": expansion}, context)
    x_BTD.requires_grad_()
    mixing(x_BTD).square().sum().backward()
    first, second = (gradient[0, 0, 0] for gradient in gradients(mixing))  # (H, T) and (T, H)
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
