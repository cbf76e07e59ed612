"""Do masks keep later tokens out of earlier outputs?"""

from collections.abc import Iterator
from typing import Any, NamedTuple

import pandas as pd
import torch
from torch import Tensor

from allmlp import models
from allmlp.data.tasks.documents import Documents
from allmlp.data.tasks.task import IGNORED, generator
from allmlp.models import audit as causality_audit
from allmlp.models.base import SequenceModel
from allmlp.models.masked_mixing import Mixing
from allmlp.spec.columns import Rows, exact, numeric
from allmlp.spec.measures import measure
from allmlp.spec.protocols import TrainedRun


@measure(
    recipe=1,
    architecture=exact("architecture, and the options it was audited with"),
    check=exact("what was looked for"),
    result=exact("pass, fail or not applicable"),
    position=exact("where it fails: the first prediction of the row that shows it; -1: the row's one or none"),
    source=exact("where it fails: the position that was altered; -1: other rows"),
    declared=exact("why the check is known to fail, for what is kept as published; else empty"),
    detail=exact("what was found, or why the check does not apply"),
)
def audit() -> Rows:
    """The causality audit of every architecture of the registry (001-1, 001-19, 001-27).

    One row per architecture and check, with fresh tiny weights; the run's weights are not used.
    """
    found = causality_audit.audit(models.REGISTRY)
    return pd.DataFrame([{name: getattr(finding, name) for name in audit.columns} for finding in found])


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


@measure(
    recipe=1,
    form=exact("form of the mixing; the worked example has three tokens and one filter per token"),
    property=exact("masked weights and output against the printed ones, future, gradients of masked weights"),
    difference_1=exact("largest difference, change or gradient; 0 where the property holds"),
)
def masking() -> Rows:
    """Does a triangular mask agree with the paper's worked example, in every form of mixing? In float64 (001-1).

    One row per form and property.
    """
    yield from (("worked example", name, difference) for name, difference in example().items())
    for form, options in FORMS.items():
        yield (form, "future", future(options))
        yield (form, "gradients of masked weights", masked_gradients(options))


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
        "masked weights": _largest_absolute(output_tb.T - torch.tensor(PRINTED_MASKED, dtype=torch.float64)),
        "output": _largest_absolute(mixed_TD - printed_tb @ x_TD),
    }


def future(options: dict[str, Any]) -> float:
    """float64: largest change of outputs up to a position when all later tokens change, over all positions."""
    mixing, x_BTD = random_mixing(options)
    before_BTD = mixing(x_BTD)
    changes = []
    for t in range(CONTEXT - 1):
        other_BTD = x_BTD.clone()
        other_BTD[:, t + 1 :] = torch.randn(other_BTD[:, t + 1 :].shape, generator=_generator(t), dtype=torch.float64)
        changes.append(_largest_absolute((mixing(other_BTD) - before_BTD)[:, : t + 1]))
    return max(changes)


def masked_gradients(options: dict[str, Any]) -> float:
    """float64: the largest gradient of a weight above the diagonal, from a sum that every output takes part in."""
    mixing, x_BTD = random_mixing(options)
    mixing(x_BTD).square().sum().backward()
    return max(_largest_absolute(gradient.triu(1)) for gradient in gradients(mixing))


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


def _largest_absolute(x: Tensor) -> float:
    return x.abs().max().item()


EXPANSIONS = (0.5, 0.75, 2.0, 4.0)


@measure(
    recipe=1,
    expansion_1=exact("hidden units over tokens of the context"),
    hidden=exact("hidden units"),
    hidden_used=exact("those that influence an output"),
    inputs=exact("tokens of the context"),
    inputs_lost=exact("those that influence no output"),
    weights=exact("weights of both layers"),
    weights_used=exact("those that take part in an output"),
)
def hidden_units() -> Rows:
    """Which hidden units and inputs of an expanded mixing act under its triangular masks (001-9).

    One row per expansion, at a context of 32.
    """
    return [(expansion, *count_used(expansion)) for expansion in EXPANSIONS]


