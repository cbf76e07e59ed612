"""Cross-entropy in nats from logits, or from hidden states without holding all logits."""

from typing import Any

import torch
import torch.nn.functional as F
from torch import Tensor, nn
from torch.autograd.function import once_differentiable

from allmlp.data.tasks.task import IGNORED, Batch, Task
from allmlp.models.base import LinearHead, SequenceModel
from allmlp.models.ragged import select_rows

AT_ONCE = {"cpu": 1 << 21, "cuda": 1 << 28}  # logits that are held at a time,
LEAST_ROWS = 256  # but at least of so many rows: a product with fewer waits for the weights
CACHING = ("cpu",)  # devices on which the caches decide how fast it is:
TYPES_AT_ONCE = 1024  # of one product: a wide one with a transposed weight runs at two thirds of its rate
IN_CACHE = 1 << 18  # logits whose softmax is taken at a time


def cross_entropy(logits: Tensor, targets: Tensor, dtype: torch.dtype) -> Tensor:
    """Mean cross-entropy in nats over supervised targets; logits (..., V), targets (...) with -1 where unsupervised."""
    return F.cross_entropy(logits.flatten(0, -2).to(dtype), targets.flatten(), ignore_index=IGNORED)


class Loss(nn.Module):
    """The loss of a model on a task: a batch -> (mean cross-entropy in nats, logits).

    A task that reads no logits gets None in their place. Of a model with a linear head they are then never held all at
    once, and only the positions that have a target, and those that they read, are computed. With `compiled`, training
    computes all positions, and held-out batches are not compiled: the last one has another size.
    """

    def __init__(self, model: SequenceModel, task: Task, dtype: torch.dtype, compiled: bool = False) -> None:
        super().__init__()
        self.model, self.dtype, self.reads_logits = model, dtype, task.reads_logits
        self.from_states = not task.reads_logits and model.linear_head() is not None
        # in a tuple, so that the model is registered once
        self._compiled = (torch.compile(model.hidden if self.from_states else model),) if compiled else ()

    def forward(self, batch: Batch) -> tuple[Tensor, Tensor | None]:
        tokens, targets = batch
        compiled = self._compiled if self.model.training else ()
        head = self.model.linear_head() if self.from_states else None
        if head is None:
            logits = compiled[0](tokens) if compiled else self.model(tokens)
            return cross_entropy(logits, targets, self.dtype), logits if self.reads_logits else None
        supervised = targets != IGNORED
        hidden_ND = (
            select_rows(compiled[0](tokens), supervised)
            if compiled
            else self.model.select_hidden_states(tokens, supervised)
        )
        return linear_cross_entropy(hidden_ND, head, targets[supervised], self.dtype), None


def linear_cross_entropy(hidden_ND: Tensor, head: LinearHead, targets_N: Tensor, dtype: torch.dtype) -> Tensor:
    """`cross_entropy(F.linear(hidden_ND, *head), targets_N, dtype)`, without holding all logits; 0 of no rows.

    The forward pass also takes the gradients, by the same three products as the plain form. Only they are kept for
    backward, as many numbers as `hidden_ND` and `head`, and it uses them up. Products have autocast's type where
    it is on, else that of `hidden_ND`; the softmax has `dtype`.
    """
    kind, product = hidden_ND.device.type, hidden_ND.dtype
    if torch.is_autocast_enabled(kind):
        product = torch.get_autocast_dtype(kind)
    if not torch.is_grad_enabled():  # which the forward pass itself cannot see
        hidden_ND, head = hidden_ND.detach(), LinearHead(*(None if one is None else one.detach() for one in head))  # type: ignore[arg-type]
    return _LinearCrossEntropy.apply(hidden_ND.to(product), *head, targets_N, dtype)


