"""Products that mix tokens, y_t = sum over s of W[t, s] x_s, in blocks of rows without the upper triangle.

Names: B sequences, S tokens read, T tokens made, H heads of F features, K taps over the features, P = F + K - 1
features with the zeros around them; of a block: R rows, s the tokens that it reads.
"""

from types import ModuleType

import torch
from torch import Tensor
from torch.nn import functional as F
from torch.utils.flop_counter import register_flop_formula

from allmlp.models import batch_products, head_products
from allmlp.models.batch_products import Blocks
from allmlp.models.vmap import fold_seeds, unfold_seeds

# Devices where each sequence has a product of its own; elsewhere those of several heads or taps are columns of one.
PER_SEQUENCE = ("cpu",)


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


def pad_features(x: Tensor, taps: int) -> Tensor:
    """Zeros around the features, so that tap k reads features k to k + F: (..., F) -> (..., F + K - 1)."""
    return x if taps == 1 else F.pad(x, ((taps - 1) // 2, taps // 2))


def _form(weight_HKTS: Tensor) -> ModuleType:
    """Of one head and tap nothing has to be copied for a product of each sequence: a GPU then takes it too."""
    alone = weight_HKTS.shape[:2] == (1, 1)
    return batch_products if alone or weight_HKTS.device.type in PER_SEQUENCE else head_products


def _product(x_BSHF: Tensor, weight_HKTS: Tensor, bias_HT: Tensor | None, causal: bool) -> Tensor:
    lower_HKTS, wide_BSHP = _lower_triangle(weight_HKTS, causal), pad_features(x_BSHF, weight_HKTS.shape[1])
    made: Tensor = _form(weight_HKTS).product(wide_BSHP, lower_HKTS, bias_HT, _blocks(weight_HKTS, causal))
    return made


def _gradients(
    g_BTHF: Tensor, x_BSHF: Tensor, weight_HKTS: Tensor, causal: bool, wanted: list[bool]
) -> tuple[Tensor, Tensor]:
    """Of the input and of the weights; empty where not wanted."""
    form, K, blocks = _form(weight_HKTS), weight_HKTS.shape[1], _blocks(weight_HKTS, causal)
    lower_HKTS, dx_BSHF, dw_HKTS = _lower_triangle(weight_HKTS, causal), g_BTHF.new_empty(0), weight_HKTS.new_empty(0)
    if wanted[0]:
        dx_BSHF = _unpad_features(form.input_gradient(g_BTHF, lower_HKTS, blocks), K)
    if wanted[1]:
        dw_HKTS = _lower_triangle(form.weight_gradient(g_BTHF, pad_features(x_BSHF, K), lower_HKTS, blocks), causal)
    return dx_BSHF, dw_HKTS


def block_rows(weight: Tensor) -> int:
    """Rows of one product, the fastest of 64, 128 and 256 for 512 and 1,024 tokens: a GPU has to be filled, and so has
    a CPU's unit for products in half precision.
    """
    return 128 if weight.device.type == "cpu" and weight.dtype in (torch.float32, torch.float64) else 256


def _blocks(weight_HKTS: Tensor, causal: bool) -> Blocks:
    """One block if not causal."""
    made, read = weight_HKTS.shape[2:]
    if not causal:
        return [(slice(0, made), slice(read))]
    size = block_rows(weight_HKTS)
    ends = [min(start + size, made) for start in range(0, made, size)]
    return [(slice(start, end), slice(min(end, read))) for start, end in zip(range(0, made, size), ends, strict=True)]


def _unpad_features(x: Tensor, taps: int) -> Tensor:
    """Without the zeros of `pad_features`."""
    return x if taps == 1 else x[..., (taps - 1) // 2 : x.shape[-1] - taps // 2].contiguous()


def _lower_triangle(weight: Tensor, causal: bool) -> Tensor:
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
def _vmap_rule(info, in_dims, x, weight, bias, causal):  # type: ignore[no-untyped-def]
    """Seeds are heads."""
    N, (of_x, of_weight, of_bias, _) = info.batch_size, in_dims
    x_BSHF, weight_HKTS = fold_seeds(x, N, of_x, 2), fold_seeds(weight, N, of_weight, 0)
    bias_HT = None if bias is None else fold_seeds(bias, N, of_bias, 0)
    return unfold_seeds(torch.ops.allmlp.token_product(x_BSHF, weight_HKTS, bias_HT, causal), N, 2)


@register_flop_formula(torch.ops.allmlp.token_product)
def _flops(x_shape, weight_shape, *_, **__) -> int:  # type: ignore[no-untyped-def]
    """Of all T S pairs, as PyTorch counts attention, so that comparisons do not favour mixers."""
    B, _, _, features = x_shape
    H, K, T, S = weight_shape
    return 2 * B * H * K * T * S * features


@register_flop_formula(torch.ops.allmlp.token_product_backward)
def _gradient_flops(g_shape, x_shape, weight_shape, causal, wanted, *_, **__) -> int:  # type: ignore[no-untyped-def]
    return (wanted[0] + wanted[1]) * _flops(x_shape, weight_shape)
