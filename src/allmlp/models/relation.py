"""The reduction of causal relation networks: a sum over pairs of a token and an earlier token (002, eq. 4).

The general sum is quadratic in the length; `linear_relation` has the sums that factorise (eq. 5). Names: p_i comes from
the earlier token i, q_j from the current token j; T positions, B sequences, D features.
"""

import math
from collections.abc import Iterator
from importlib.util import find_spec
from types import ModuleType
from typing import Any

import torch
from torch import Tensor
from torch.utils.flop_counter import register_flop_formula

from allmlp.models.vmap import fold_seeds, unfold_seeds

ACTIVATIONS = ("exp", "relu", "elu")
HAS_KERNELS = find_spec("triton") is not None and find_spec(f"{__package__}.relation_triton") is not None

# Element-wise operations per pair and feature in the forward pass: add, scale, activate, accumulate. Forward
# and backward together count three times as much, as they do for matrix products: the backward pass makes the
# argument and its activation again (3) and multiplies, projects and accumulates twice (5).
FLOPS_PER_PAIR_AND_FEATURE = 4

LOG2_E = math.log2(math.e)
BLOCK = 2**18  # numbers in a buffer of pairs: 1 MB in single precision, which the caches hold


def causal_relation_sum(p_BTD: Tensor, q_BTD: Tensor, activation: str, pre_norm: str, eps: float) -> Tensor:
    """y_j = sum_{i<=j} activation(norm(p_i + q_j)): (B, T, D), (B, T, D) -> (B, T, D), not divided by j.

    norm is LN0 over the D features for pre_norm "exact", absent for "none"; no other value is allowed. Pairs with
    i > j are never formed, so no fill value can leak through an activation. No (T, T, D) array is held: memory is
    O(B T D + B T^2). The backward pass keeps O(B T D) of it and computes the pairs again.
    On a GPU, in single precision, with triton installed, the kernels of `relation_triton` do the same.
    """
    exact = pre_norm == "exact"
    if p_BTD.dtype in (torch.bfloat16, torch.float16):
        p_BTD, q_BTD = p_BTD.float(), q_BTD.float()
    if exact:  # LN0 of a sum is the sum of the centred parts over its root mean square
        p_BTD = p_BTD - p_BTD.mean(-1, keepdim=True)
        q_BTD = q_BTD - q_BTD.mean(-1, keepdim=True)
    p_TBD, q_TBD = p_BTD.transpose(0, 1).contiguous(), q_BTD.transpose(0, 1).contiguous()
    return _pairs_sum(p_TBD, q_TBD, activation, exact, float(eps)).transpose(0, 1)


@torch.library.custom_op("allmlp::causal_relation", mutates_args=())
def _pairs_sum(p_TBD: Tensor, q_TBD: Tensor, activation: str, exact: bool, eps: float) -> Tensor:
    """Block by block of earlier tokens, each with one current token at a time: a few passes over the same memory."""
    if _can_use_kernels(p_TBD):
        return _kernels().pairs_sum(p_TBD, q_TBD, activation, exact, eps)
    r_jiB1 = _inverse_rms(p_TBD, q_TBD, eps) if exact else None
    y_TBD = torch.zeros_like(q_TBD)
    p_TBD, q_TBD = _scale_to_log2(activation, p_TBD, q_TBD)
    z_memory, below_memory = _block(p_TBD), _block(p_TBD)
    for i, length, q_BD, r_iB1, y_BD in _spans(p_TBD, q_TBD, r_jiB1, y_TBD):
        z_iBD = _arguments(p_TBD.narrow(0, i, length), q_BD, r_iB1, z_memory.narrow(0, 0, length))
        if activation == "elu":  # exp(min(z, 0)) + max(z, 0) - 1
            below_iBD = torch.clamp(z_iBD, max=0, out=below_memory.narrow(0, 0, length)).exp2_()
            y_BD += below_iBD.add_(z_iBD.relu_(), alpha=1 / LOG2_E).sum(0).sub_(length)
        else:
            y_BD += (z_iBD.exp2_() if activation == "exp" else z_iBD.relu_()).sum(0)
    return y_TBD