def _even_pieces(count: int, most: int) -> list[slice]:
    """Slices of 0 .. count: as few and as equal as possible, with `most` (at least 1) in each."""
    pieces = -(-count // max(1, most))
    size = -(-count // max(1, pieces))
    return [slice(start, start + size) for start in range(0, count, max(1, size))]


def _logits(piece_RD: Tensor, weight_VD: Tensor) -> Tensor:
    if piece_RD.device.type not in CACHING:
        return piece_RD @ weight_VD.T
    logits_RV = piece_RD.new_empty(len(piece_RD), len(weight_VD))
    for start in range(0, len(weight_VD), TYPES_AT_ONCE):
        types = slice(start, start + TYPES_AT_ONCE)
        torch.mm(piece_RD, weight_VD[types].T, out=logits_RV[:, types])
    return logits_RV


class _LinearCrossEntropy(torch.autograd.Function):
    @staticmethod
    def forward(
        ctx: Any,
        hidden_ND: Tensor,
        weight_VD: Tensor,
        bias_V: Tensor | None,
        targets_N: Tensor,
        dtype: torch.dtype,
    ) -> Tensor:
        product_VD = weight_VD.to(hidden_ND.dtype)
        total = hidden_ND.new_zeros((), dtype=dtype)
        grad_hidden_ND, grad_weight_VD = torch.empty_like(hidden_ND), torch.zeros_like(weight_VD)
        grad_bias_V = None if bias_V is None else torch.zeros_like(bias_V)
        for rows in _even_pieces(len(hidden_ND), max(LEAST_ROWS, AT_ONCE[hidden_ND.device.type] // len(weight_VD))):
            piece_RD = hidden_ND[rows]
            logits_RV = _logits(piece_RD, product_VD).to(dtype)
            if bias_V is not None:
                logits_RV += bias_V
            loss, slopes_RV = _loss_and_slopes(logits_RV, targets_N[rows])
            total += loss
            if any(ctx.needs_input_grad):
                if grad_bias_V is not None:
                    grad_bias_V += slopes_RV.sum(0)
                slopes_RV = slopes_RV.to(hidden_ND.dtype)
                torch.mm(slopes_RV, product_VD, out=grad_hidden_ND[rows])
                _add_product(grad_weight_VD, slopes_RV.T, piece_RD)
        ctx.save_for_backward(grad_hidden_ND, grad_weight_VD, grad_bias_V)
        return total / max(1, len(hidden_ND))

    @staticmethod
    @once_differentiable
    def backward(ctx: Any, *grads: Tensor) -> tuple[Tensor | None, ...]:
        scale = grads[0] / max(1, len(ctx.saved_tensors[0]))
        return *(None if found is None else found.mul_(scale) for found in ctx.saved_tensors), None, None


def _loss_and_slopes(logits_RV: Tensor, targets_R: Tensor) -> tuple[Tensor, Tensor]:
    """The summed cross-entropy, and d loss / d logits: the softmax, less 1 at the target. Uses the logits up."""
    targets_R1 = targets_R[:, None]
    minus_R1 = torch.full_like(targets_R1, -1, dtype=logits_RV.dtype)
    if logits_RV.device.type not in CACHING:
        log_p_RV = torch.log_softmax(logits_RV, 1)
        return F.nll_loss(log_p_RV, targets_R, reduction="sum"), log_p_RV.exp_().scatter_add_(1, targets_R1, minus_R1)
    total = logits_RV.new_zeros(())
    for rows in _even_pieces(len(logits_RV), IN_CACHE // logits_RV.shape[1]):
        piece_RV = logits_RV[rows]
        largest_R1, answer_R1 = piece_RV.amax(1, keepdim=True), piece_RV.gather(1, targets_R1[rows])
        sums_R1 = piece_RV.sub_(largest_R1).exp_().sum(1, keepdim=True)
        total += (sums_R1.log() + largest_R1 - answer_R1).sum()
        piece_RV.div_(sums_R1).scatter_add_(1, targets_R1[rows], minus_R1[rows])
    return total, logits_RV


def _add_product(sum_VD: Tensor, left_VR: Tensor, right_RD: Tensor) -> None:
    """sum += left @ right; half precision is accumulated in the type of the sum."""
    if sum_VD.dtype == right_RD.dtype:
        sum_VD.addmm_(left_VR, right_RD)
    else:
        sum_VD += left_VR @ right_RD
