"""Products that mix tokens, y_t = sum over s of W[t, s] x_s, in blocks that leave out the upper triangle.

Names: B sequences, S tokens read, T tokens made, H heads of F features, K taps over the features, P = F + K - 1
features with the zeros around them; of a block: R rows, C columns, s the tokens that it reads, r those that read it.
"""

from collections.abc import Iterator

import torch
from torch import Tensor
from torch.nn import functional as F
from torch.nn.grad import conv1d_weight
from torch.utils.flop_counter import register_flop_formula

# rows, or columns, of one product: of 32 to 256 the fastest at 512 tokens on a CPU; on a GPU a block has to fill it
BLOCK = {"cpu": 128, "cuda": 256}
CONVOLVING_DEVICES = ("cpu",)  # where a block's product is a convolution, a third faster than BLAS on some CPUs


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


def _widened_backwards(g: Tensor, taps: int) -> Tensor:
    """`widened` for the taps in the other direction."""
    return g if taps == 1 else F.pad(g, (taps // 2, (taps - 1) // 2))


@torch.library.custom_op("allmlp::token_product", mutates_args=())
def _product(x_BSHF: Tensor, weight_HKTS: Tensor, bias_HT: Tensor | None, causal: bool) -> Tensor:
    H, K, T, S = weight_HKTS.shape
    weight_HKTS, wide_BSHP = _lower(weight_HKTS, causal), widened(x_BSHF, K)
    heads = []
    for h in range(H):
        made = []
        for rows in _blocks(T, causal, x_BSHF):
            read = slice(min(rows.stop, S) if causal else S)
            bias_R = None if bias_HT is None else bias_HT[h, rows]
            made.append(_mixed(wide_BSHP[:, read, h], weight_HKTS[h, :, rows, read], bias_R))
        heads.append(torch.cat(made, 1))
    return _joined(heads)


@torch.library.custom_op("allmlp::token_product_input_gradient", mutates_args=())
def _input_gradient(g_BTHF: Tensor, weight_HKTS: Tensor, causal: bool) -> Tensor:
    """Column by column of blocks: each token read by all tokens that read it, the taps in the other direction."""
    H, K, T, S = weight_HKTS.shape
    weight_HKTS, wide_BTHP = _lower(weight_HKTS, causal), _widened_backwards(g_BTHF, K)
    heads = []
    for h in range(H):
        made = []
        for columns in _blocks(S, causal, g_BTHF):
            readers = slice(columns.start if causal else 0, T)
            weight_KCr = weight_HKTS[h, :, readers, columns].flip(0).mT
            made.append(_mixed(wide_BTHP[:, readers, h], weight_KCr))
        heads.append(torch.cat(made, 1))
    return _joined(heads)


@torch.library.custom_op("allmlp::token_product_weight_gradient", mutates_args=())
def _weight_gradient(g_BTHF: Tensor, x_BSHF: Tensor, taps: int, causal: bool) -> Tensor:
    _, T, H, _ = g_BTHF.shape
    S, wide_BSHP = x_BSHF.shape[1], widened(x_BSHF, taps)
    dw_HKTS = g_BTHF.new_zeros(H, taps, T, S)
    for h in range(H):
        for rows in _blocks(T, causal, g_BTHF):
            read = slice(min(rows.stop, S) if causal else S)
            dw_HKTS[h, :, rows, read] = _pairs(g_BTHF[:, rows, h], wide_BSHP[:, read, h])
    return _lower(dw_HKTS, causal)


def _mixed(wide_BsP: Tensor, weight_KRs: Tensor, bias_R: Tensor | None = None) -> Tensor:
    """A block: y[b, r, f] = bias[r] + sum over k and s of weight[k, r, s] wide[b, s, f + k]."""
    if wide_BsP.device.type in CONVOLVING_DEVICES:
        return F.conv1d(wide_BsP, weight_KRs.permute(1, 2, 0), bias_R)
    features = wide_BsP.shape[-1] - len(weight_KRs) + 1
    weight_KBRs = weight_KRs[:, None].expand(-1, len(wide_BsP), -1, -1)
    y_BRF = wide_BsP.new_zeros(1, 1) if bias_R is None else bias_R[:, None]
    for k, w_BRs in enumerate(weight_KBRs):
        y_BRF = torch.baddbmm(y_BRF, w_BRs, wide_BsP[..., k : k + features])
    return y_BRF


def _pairs(g_BRF: Tensor, wide_BsP: Tensor) -> Tensor:
    """The gradient of a block's weights: dw[k, r, s] = sum over b and f of g[b, r, f] wide[b, s, f + k]."""
    _, R, features = g_BRF.shape
    taps = wide_BsP.shape[-1] - features + 1
    if g_BRF.device.type in CONVOLVING_DEVICES:
        return conv1d_weight(wide_BsP, (R, wide_BsP.shape[1], taps), g_BRF).permute(2, 0, 1)
    return torch.stack([torch.bmm(g_BRF, wide_BsP[..., k : k + features].mT).sum(0) for k in range(taps)])


def _blocks(length: int, causal: bool, like: Tensor) -> Iterator[slice]:
    """Blocks of rows, or of columns; one where no triangle can be left out."""
    size = BLOCK.get(like.device.type, BLOCK["cpu"]) if causal else length
    for start in range(0, length, size):
        yield slice(start, min(start + size, length))


def _joined(heads: list[Tensor]) -> Tensor:
    """(B, T, F) of each head -> (B, T, H, F)."""
    return heads[0].unsqueeze(2) if len(heads) == 1 else torch.stack(heads, 2)


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