@torch.library.custom_op("allmlp::causal_relation_gradients", mutates_args=())
def _pairs_gradients(
    g_TBD: Tensor, p_TBD: Tensor, q_TBD: Tensor, activation: str, exact: bool, eps: float
) -> tuple[Tensor, Tensor]:
    """With z = r s, s = p_i + q_j: ds = r (dz - z mean(dz z)); the second term sums as matrix products."""
    if _can_use_kernels(p_TBD):
        return _kernels().pairs_gradients(g_TBD, p_TBD, q_TBD, activation, exact, eps)
    T, B, D = p_TBD.shape
    r_jiB1 = _inverse_rms(p_TBD, q_TBD, eps) if exact else None
    along_jiB = p_TBD.new_zeros(T, T, B)
    scaled_p_TBD, scaled_q_TBD = _scale_to_log2(activation, p_TBD, q_TBD)
    dp_TBD, dq_TBD = torch.zeros_like(p_TBD), torch.zeros_like(q_TBD)
    z_memory, dz_memory = _block(p_TBD), _block(p_TBD)
    for i, length, q_BD, r_iB1, g_BD, along_iB, dq_BD in _spans(p_TBD, scaled_q_TBD, r_jiB1, g_TBD, along_jiB, dq_TBD):
        z_iBD = _arguments(scaled_p_TBD.narrow(0, i, length), q_BD, r_iB1, z_memory.narrow(0, 0, length))
        dz_iBD = _slope(z_iBD, activation, dz_memory.narrow(0, 0, length)).mul_(g_BD)
        if r_iB1 is not None:
            torch.sum(z_iBD.mul_(dz_iBD), -1, out=along_iB.narrow(0, i, length))
            dz_iBD.mul_(r_iB1)
        dp_TBD.narrow(0, i, length).add_(dz_iBD)
        dq_BD += dz_iBD.sum(0)
    if r_jiB1 is not None:
        along_jiB.mul_(r_jiB1[..., 0].square_()).div_(D if activation == "relu" else D * LOG2_E)
        dp_TBD -= p_TBD * along_jiB.sum(0)[..., None] + torch.einsum("jib,jbd->ibd", along_jiB, q_TBD)
        dq_TBD -= q_TBD * along_jiB.sum(1)[..., None] + torch.einsum("jib,ibd->jbd", along_jiB, p_TBD)
    return dp_TBD, dq_TBD


