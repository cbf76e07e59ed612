"""Cross-entropy in nats from logits, or from hidden states without holding all logits."""

from typing import Any

import torch
import torch.nn.functional as F
from torch import Tensor, nn

from allmlp.models.base import SequenceModel
from allmlp.tasks.task import IGNORED, Batch, Task

AT_ONCE = {"cpu": 1 << 24, "cuda": 1 << 28}  # logits that are held at a time
TYPES_AT_ONCE = 1024  # of one product on a CPU: a wide product with a transposed weight runs at two thirds of its rate


def cross_entropy(logits: Tensor, targets: Tensor, dtype: torch.dtype) -> Tensor:
    """Mean cross-entropy in nats over supervised targets; logits (..., V), targets (...) with -1 where unsupervised."""
    return F.cross_entropy(logits.flatten(0, -2).to(dtype), targets.flatten(), ignore_index=IGNORED)


class Loss(nn.Module):
    """The loss of a model on a task: a batch -> (mean cross-entropy in nats, logits).

    A task that reads no logits gets None in their place, and they are never held all at once. Its model has an
    `unembedding`, a linear layer without bias on the output of `hidden`. Only the model in training is compiled: the
    last held-out batch has another size.
    """

    def __init__(self, model: SequenceModel, task: Task, dtype: torch.dtype, compiled: bool = False) -> None:
        super().__init__()
        self.model, self.dtype, self.reads_logits = model, dtype, task.reads_logits
        plain = model if task.reads_logits else model.hidden
        self._bodies = (plain, torch.compile(plain) if compiled else plain)  # a tuple: the model is registered once

    def forward(self, batch: Batch) -> tuple[Tensor, Tensor | None]:
        out = self._bodies[self.model.training](batch.tokens)
        if self.reads_logits:
            return cross_entropy(out, batch.targets, self.dtype), out
        weight = self.model.get_parameter("unembedding.weight")
        return linear_cross_entropy(out, weight, batch.targets, self.dtype), None


def linear_cross_entropy(hidden: Tensor, weight_VD: Tensor, targets: Tensor, dtype: torch.dtype) -> Tensor:
    """`cross_entropy(hidden @ weight_VD.T, targets, dtype)`, without holding all logits: AT_ONCE of them at most.

    hidden (..., D), targets (...) with -1 where unsupervised. The forward pass also takes the gradients, by the
    same three products as the plain form. Only they are kept for backward, as many numbers as `hidden` and
    `weight_VD`. Products have autocast's type where it is on, else that of `hidden`; the softmax has `dtype`.
    """
    kind, product = hidden.device.type, hidden.dtype
    if torch.is_autocast_enabled(kind):
        product = torch.get_autocast_dtype(kind)
    return _LinearCrossEntropy.apply(hidden.flatten(0, -2).to(product), weight_VD, targets.flatten(), dtype)


def _even_pieces(count: int, most: int) -> list[slice]:
    """Slices of 0 .. count: as few and as equal as possible, with `most` (at least 1) in each."""
    pieces = -(-count // max(1, most))
    size = -(-count // max(1, pieces))
    return [slice(start, start + size) for start in range(0, count, max(1, size))]


def _logits(piece_RD: Tensor, weight_VD: Tensor) -> Tensor:
    if piece_RD.device.type != "cpu":
        return piece_RD @ weight_VD.T
    logits_RV = piece_RD.new_empty(len(piece_RD), len(weight_VD))
    for start in range(0, len(weight_VD), TYPES_AT_ONCE):
        types = slice(start, start + TYPES_AT_ONCE)
        torch.mm(piece_RD, weight_VD[types].T, out=logits_RV[:, types])
    return logits_RV


class _LinearCrossEntropy(torch.autograd.Function):
    @staticmethod
    def forward(ctx: Any, hidden_ND: Tensor, weight_VD: Tensor, targets_N: Tensor, dtype: torch.dtype) -> Tensor:
        product_VD = weight_VD.to(hidden_ND.dtype)
        total = torch.zeros((), dtype=dtype, device=hidden_ND.device)
        grad_hidden_ND, grad_weight_VD = torch.empty_like(hidden_ND), torch.zeros_like(weight_VD)
        for rows in _even_pieces(len(hidden_ND), AT_ONCE[hidden_ND.device.type] // len(weight_VD)):
            piece_RD, answers_R = hidden_ND[rows], targets_N[rows]
            log_p_RV = torch.log_softmax(_logits(piece_RD, product_VD).to(dtype), dim=1)
            total += F.nll_loss(log_p_RV, answers_R, ignore_index=IGNORED, reduction="sum")
            if any(ctx.needs_input_grad):
                slope_RV = _slope(log_p_RV, answers_R).to(hidden_ND.dtype)
                grad_hidden_ND[rows] = slope_RV @ product_VD
                _add_product(grad_weight_VD, slope_RV.T, piece_RD)
        count = (targets_N != IGNORED).sum()
        ctx.save_for_backward(grad_hidden_ND, grad_weight_VD, count)
        return total / count

    @staticmethod
    def backward(ctx: Any, *grads: Tensor) -> tuple[Tensor, Tensor, None, None]:
        grad_hidden_ND, grad_weight_VD, count = ctx.saved_tensors
        scale = grads[0] / count
        return grad_hidden_ND * scale, grad_weight_VD * scale, None, None


def _slope(log_p_RV: Tensor, answers_R: Tensor) -> Tensor:
    """d loss / d logits of each row, in the memory of `log_p_RV`: p less 1 at the answer, 0 where unsupervised."""
    supervised_R1 = (answers_R != IGNORED)[:, None]
    slope_RV = log_p_RV.exp_()
    minus_R1 = torch.full_like(supervised_R1, -1, dtype=slope_RV.dtype)
    slope_RV.scatter_add_(1, answers_R.clamp(min=0)[:, None], minus_R1)
    return slope_RV if supervised_R1.all() else slope_RV.mul_(supervised_R1)


def _add_product(sum_VD: Tensor, left_VR: Tensor, right_RD: Tensor) -> None:
    """sum += left @ right; half precision is accumulated in the type of the sum."""
    if sum_VD.dtype == right_RD.dtype:
        sum_VD.addmm_(left_VR, right_RD)
    else:
        sum_VD += left_VR @ right_RD
