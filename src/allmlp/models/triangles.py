"""Products that mix tokens, y_t = sum over s of W[t, s] x_s, in blocks of rows without the upper triangle.

Names: B sequences, S tokens read, T tokens made, H heads of F features, K taps over the features, P = F + K - 1
features with the zeros around them; of a block: R rows, s the tokens that it reads.
"""

import torch
from torch import Tensor
from torch.nn import functional as F
from torch.utils.flop_counter import register_flop_formula

from allmlp.models.head_products import Blocks, head_gradients, head_product
from allmlp.models.vmap import folded, unfolded

# rows of one product: of 64, 128 and 256 the fastest at 512 and 1,024 tokens on a CPU; a GPU has to be filled
BLOCK = 256
# where a block's product is a convolution, head by head: from 16 sequences on oneDNN's, faster than BLAS
CONVOLVING_DEVICES = ("cpu",)


def token_product(x_BSHF: Tensor, weight_HKTS: Tensor, bias_HT: Tensor | None, causal: bool) -> Tensor:
    """y[b, t, h, f] = bias[h, t] + sum over k and s of weight[h, k, t, s] x[b, s, h, f + k - (K - 1) // 2].

    (B, S, H, F) -> (B, T, H, F); x is 0 outside its F features ("same" padding). `causal`: over s <= t only, S <= T;
    weights above the diagonal are not multiplied, except for one triangle per block, and get no gradient. Products
    have autocast's type where it is on, except those of doubles.
    """
    halved = x_BSHF.dtype != torch.float64 and not x_BSHF.is_meta
    if halved and torch.is_autocast_enabled(x_BSHF.device.type):
        dtype = torch.get_autocast_dtype(x_BSHF.device.type)
        x_BSHF, weight_HKTS = x_BSHF.to(dtype), weight_HKTS.to(dtype)
        bias_HT = None if bias_HT is None else bias_HT.to(dtype)
    return torch.ops.allmlp.token_product(x_BSHF, weight_HKTS, bias_HT, causal)


