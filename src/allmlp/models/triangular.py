"""The triangular feed-forward model (004): linear maps over time in place of attention."""

from collections.abc import Callable
from functools import partial
from typing import Any, ClassVar, Literal

import torch
from torch import Tensor, nn
from torch.nn import functional as F

from allmlp.common.errors import parameter_error
from allmlp.models.backbone import Chain
from allmlp.models.base import TokenMixer
from allmlp.models.layers import check_choice, check_positive
from allmlp.models.rows import Rows
from allmlp.models.triangles import token_product

RECIPE = 1

Mask = Literal["averaging", "gradient", "plain"]
MASKS, FORMS = ("averaging", "gradient", "plain"), ("transpose", "reshape")
LEAKY, PYTORCHS_SLOPE = "leaky-relu", 0.01
# leaky ReLU: the published code before the sine; GELU and ReLU: the usual choices
ACTIVATIONS: dict[str, Callable[..., Tensor]] = {
    "sine": torch.sin,
    "gelu": F.gelu,
    "relu": F.relu,
    LEAKY: F.leaky_relu,
}


def averaging_mask(context: int, discount: float = 1.0) -> Tensor:
    """M[t, s] = discount^(t - s) / sum over s' <= t of discount^(t - s'), 0 for s > t: (T, T) (004 Figure 1).

    With discount 1.0 row t is 1 / (t + 1) over its past.
    """
    time = torch.arange(context, dtype=torch.float64)
    ages = (time[:, None] - time).clamp(min=0)
    weights = (discount**ages).tril()
    return (weights / weights.sum(dim=1, keepdim=True)).float()


def _activation(name: str, negative_slope: float) -> Callable[[Tensor], Tensor]:
    check_choice("activation", name, ACTIVATIONS)
    if name == LEAKY:
        return partial(F.leaky_relu, negative_slope=negative_slope)
    if negative_slope != PYTORCHS_SLOPE:
        raise parameter_error("negative_slope", negative_slope, f"has no effect on activation={name!r}: leave it out")
    return ACTIVATIONS[name]


class Triangle(nn.Module):
    """One lower triangular (T, T) matrix over time, without bias (004 Sec. 2). `forward()` is the matrix that mixes.

    mask "averaging": the trained weights times `averaging_mask` (the text, and the code of October 2023); "plain": the
    weights alone; "gradient": the weights alone, and the mask on their gradient (the code since December 2023). Above
    the diagonal there is no value and no gradient. Weights begin as those of nn.Linear.
    """

    averaging: Tensor

    def __init__(self, context: int, mask: Mask, discount: float) -> None:
        super().__init__()
        self.mask = mask
        self.weight = nn.Parameter(nn.Linear(context, context, bias=False).weight.detach().tril())
        self.register_buffer("averaging", averaging_mask(context, discount), persistent=False)

    def forward(self) -> Tensor:
        weight_TT = self.weight.tril()
        if self.mask == "plain":
            return weight_TT
        averaged_TT = weight_TT * self.averaging.to(weight_TT)
        if self.mask == "averaging":
            return averaged_TT
        return averaged_TT + (weight_TT - averaged_TT).detach()