class UsedUnits(NamedTuple):
    """One expanded mixing: hidden units, those that act, its inputs, those without influence, and weights."""

    hidden: int
    hidden_used: int
    inputs: int
    inputs_lost: int
    weights: int
    weights_used: int


def count_used(expansion: float, context: int = CONTEXT) -> UsedUnits:
    """The parts of an expanded mixing that act, with nonzero gradients at random weights and inputs."""
    mixing, x_BTD = random_mixing({"expansion": expansion}, context)
    x_BTD.requires_grad_()
    mixing(x_BTD).square().sum().backward()
    first, second = (gradient[0, 0, 0] for gradient in gradients(mixing))  # (H, T) and (T, H)
    assert x_BTD.grad is not None
    acting_H = (second != 0).any(0)
    return UsedUnits(
        hidden=len(first),
        hidden_used=int(acting_H.sum()),
        inputs=context,
        inputs_lost=int((x_BTD.grad == 0).all(2).all(0).sum()),
        weights=first.numel() + second.numel(),
        weights_used=int((first != 0).sum() + (second != 0).sum()),
    )


ROWS = 16  # held-out rows, those with the most padding
PLACES = 6  # positions per row after which all tokens are changed
SEED = 1


@measure(
    recipe=2,
    rows=exact("held-out rows looked at"),
    padded_rows=exact("those of them with padding"),
    changed_share_1=numeric("share of rows with a logit that changed with later tokens", rtol=0, atol=0.2),
    largest_change_1=numeric("largest change of a logit at a position before all changed tokens", rtol=0.5, atol=1e-9),
)
def leak(trained: TrainedRun) -> Rows:
    """How far a trained hybrid's logits move when later tokens change: exactly 0 for a causal model (001-19, E001-10).

    One row: in float64, on the held-out rows with the most padding.
    """
    task = trained.task()
    assert isinstance(task, Documents)
    tokens, targets = (torch.cat(parts) for parts in zip(*task.validation(), strict=True))
    most = (targets != IGNORED).sum(1).argsort(stable=True)[:ROWS]
    tokens, text = tokens[most], targets[most] != IGNORED
    changes = largest_changes(trained.model().double(), tokens, text, task.vocabulary, task.eod)
    share, largest = float((changes > 0).double().mean()), float(changes.max())
    return [(len(tokens), int((~text).any(1).sum()), share, largest)]


@torch.no_grad()
def largest_changes(model: SequenceModel, tokens_BT: Tensor, text_BT: Tensor, vocabulary: int, end: int) -> Tensor:
    """Per row, the largest change of a logit before a place where all later tokens of the text are replaced: (B,).

    text_BT: where a row has text. Padding is kept, because a text of another length is another text. The place is drawn
    within the text. Replaced tokens differ from the old ones and are never `end`, the token that pads.
    """
    rng, (B, T) = generator(SEED), tokens_BT.shape
    given, worst = model(tokens_BT), torch.zeros(B, dtype=torch.float64)
    position_T = torch.arange(T)
    first_B, last_B = text_BT.int().argmax(1), T - 1 - text_BT.flip(1).int().argmax(1)
    for _ in range(PLACES):
        share_B = torch.from_numpy(rng.random(B))
        place_B = first_B + 1 + (share_B * (last_B - first_B).clamp(min=1)).long()
        moves_BT = torch.from_numpy(rng.integers(1, vocabulary - 1, (B, T)))
        after_end_BT = (tokens_BT - end) % vocabulary  # the ids in a ring, counted from the end's: 0 is the end
        others_BT = (end + 1 + (after_end_BT - 1 + moves_BT) % (vocabulary - 1)) % vocabulary
        later_BT = text_BT & (position_T >= place_B[:, None])
        change_BT = (model(torch.where(later_BT, others_BT, tokens_BT)) - given).abs().amax(-1)
        before_BT = text_BT & (position_T < place_B[:, None])
        worst = torch.maximum(worst, change_BT.where(before_BT, 0.0).amax(1).double())
    return worst
