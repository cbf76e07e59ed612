"""The checks: a change of later tokens, padding or other rows of the batch must not alter a prediction.

Each check takes a `Subject`. It raises LeakError at the first offending position, or NotApplicableError where it does
not concern the model.
"""

from collections.abc import Callable
from typing import Any

import torch
from torch import Tensor

from allmlp.common.errors import UserError
from allmlp.models.audit.subject import TOLERANCE, Subject, has_changed, spaced_positions


class LeakError(Exception):
    """Raised by a check at the first offending position."""

    def __init__(self, detail: str, position: int = -1, source: int = -1) -> None:
        super().__init__(detail)
        self.position, self.source = position, source


class NotApplicableError(Exception):
    """Raised by a check that does not concern the model, with the reason."""


def later_tokens(subject: Subject) -> None:
    """No prediction changes with a later token."""
    _needs_causal(subject)
    _refuse_future_leak(subject, subject.rows(), first=1)


@torch.enable_grad()
def later_gradients(subject: Subject) -> None:
    """No prediction has a gradient at a later token's embedding."""
    _needs_causal(subject)
    embedded, logits = predict_from_embeddings(subject)
    weights_V = torch.randn(logits.shape[-1], dtype=logits.dtype, generator=torch.Generator().manual_seed(1))
    for position in spaced_positions(0, logits.shape[1] - 1):
        (gradient_BTD,) = torch.autograd.grad(logits[0, position] @ weights_V, embedded, retain_graph=True)
        size_T = gradient_BTD[0].abs().amax(-1)
        seen = ~(size_T[position + 1 :] <= TOLERANCE * size_T.max())
        if seen.any():
            source = position + 1 + _first_position(seen)
            raise LeakError(f"the prediction at {position} has a gradient at token {source}", position, source)


def left_padding(subject: Subject) -> None:
    """No prediction changes with a later token in rows that begin with padding."""
    _needs_causal(subject)
    _needs_padding(subject)
    T = subject.model.context
    for before in sorted({1, T // 4, T // 2, T - 2} & set(range(1, T))):
        try:
            _refuse_future_leak(subject, subject.pad_text(subject.rows(), before), first=before)
        except LeakError as leak:
            raise LeakError(f"after {before} of padding, {leak}", leak.position, leak.source) from None


def more_padding(subject: Subject) -> None:
    """More padding before a text alters none of its predictions, for a model with `pad`."""
    if subject.model.pad is None:
        raise NotApplicableError("it does not say that it ignores padding")
    T = subject.model.context
    text = subject.rows()[:, : max(1, T // 2)]
    known = subject.model(text)[0]
    for before in spaced_positions(1, T - text.shape[1] + 1):
        changed = has_changed(known, subject.model(subject.pad_text(text, before))[0, before:])
        if changed.any():
            position = _first_position(changed)
            raise LeakError(f"{before} of padding before the text alters its prediction at {position}", position)


def right_padding(subject: Subject) -> None:
    """Padding after a text alters none of its predictions."""
    _needs_causal(subject)
    _needs_padding(subject)
    T = subject.model.context
    for length in sorted({1, T // 2, T - 1} & set(range(1, T))):
        text = subject.rows()[:, :length]
        padded = text.new_full((1, T), subject.pad or 0)
        padded[:, :length] = text
        try:
            alone = subject.model(text)[0]
        except UserError as error:
            raise NotApplicableError("it reads full rows only") from error
        changed = has_changed(alone, subject.model(padded)[0, :length])
        if changed.any():
            position = _first_position(changed)
            raise LeakError(f"padding after {length} tokens alters the prediction at {position}", position, length)


def batch_neighbours(subject: Subject) -> None:
    """No prediction changes with the other rows of its batch, or without them."""
    rows, others = subject.rows(4, seed=2), subject.rows(4, seed=3)
    known = subject.model(rows)
    for row in range(len(rows)):
        changed = others.clone()
        changed[row] = rows[row]
        for what, again in (("change with", changed), ("need", rows[row : row + 1])):
            found = subject.model(again)[row if len(again) > 1 else 0]
            seen = has_changed(known[row], found)
            if seen.any():
                position = _first_position(seen) if seen.ndim else -1
                raise LeakError(f"predictions of a row {what} the other rows of its batch", position)


def input_dependence(subject: Subject) -> None:
    """Every input of a row alters a prediction of that row."""
    rows = subject.rows(3, seed=4)
    known = subject.model(rows)[0]
    for source in spaced_positions(0, rows.shape[1]):
        if not has_changed(known, subject.model(subject.alter_token(rows, source))[0]).any():
            raise LeakError(f"no prediction of a row changes with its input {source}", source=source)


CHECKS: dict[str, Callable[[Subject], None]] = {
    "later tokens": later_tokens,
    "later gradients": later_gradients,
    "left padding": left_padding,
    "more padding": more_padding,
    "right padding": right_padding,
    "batch neighbours": batch_neighbours,
    "inputs matter": input_dependence,
}


def predict_from_embeddings(subject: Subject) -> tuple[Tensor, Tensor]:
    """Token embeddings of one row, as a leaf, and the predictions (1, T, V) that follow from it."""
    name = subject.model.EMBEDDINGS.get("token_embedding", "").rpartition(".")[0]
    leaves: list[Tensor] = []

    def as_leaf(module: torch.nn.Module, given: Any, embedded: Tensor) -> Tensor:
        leaves.append(embedded.detach().requires_grad_())
        return leaves[-1]

    hook = subject.model.get_submodule(name).register_forward_hook(as_leaf)
    try:
        logits = subject.model(subject.rows())
    finally:
        hook.remove()
    if len(leaves) != 1:
        raise NotApplicableError("its tokens are not embedded by one module")
    return leaves[0], logits


def _refuse_future_leak(subject: Subject, row: Tensor, first: int) -> None:
    """Alter tokens `first` and later of a row, one at a time: no earlier prediction may change."""
    known = subject.model(row)[0]
    for source in spaced_positions(max(1, first), row.shape[1]):
        seen = has_changed(known, subject.model(subject.alter_token(row, source))[0])[:source]
        if seen.any():
            position = _first_position(seen)
            raise LeakError(f"the prediction at {position} changes with token {source}", position, source)


def _needs_causal(subject: Subject) -> None:
    if not subject.model.causal:
        raise NotApplicableError("it does not say that it is causal")


def _needs_padding(subject: Subject) -> None:
    if subject.pad is None:
        raise NotApplicableError("it was built without a padding token")


def _first_position(where: Tensor) -> int:
    return int(where.nonzero()[0, 0])