class TriangularMixing(TokenMixer):
    """y_t = sum over s <= t of P[t, s] x_s, one matrix for all features: (B, T, D) -> (B, T, D), T <= context.

    P is one triangle, or the product of two. Two linear triangles in sequence express no more than one (E004-2), so
    they are multiplied first, which costs T^3 products in place of B T^2 D.

    form "transpose" is the text's: P acts on the time axis. "reshape" is the published code's: it reads the same
    memory, token after token, as rows of `context` numbers, and P acts inside each row (E004-1). It is causal, but a
    number reads only earlier ones of its row. A shorter sequence fills fewer rows, so no later token alters the result.
    """

    def __init__(
        self,
        d_model: int,
        context: int,
        *,
        layers: int = 2,
        mask: Mask = "averaging",
        discount: float = 1.0,
        form: Literal["transpose", "reshape"] = "transpose",
    ) -> None:
        super().__init__(d_model, context)
        check_positive(d_model=d_model, context=context, layers=layers)
        check_choice("mask", mask, MASKS)
        check_choice("form", form, FORMS)
        if not 0 < discount <= 1:
            raise parameter_error("discount", discount, "it must be above 0 and at most 1, which averages")
        if discount != 1 and mask == "plain":
            raise parameter_error(
                "discount", discount, "has no effect on mask='plain': leave it out, or take 'averaging'"
            )
        self.form = form
        self.triangles = nn.ModuleList(Triangle(context, mask, discount) for _ in range(layers))

    def matrix(self) -> Tensor:
        """P, (context, context), lower triangular: the last triangle times those before it."""
        first, *others = self.triangles
        product_TT: Tensor = first()
        for triangle in others:
            product_TT = triangle() @ product_TT
        return product_TT

    def forward(self, x_BTD: Tensor) -> Tensor:
        product_TT, T = self.matrix(), x_BTD.shape[1]
        if self.form == "transpose":
            return token_product(x_BTD.unsqueeze(2), product_TT[None, None, :T, :T], None, causal=True).squeeze(2)
        return self._mix_context_rows(x_BTD.flatten(1), product_TT).view_as(x_BTD)

    def _mix_context_rows(self, x_BN: Tensor, product_TT: Tensor) -> Tensor:
        """Numbers in memory's order, N of a sequence, mixed in rows of `context`; the last row may be short."""
        missing = -x_BN.shape[1] % self.context
        rows_BRT = F.pad(x_BN, (0, missing)).unflatten(1, (-1, self.context))
        return (rows_BRT @ product_TT.T).flatten(1)[:, : x_BN.shape[1]]

    def start(self, like_BD: Tensor) -> Any:
        """(P, the past): all tokens, or with "reshape" the numbers of the unfinished row."""
        product_TT, B = self.matrix(), like_BD.shape[0]
        if self.form == "transpose":
            return product_TT, Rows(like_BD.new_empty(B, 0, self.d_model))
        return product_TT, like_BD.new_empty(B, 0)

    def step(self, x_BD: Tensor, state: Any) -> tuple[Tensor, Any]:
        """One more token in O(t D), with "reshape" in O(context (context + D)): the last row of `forward`."""
        product_TT, past = state
        if self.form == "transpose":
            seen_BtD, past = past.append(x_BD[:, None])
            t = seen_BtD.shape[1]
            return product_TT[t - 1, :t] @ seen_BtD, (product_TT, past)
        row_BN = torch.cat([past, x_BD], dim=1)
        mixed_BD = self._mix_context_rows(row_BN, product_TT)[:, past.shape[1] :]
        return mixed_BD, (product_TT, row_BN[:, row_BN.shape[1] // self.context * self.context :])


class TriangularBlock(nn.Module):
    """x := LN(x); x := x + mix(x); x := LN(x); x := x + W_2 a(W_1 x + b_1) + b_2: (B, T, D) -> (B, T, D).

    Both skips begin after the norm (Figure 3 as drawn, and the published code), so no residual stream passes a block
    unnormalised.
    """

    def __init__(self, mixer: TriangularMixing, d_mlp: int, activation: Callable[[Tensor], Tensor]) -> None:
        super().__init__()
        d_model = mixer.d_model
        self.norm, self.mixer = nn.LayerNorm(d_model), mixer
        self.feed_forward_norm = nn.LayerNorm(d_model)
        self.expand, self.out = nn.Linear(d_model, d_mlp), nn.Linear(d_mlp, d_model)
        self.activation = activation

    def forward(self, x_BTD: Tensor) -> Tensor:
        x_BTD = self.norm(x_BTD)
        return self._feed(x_BTD + self.mixer(x_BTD))

    def start(self, like_BD: Tensor) -> Any:
        return self.mixer.start(like_BD)

    def step(self, x_BD: Tensor, state: Any) -> tuple[Tensor, Any]:
        x_BD = self.norm(x_BD)
        mixed_BD, state = self.mixer.step(x_BD, state)
        return self._feed(x_BD + mixed_BD), state

    def _feed(self, x: Tensor) -> Tensor:
        x = self.feed_forward_norm(x)
        return x + self.out(self.activation(self.expand(x)))


class Triangular(Chain):
    """Embeddings -> LN -> Linear -> blocks -> LN -> Linear with bias: tokens (B, T) -> logits (B, T, V) (Figure 2).

    `layers` triangles over time in a row, with `mask`, `discount` and `form` as in `TriangularMixing`. `d_vocabulary`
    is the width of the embeddings before the first linear map, 4/3 d_model unless given, and d_mlp is that width too,
    both as printed: 1092 tokens, context 430, widths 1024 and 768 and 17 blocks are 36,297,036 weights (004-1).
    `negative_slope`: of activation "leaky-relu" below 0, PyTorch's unless given; every published commit has 0.07.
    Embeddings N(0, 1); linear maps begin as nn.Linear.
    """

    family: ClassVar[str] = "triangular"

    def __init__(
        self,
        vocabulary: int,
        context: int,
        d_model: int,
        n_blocks: int,
        d_vocabulary: int | None = None,
        d_mlp: int | None = None,
        layers: int = 2,
        mask: Mask = "averaging",
        discount: float = 1.0,
        form: Literal["transpose", "reshape"] = "transpose",
        activation: str = "sine",
        negative_slope: float = PYTORCHS_SLOPE,
    ) -> None:
        super().__init__()
        check_positive(vocabulary=vocabulary, context=context, d_model=d_model, n_blocks=n_blocks)
        function = _activation(activation, negative_slope)
        d_vocabulary = 4 * d_model // 3 if d_vocabulary is None else d_vocabulary
        d_mlp = d_vocabulary if d_mlp is None else d_mlp
        check_positive(d_vocabulary=d_vocabulary, d_mlp=d_mlp)
        self.vocabulary, self.context, self.d_block = vocabulary, context, d_model
        self.wte, self.wpe = nn.Embedding(vocabulary, d_vocabulary), nn.Embedding(context, d_vocabulary)
        self.embedding_norm = nn.LayerNorm(d_vocabulary)
        self.embedding_map = nn.Linear(d_vocabulary, d_model)
        options: dict[str, Any] = {"layers": layers, "mask": mask, "discount": discount, "form": form}
        self.blocks = nn.ModuleList(
            TriangularBlock(TriangularMixing(d_model, context, **options), d_mlp, function) for _ in range(n_blocks)
        )
        self.norm = nn.LayerNorm(d_model)
        self.unembedding = nn.Linear(d_model, vocabulary)

    def embed(self, tokens_BT: Tensor, first: int = 0) -> Tensor:
        return self._map_embeddings(super().embed(tokens_BT, first))

    def from_embeddings(self, embedded_BTV: Tensor) -> Tensor:
        """`hidden` of tokens given by the sums of their embeddings and positions, (B, T, d_vocabulary)."""
        return self.run_blocks(self._map_embeddings(embedded_BTV))

    def _map_embeddings(self, embedded_BTV: Tensor) -> Tensor:
        return self.embedding_map(self.embedding_norm(embedded_BTV))