def _rows(p_TBD: Tensor) -> int:
    """Earlier tokens in a block."""
    T, B, D = p_TBD.shape
    return min(T, max(1, BLOCK // (B * D)))


def _block(p_TBD: Tensor) -> Tensor:
    return torch.empty_like(p_TBD[: _rows(p_TBD)])


def _spans(p_TBD: Tensor, q_TBD: Tensor, r_jiB1: Tensor | None, *others: Tensor) -> Iterator[tuple[Any, ...]]:
    """Each block of earlier tokens with each current token j after its start.

    (start, length, q_j, r of the block's pairs with j, then the entries of `others` for j).
    """
    T, rows = p_TBD.shape[0], _rows(p_TBD)
    factors = [None] * T if r_jiB1 is None else r_jiB1.unbind()
    current = list(zip(q_TBD.unbind(), factors, *(other.unbind() for other in others), strict=True))
    for start in range(0, T, rows):
        for j in range(start, T):
            length = min(rows, j + 1 - start)
            q_BD, r_iB1, *rest = current[j]
            yield start, length, q_BD, r_iB1 if r_iB1 is None else r_iB1.narrow(0, start, length), *rest


def _can_use_kernels(x: Tensor) -> bool:
    return HAS_KERNELS and x.is_cuda and x.dtype == torch.float32


def _kernels() -> ModuleType:
    from allmlp.models import relation_triton  # imports triton, which not every machine has

    return relation_triton


def _scale_to_log2(activation: str, p_TBD: Tensor, q_TBD: Tensor) -> tuple[Tensor, Tensor]:
    """Both times log2(e), so that exp(z) is a power of two: torch.exp2 takes half the time of torch.exp (AVX2)."""
    return (p_TBD, q_TBD) if activation == "relu" else (p_TBD * LOG2_E, q_TBD * LOG2_E)


def _inverse_rms(p_TBD: Tensor, q_TBD: Tensor, eps: float) -> Tensor:
    """1 / sqrt(mean_d (p_i + q_j)^2 + eps), 0 above the diagonal: (T_j, T_i, B, 1), from one matrix product."""
    p_BiD, q_BjD = p_TBD.transpose(0, 1), q_TBD.transpose(0, 1)
    squares_Bji = q_BjD.square().sum(-1)[:, :, None] + p_BiD.square().sum(-1)[:, None]
    squares_Bji = squares_Bji.baddbmm_(q_BjD, p_BiD.mT, alpha=2).clamp_(min=0)
    r_Bji = squares_Bji.div_(p_TBD.shape[-1]).add_(eps).rsqrt_().tril_()
    return r_Bji.permute(1, 2, 0).contiguous()[..., None]


def _arguments(p_iBD: Tensor, q_BD: Tensor, r_iB1: Tensor | None, out: Tensor) -> Tensor:
    """norm(p_i + q_j) of one current token with a block of earlier ones."""
    z_iBD = torch.add(p_iBD, q_BD, out=out)
    return z_iBD if r_iB1 is None else z_iBD.mul_(r_iB1)


def _slope(z: Tensor, activation: str, out: Tensor) -> Tensor:
    """The activation's derivative at z, which is in units of log2(e) but for relu."""
    if activation == "exp":
        return torch.exp2(z, out=out)
    return torch.gt(z, 0, out=out) if activation == "relu" else torch.clamp(z, max=0, out=out).exp2_()


@_pairs_sum.register_fake
def _(p_TBD: Tensor, q_TBD: Tensor, activation: str, exact: bool, eps: float) -> Tensor:
    return torch.empty_like(q_TBD)


@_pairs_gradients.register_fake
def _(g_TBD: Tensor, p_TBD: Tensor, q_TBD: Tensor, activation: str, exact: bool, eps: float) -> tuple[Tensor, Tensor]:
    return torch.empty_like(p_TBD), torch.empty_like(q_TBD)


def _save(ctx, inputs, output) -> None:  # type: ignore[no-untyped-def]
    ctx.save_for_backward(*inputs[:2])
    ctx.options = inputs[2:]


def _backward(ctx, g_TBD: Tensor):  # type: ignore[no-untyped-def]
    dp, dq = _pairs_gradients(g_TBD.contiguous(), *ctx.saved_tensors, *ctx.options)
    return dp, dq, None, None, None


_pairs_sum.register_autograd(_backward, setup_context=_save)


@_pairs_sum.register_vmap
def _vmap_rule(info, in_dims, p, q, *options):  # type: ignore[no-untyped-def]
    """Seeds are sequences."""
    N = info.batch_size
    # of one sequence each they would be a view, which the kernels cannot read
    p_TBD, q_TBD = (fold_seeds(x, N, dim, 1).contiguous() for x, dim in zip((p, q), in_dims[:2], strict=True))
    return unfold_seeds(_pairs_sum(p_TBD, q_TBD, *options), N, 1)


for _device in ("cpu", "cuda"):
    _pairs_sum.register_autocast(_device, torch.float32)


@register_flop_formula(torch.ops.allmlp.causal_relation_gradients)
def _backward_flops(g_shape, p_shape, q_shape, *_, **__) -> int:  # type: ignore[no-untyped-def]
    """Twice the forward pass, as for matrix products."""
    return 2 * _flops(p_shape, q_shape)


@register_flop_formula(torch.ops.allmlp.causal_relation)
def _flops(p_shape, q_shape, *_, **__) -> int:  # type: ignore[no-untyped-def]
    """n (n + 1) / 2 pairs of D features, and the (n, n) product that gives their norms."""
    T, B, D = p_shape
    return B * (T * (T + 1) // 2 * D * FLOPS_PER_PAIR_AND_FEATURE + 2 * T * T * D)
