"""Products that mix tokens, y_t = sum over s of W[t, s] x_s, in blocks that leave out the upper triangle.

Names: B sequences, S tokens read, T tokens made, H heads of F features, K taps over the features.
"""

from collections.abc import Iterator

import torch
from torch import Tensor
from torch.nn import functional as F
from torch.utils.flop_counter import register_flop_formula

# rows, or columns, of one product: of 32 to 256 the fastest at 512 tokens on a CPU; on a GPU a block has to fill it
BLOCK = {"cpu": 128, "cuda": 256}


def token_product(x_BSHF: Tensor, weight_HKTS: Tensor, bias_HT: Tensor | None, causal: bool) -> Tensor:
    """y[b, t, h, f] = bias[h, t] + sum over k and s of weight[h, k, t, s] x[b, s, h, f + k - (K - 1) // 2].

    (B, S, H, F) -> (B, T, H, F); x is 0 outside its F features ("same" padding). `causal`: over s <= t only, S <= T;
    what lies above the diagonal is neither multiplied, but for a triangle a block, nor given a gradient. Products are
    of autocast's type where it is on.
    """
    if not x_BSHF.is_meta and torch.is_autocast_enabled(x_BSHF.device.type):
        dtype = torch.get_autocast_dtype(x_BSHF.device.type)
        x_BSHF, weight_HKTS = x_BSHF.to(dtype), weight_HKTS.to(dtype)
        bias_HT = None if bias_HT is None else bias_HT.to(dtype)
    return _product(x_BSHF, weight_HKTS, bias_HT, causal)