def widened(x: Tensor, taps: int) -> Tensor:
    """Zeros around the features, so that tap k reads features k to k + F: (..., F) -> (..., F + K - 1)."""
    return x if taps == 1 else F.pad(x, ((taps - 1) // 2, taps // 2))


def _product(x_BSHF: Tensor, weight_HKTS: Tensor, bias_HT: Tensor | None, causal: bool) -> Tensor:
    H, K, T, S = weight_HKTS.shape
    lower_HKTS, wide_BSHP, blocks = _lower(weight_HKTS, causal), widened(x_BSHF, K), _blocks(T, S, causal)
    if x_BSHF.device.type not in CONVOLVING_DEVICES:
        return head_product(wide_BSHP, lower_HKTS, bias_HT, blocks)
    heads = []
    for h in range(H):
        made = []
        for rows, read in blocks:
            bias_R = None if bias_HT is None else bias_HT[h, rows]
            made.append(F.conv1d(wide_BSHP[:, read, h], lower_HKTS[h, :, rows, read].permute(1, 2, 0), bias_R))
        heads.append(made[0] if len(made) == 1 else torch.cat(made, 1))
    return _joined(heads)


def _gradients(
    g_BTHF: Tensor, x_BSHF: Tensor, weight_HKTS: Tensor, causal: bool, wanted: list[bool]
) -> tuple[Tensor, Tensor]:
    """Of the input and of the weights; empty where not wanted."""
    _, K, T, S = weight_HKTS.shape
    form = _convolved if g_BTHF.device.type in CONVOLVING_DEVICES else head_gradients
    given = g_BTHF, widened(x_BSHF, K), _lower(weight_HKTS, causal)
    dx_BSHP, dw_HKTS = form(*given, wanted, _blocks(T, S, causal))
    return _narrowed(dx_BSHP, K) if wanted[0] else dx_BSHP, _lower(dw_HKTS, causal and wanted[1])


def _convolved(
    g_BTHF: Tensor, wide_BSHP: Tensor, lower_HKTS: Tensor, wanted: list[bool], blocks: Blocks
) -> tuple[Tensor, Tensor]:
    """Of the widened input and of the weights, head by head; empty where not wanted."""
    dw_HKTS = lower_HKTS.new_zeros(lower_HKTS.shape if wanted[1] else 0)
    summed = torch.promote_types(g_BTHF.dtype, torch.float32)  # halves are added up as floats
    heads = []
    for h, lower_KTS in enumerate(lower_HKTS):
        dx_BSP = g_BTHF.new_empty(0)
        for rows, read in reversed(blocks):  # the last rows read all tokens: the others' parts are added
            block = g_BTHF[:, rows, h], wide_BSHP[:, read, h], lower_KTS[:, rows, read].permute(1, 2, 0)
            size = [rows.stop - rows.start]
            dx_BsP, dw_RsK, _ = torch.ops.aten.convolution_backward(
                *block, size, [1], [0], [1], False, [0], 1, [*wanted, False]
            )
            if wanted[0] and rows.stop == g_BTHF.shape[1]:
                dx_BSP = dx_BsP if rows.start == 0 else dx_BsP.to(summed)
            elif wanted[0]:
                dx_BSP[:, read] += dx_BsP
            if wanted[1]:
                dw_HKTS[h, :, rows, read] = dw_RsK.permute(2, 0, 1)
        heads.append(dx_BSP.to(g_BTHF.dtype))
    return _joined(heads) if wanted[0] else heads[0], dw_HKTS


def _blocks(made: int, read: int, causal: bool) -> Blocks:
    """One block if not causal."""
    if not causal:
        return [(slice(0, made), slice(read))]
    ends = [min(start + BLOCK, made) for start in range(0, made, BLOCK)]
    return [(slice(start, end), slice(min(end, read))) for start, end in zip(range(0, made, BLOCK), ends, strict=True)]


def _narrowed(x: Tensor, taps: int) -> Tensor:
    """Without the zeros of `widened`."""
    return x if taps == 1 else x[..., (taps - 1) // 2 : x.shape[-1] - taps // 2].contiguous()


def _joined(heads: list[Tensor]) -> Tensor:
    """(B, T, F) of each head -> (B, T, H, F)."""
    return heads[0].unsqueeze(2) if len(heads) == 1 else torch.stack(heads, 2)


def _lower(weight: Tensor, causal: bool) -> Tensor:
    return weight.tril() if causal else weight


# defined by schema: `custom_op` costs a small layer a tenth of its time
torch.library.define("allmlp::token_product", "(Tensor x, Tensor weight, Tensor? bias, bool causal) -> Tensor")
torch.library.define(
    "allmlp::token_product_backward",
    "(Tensor g, Tensor x, Tensor weight, bool causal, bool[2] wanted) -> (Tensor, Tensor)",
)
torch.library.impl("allmlp::token_product", "default", _product)
torch.library.impl("allmlp::token_product_backward", "default", _gradients)


@torch.library.register_fake("allmlp::token_product")
def _(x_BSHF: Tensor, weight_HKTS: Tensor, bias_HT: Tensor | None, causal: bool) -> Tensor:
    B, _, H, features = x_BSHF.shape
    return x_BSHF.new_empty(B, weight_HKTS.shape[2], H, features)


@torch.library.register_fake("allmlp::token_product_backward")
def _(g_BTHF: Tensor, x_BSHF: Tensor, weight_HKTS: Tensor, causal: bool, wanted: list[bool]) -> tuple[Tensor, Tensor]:
    dx, dw = (g_BTHF.new_empty(of.shape if one else 0) for of, one in zip((x_BSHF, weight_HKTS), wanted, strict=True))
    return dx, dw


def _save(ctx, inputs, output) -> None:  # type: ignore[no-untyped-def]
    x_BSHF, weight_HKTS, _, ctx.causal = inputs
    x_BSHF = x_BSHF if ctx.needs_input_grad[1] else None  # kept only if a gradient needs it
    ctx.save_for_backward(x_BSHF, weight_HKTS)


def _backward(ctx, g_BTHF: Tensor):  # type: ignore[no-untyped-def]
    x_BSHF, weight_HKTS = ctx.saved_tensors
    reads, weighs, biases, _ = ctx.needs_input_grad
    if x_BSHF is None:  # its shape is enough
        B, _, H, features = g_BTHF.shape
        x_BSHF = g_BTHF.new_empty(1).expand(B, weight_HKTS.shape[-1], H, features)
    dx = dw = None
    if reads or weighs:
        inputs = g_BTHF.contiguous(), x_BSHF, weight_HKTS, ctx.causal, (reads, weighs)
        dx, dw = torch.ops.allmlp.token_product_backward(*inputs)
    return dx if reads else None, dw if weighs else None, g_BTHF.sum((0, 3)).T if biases else None, None


torch.library.register_autograd("allmlp::token_product", _backward, setup_context=_save)


@torch.library.register_vmap("allmlp::token_product")
def _of_seeds(info, in_dims, x, weight, bias, causal):  # type: ignore[no-untyped-def]
    """Seeds are heads."""
    N, (of_x, of_weight, of_bias, _) = info.batch_size, in_dims
    x_BSHF, weight_HKTS = folded(x, N, of_x, 2), folded(weight, N, of_weight, 0)
    bias_HT = None if bias is None else folded(bias, N, of_bias, 0)
    return unfolded(torch.ops.allmlp.token_product(x_BSHF, weight_HKTS, bias_HT, causal), N, 2)


@register_flop_formula(torch.ops.allmlp.token_product)
def _flops(x_shape, weight_shape, *_, **__) -> int:  # type: ignore[no-untyped-def]
    """Of all T S pairs, as PyTorch counts attention, so that comparisons do not favour mixers."""
    B, _, _, features = x_shape
    H, K, T, S = weight_shape
    return 2 * B * H * K * T * S * features


@register_flop_formula(torch.ops.allmlp.token_product_backward)
def _gradient_flops(g_shape, x_shape, weight_shape, causal, wanted, *_, **__) -> int:  # type: ignore[no-untyped-def]
    return (wanted[0] + wanted[1]) * _flops(x_shape, weight_shape)
