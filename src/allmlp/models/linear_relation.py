"""Causal relation sums that factorise, in time linear in the length (002, eq. 5, App. A).

With exp and no exact normalisation, sum_{i<=j} exp(p_i + q_j) = exp(q_j + L_j), where L_j = log sum_{i<=j} exp(p_i).
Names: p_i comes from the earlier token i, q_j from the current token j; T positions, B sequences, D features.
"""

import torch
from torch import Tensor

from allmlp.models.layers import to_float32
from allmlp.models.vmap import fold_seeds, unfold_seeds

CHUNK = 16  # positions taken one after the other, in all chunks at once; then the chunks' sums, in the same way


def linear_causal_relation_sum(p_BTD: Tensor, q_BTD: Tensor, bounded: bool) -> Tensor:
    """sum_{i<=j} exp(p_i + q_j), each position divided by its largest feature, in O(T) (002, eq. 5, App. A).

    s_j = q_j + L_j, then exp(s_j - max over features): the factor per position does not outlive the
    post-reduction norm, so nothing overflows and nothing changes (002-6; exact as far as that norm's eps is 0).
    `bounded`: p has passed LN0, so |p| < sqrt(D) and the plain sum cannot overflow; otherwise `log_sums`.
    Half precision, in which either could, is taken in single precision. Appendix A also subtracts the running
    maximum of L and adds it back; as L never falls, that is the identity and left out here.
    """
    p_BTD, q_BTD = to_float32(p_BTD, q_BTD)
    log_sums_BTD = p_BTD.exp().cumsum(1).log() if bounded else log_sums(p_BTD)
    return exp_over_largest(q_BTD + log_sums_BTD)


def exp_over_largest(s: Tensor) -> Tensor:
    """exp(s) divided by its largest feature (last axis); the divisor counts as a constant (002 App. A)."""
    return torch.exp(s - s.detach().amax(-1, keepdim=True))


def log_sums(p_BTD: Tensor) -> Tensor:
    """L_j = log sum_{i<=j} exp(p_i) for p of any size: (B, T, D) -> (B, T, D), in O(T).

    As `torch.logcumsumexp`, in a third to an eighth of its time on a CPU (benchmarks/linear_relation.py); on a GPU
    that function is the forward pass. Exponentials are relative to the largest so far, never to a later one: no
    relevant term underflows, and no later token alters a bit.
    """
    return _log_sums(*to_float32(p_BTD))


@torch.library.custom_op("allmlp::log_sums", mutates_args=())
def _log_sums(p_BTD: Tensor) -> Tensor:
    return torch.logcumsumexp(p_BTD, dim=1) if p_BTD.is_cuda else _scan(p_BTD)


def _scan(p_BTD: Tensor) -> Tensor:
    """Sums of each chunk, their scan, then position by position in all chunks at once."""
    T = p_BTD.shape[1]
    sums_BTD, earlier = torch.empty_like(p_BTD), (T - 1) // CHUNK  # chunks that another follows
    sums_BTD[:, 0] = p_BTD[:, 0]
    if earlier:
        chunks_BKCD = p_BTD[:, : earlier * CHUNK].unflatten(1, (earlier, CHUNK))
        before_BKD = _scan(chunks_BKCD.logsumexp(2))
        torch.logaddexp(before_BKD, p_BTD[:, CHUNK::CHUNK], out=sums_BTD[:, CHUNK::CHUNK])
    for k in range(1, min(CHUNK, T)):
        here_BKD = p_BTD[:, k::CHUNK]
        so_far_BKD = sums_BTD[:, k - 1 :: CHUNK].narrow(1, 0, here_BKD.shape[1])
        torch.logaddexp(so_far_BKD, here_BKD, out=sums_BTD[:, k::CHUNK])
    return sums_BTD


@torch.library.custom_op("allmlp::log_sums_gradient", mutates_args=())
def _gradient(g_BTD: Tensor, p_BTD: Tensor, sums_BTD: Tensor) -> Tensor:
    """dp_i = exp(p_i - L_i) h_i, h_i = sum_{j>=i} g_j exp(L_i - L_j): no exponent is above 0."""
    return (p_BTD - sums_BTD).exp_().mul_(_decayed_sums(g_BTD, sums_BTD))


def _decayed_sums(g_BTD: Tensor, sums_BTD: Tensor) -> Tensor:
    """h_i = g_i + exp(L_i - L_{i+1}) h_{i+1}: within each chunk, then over the chunks after it."""
    T = g_BTD.shape[1]
    h_BTD, later = g_BTD.clone(), (T - 1) // CHUNK
    decays_BTD = (sums_BTD[:, :-1] - sums_BTD[:, 1:]).exp_()
    for k in reversed(range(min(CHUNK, T) - 1)):
        next_BKD = h_BTD[:, k + 1 :: CHUNK]
        here_BKD, decay_BKD = (x[:, k::CHUNK].narrow(1, 0, next_BKD.shape[1]) for x in (h_BTD, decays_BTD))
        here_BKD.addcmul_(decay_BKD, next_BKD)
    if later:
        starts_BKD = sums_BTD[:, CHUNK::CHUNK]
        after_BKD = _decayed_sums(h_BTD[:, CHUNK::CHUNK], starts_BKD)
        h_BKCD, sums_BKCD = (x[:, : later * CHUNK].unflatten(1, (later, CHUNK)) for x in (h_BTD, sums_BTD))
        h_BKCD.addcmul_((sums_BKCD - starts_BKD[:, :, None]).exp_(), after_BKD[:, :, None])
    return h_BTD


@_log_sums.register_fake
def _(p_BTD: Tensor) -> Tensor:
    return torch.empty_like(p_BTD)


@_gradient.register_fake
def _(g_BTD: Tensor, p_BTD: Tensor, sums_BTD: Tensor) -> Tensor:
    return torch.empty_like(p_BTD)


def _save(ctx, inputs, output) -> None:  # type: ignore[no-untyped-def]
    ctx.save_for_backward(*inputs, output)


def _backward(ctx, g_BTD: Tensor) -> Tensor:  # type: ignore[no-untyped-def]
    return _gradient(g_BTD, *ctx.saved_tensors)


_log_sums.register_autograd(_backward, setup_context=_save)


@_log_sums.register_vmap
def _vmap_rule(info, in_dims, p):  # type: ignore[no-untyped-def]
    """Seeds are sequences."""
    return unfold_seeds(_log_sums(fold_seeds(p, info.batch_size, in_dims[0], 0)), info.batch_size, 0)