def widened(x: Tensor, taps: int) -> Tensor:
    """Zeros around the features, so that tap k reads features k to k + F: (..., F) -> (..., F + K - 1)."""
    return x if taps == 1 else F.pad(x, ((taps - 1) // 2, taps // 2))


@torch.library.custom_op("allmlp::token_product", mutates_args=())
def _product(x_BSHF: Tensor, weight_HKTS: Tensor, bias_HT: Tensor | None, causal: bool) -> Tensor:
    B, _, H, features = x_BSHF.shape
    _, K, T, S = weight_HKTS.shape
    weight_HKTS, wide_BSHP = _lower(weight_HKTS, causal), widened(x_BSHF, K)
    y_BTHF = x_BSHF.new_empty(B, T, H, features)
    if bias_HT is not None:
        y_BTHF.copy_(bias_HT.T[..., None])
    for h, k, rows in _blocks(H, K, T, causal, x_BSHF):
        read = slice(min(rows.stop, S) if causal else S)
        w_BRs = weight_HKTS[h, k, rows, read].expand(B, -1, -1)
        beta = 0 if k == 0 and bias_HT is None else 1
        y_BTHF[:, rows, h].baddbmm_(w_BRs, wide_BSHP[:, read, h, k : k + features], beta=beta)
    return y_BTHF


@torch.library.custom_op("allmlp::token_product_input_gradient", mutates_args=())
def _input_gradient(g_BTHF: Tensor, weight_HKTS: Tensor, causal: bool) -> Tensor:
    """Column by column of blocks: each token read by all tokens that read it, in one product."""
    B, T, H, features = g_BTHF.shape
    _, K, _, S = weight_HKTS.shape
    weight_HKTS, wide = _lower(weight_HKTS, causal), features + K - 1
    dx_BSHP = g_BTHF.new_empty(B, S, H, wide) if K == 1 else g_BTHF.new_zeros(B, S, H, wide)
    for h, k, columns in _blocks(H, K, S, causal, g_BTHF):
        readers = slice(columns.start if causal else 0, T)
        w_BCr = weight_HKTS[h, k, readers, columns].mT.expand(B, -1, -1)
        dx_BSHP[:, columns, h, k : k + features].baddbmm_(w_BCr, g_BTHF[:, readers, h], beta=int(K > 1))
    return dx_BSHP if K == 1 else dx_BSHP[..., (K - 1) // 2 :][..., :features].contiguous()


@torch.library.custom_op("allmlp::token_product_weight_gradient", mutates_args=())
def _weight_gradient(g_BTHF: Tensor, x_BSHF: Tensor, taps: int, causal: bool) -> Tensor:
    _, T, H, features = g_BTHF.shape
    S, wide_BSHP = x_BSHF.shape[1], widened(x_BSHF, taps)
    dw_HKTS = g_BTHF.new_zeros(H, taps, T, S)
    for h, k, rows in _blocks(H, taps, T, causal, g_BTHF):
        read = slice(min(rows.stop, S) if causal else S)
        pairs_BRs = torch.bmm(g_BTHF[:, rows, h], wide_BSHP[:, read, h, k : k + features].mT)
        torch.sum(pairs_BRs, 0, out=dw_HKTS[h, k, rows, read])
    return _lower(dw_HKTS, causal)


def _blocks(heads: int, taps: int, length: int, causal: bool, like: Tensor) -> Iterator[tuple[int, int, slice]]:
    """Head, tap and a block of rows, or columns; all of them in one block where no triangle can be left out."""
    size = BLOCK.get(like.device.type, BLOCK["cpu"]) if causal else length
    for h in range(heads):
        for k in range(taps):
            for start in range(0, length, size):
                yield h, k, slice(start, min(start + size, length))


def _lower(weight: Tensor, causal: bool) -> Tensor:
    return weight.tril() if causal else weight


@_product.register_fake
def _(x_BSHF: Tensor, weight_HKTS: Tensor, bias_HT: Tensor | None, causal: bool) -> Tensor:
    B, _, H, features = x_BSHF.shape
    return x_BSHF.new_empty(B, weight_HKTS.shape[2], H, features)


@_input_gradient.register_fake
def _(g_BTHF: Tensor, weight_HKTS: Tensor, causal: bool) -> Tensor:
    B, _, H, features = g_BTHF.shape
    return g_BTHF.new_empty(B, weight_HKTS.shape[3], H, features)


@_weight_gradient.register_fake
def _(g_BTHF: Tensor, x_BSHF: Tensor, taps: int, causal: bool) -> Tensor:
    _, T, H, _ = g_BTHF.shape
    return g_BTHF.new_empty(H, taps, T, x_BSHF.shape[1])


def _save(ctx, inputs, output) -> None:  # type: ignore[no-untyped-def]
    x_BSHF, weight_HKTS, _, ctx.causal = inputs
    reads, weighs = ctx.needs_input_grad[:2]
    ctx.taps = weight_HKTS.shape[1]
    # what no gradient needs is not kept
    ctx.save_for_backward(x_BSHF if weighs else None, weight_HKTS if reads else None)


def _backward(ctx, g_BTHF: Tensor):  # type: ignore[no-untyped-def]
    x_BSHF, weight_HKTS = ctx.saved_tensors
    g_BTHF = g_BTHF.contiguous()
    return (
        None if weight_HKTS is None else _input_gradient(g_BTHF, weight_HKTS, ctx.causal),
        None if x_BSHF is None else _weight_gradient(g_BTHF, x_BSHF, ctx.taps, ctx.causal),
        g_BTHF.sum((0, 3)).T if ctx.needs_input_grad[2] else None,
        None,
    )


_product.register_autograd(_backward, setup_context=_save)


@register_flop_formula(torch.ops.allmlp.token_product)
def _flops(x_shape, weight_shape, *_, **__) -> int:  # type: ignore[no-untyped-def]
    """Of all T S pairs, as PyTorch counts attention: the triangle left out would else favour mixers in comparisons."""
    B, _, _, features = x_shape
    H, K, T, S = weight_shape
    return 2 * B * H * K * T * S * features


@register_flop_formula(torch.ops.allmlp.token_product_input_gradient)
def _input_gradient_flops(g_shape, weight_shape, *_, **__) -> int:  # type: ignore[no-untyped-def]
    return _flops(g_shape, weight_shape)


@register_flop_formula(torch.ops.allmlp.token_product_weight_gradient)
def _weight_gradient_flops(g_shape, x_shape, taps, *_, **__) -> int:  # type: ignore[no-untyped-def]
    return _flops(x_shape, (g_shape[2], taps, g_shape[1], x_shape[1]))
