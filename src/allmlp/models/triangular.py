"""The triangular feed-forward model (004): linear maps over time in place of attention."""

from collections.abc import Callable
from typing import Any, ClassVar, Literal

import torch
from torch import Tensor, nn
from torch.nn import functional as F

from allmlp.models.backbone import Chain
from allmlp.models.layers import check_choice, check_positive
from allmlp.models.triangular_mixing import Mask, TriangularMixing

RECIPE = 1

# leaky ReLU: the published code before the sine; GELU and ReLU: the usual choices
ACTIVATIONS: dict[str, Callable[[Tensor], Tensor]] = {
    "sine": torch.sin,
    "gelu": F.gelu,
    "relu": F.relu,
    "leaky-relu": F.leaky_relu,
}


class TriangularBlock(nn.Module):
    """x := LN(x); x := x + mix(x); x := LN(x); x := x + W_2 a(W_1 x + b_1) + b_2: (B, T, D) -> (B, T, D).

    Both skips begin after the norm (Figure 3 as drawn, and the published code), so no residual stream passes a block
    unnormalised.
    """

    def __init__(self, mixer: TriangularMixing, d_mlp: int, activation: str) -> None:
        super().__init__()
        d_model = mixer.d_model
        self.norm, self.mixer = nn.LayerNorm(d_model), mixer
        self.feed_forward_norm = nn.LayerNorm(d_model)
        self.expand, self.out = nn.Linear(d_model, d_mlp), nn.Linear(d_mlp, d_model)
        self.activation = ACTIVATIONS[activation]

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
    Embeddings N(0, 1); linear maps begin as nn.Linear.
    """

    causal: ClassVar[bool] = True
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
    ) -> None:
        super().__init__()
        check_positive(vocabulary=vocabulary, context=context, d_model=d_model, n_blocks=n_blocks)
        check_choice("activation", activation, ACTIVATIONS)
        d_vocabulary = 4 * d_model // 3 if d_vocabulary is None else d_vocabulary
        d_mlp = d_vocabulary if d_mlp is None else d_mlp
        check_positive(d_vocabulary=d_vocabulary, d_mlp=d_mlp)
        self.vocabulary, self.context, self.d_block = vocabulary, context, d_model
        self.wte, self.wpe = nn.Embedding(vocabulary, d_vocabulary), nn.Embedding(context, d_vocabulary)
        self.embedding_norm = nn.LayerNorm(d_vocabulary)
        self.embedding_map = nn.Linear(d_vocabulary, d_model)
        options: dict[str, Any] = {"layers": layers, "mask": mask, "discount": discount, "form": form}
        self.blocks = nn.ModuleList(
            TriangularBlock(TriangularMixing(d_model, context, **options), d_mlp, activation) for _ in range(n_blocks)
        )
        self.norm = nn.LayerNorm(d_model)
        self.unembedding = nn.Linear(d_model, vocabulary)

    def embed(self, tokens_BT: Tensor, first: int = 0) -> Tensor:
        return self._narrowed(super().embed(tokens_BT, first))

    def from_embeddings(self, embedded_BTV: Tensor) -> Tensor:
        """`hidden` of tokens given by the sums of their embeddings and positions, (B, T, d_vocabulary)."""
        return self.through(self._narrowed(embedded_BTV))

    def _narrowed(self, embedded_BTV: Tensor) -> Tensor:
        return self.embedding_map(self.embedding_norm(embedded_BTV))
