"""The masked mixers of 001: flat, expanded, parallel, of a kernel over features, of several heads."""

from functools import partial
from typing import ClassVar, Unpack

import torch
from torch import Tensor, nn

from allmlp.models.backbone import Backbone, Places, Sizes
from allmlp.models.layers import FeedForward, check_choice, check_eps, check_positive, mlp_width
from allmlp.models.masked_mixing import Mixing

RECIPE = 1

POSITIONS = ("none", "first", "every")


class MaskedMixer(Backbone):
    """Pre-norm blocks of `Mixing` and a GELU layer of 4 x, no final norm: tokens (B, T) -> logits (B, T, V) (001).

    Untied unembedding without bias. Initial weights are PyTorch's, as published: embeddings N(0, 1), all others
    uniform within 1 / sqrt(inputs). Flat with a context of 512, 4,096 tokens and 8 blocks it has 23,109,632 weights at
    d_model 512: unused weights above a triangle's diagonal are counted.

    `positions` "first" appends to each embedding its position, counted from -context / 2, as one more feature of the
    blocks; "every" sets it again after each block (001-11). `extra_linear` follows the embedding (001-17).
    `Mixing` has the other options.
    """

    family: ClassVar[str] = "all-MLP"
    EMBEDDINGS: ClassVar[dict[str, str]] = {"token_embedding": "wte.weight", "unembedding": "unembedding.weight"}

    position: Tensor  # (context, 1)

    def __init__(
        self,
        expansion: float = 1.0,
        parallel: int = 1,
        kernel: int = 1,
        n_heads: int = 1,
        extra_linear: bool = False,
        positions: str = "none",
        d_mlp: int | None = None,
        bias: bool = True,
        flat: bool | None = None,
        eps: float = 1e-5,
        parallel_activation: str = "none",
        **sizes: Unpack[Sizes],
    ) -> None:
        check_choice("positions", positions, POSITIONS)
        context, d_model = sizes["context"], sizes["d_model"]
        check_positive(context=context, d_model=d_model)
        check_eps(eps)
        d_block = d_model if positions == "none" else d_model + 1
        super().__init__(
            mixer=partial(
                Mixing,
                expansion=expansion,
                parallel=parallel,
                kernel=kernel,
                n_heads=n_heads,
                bias=bias,
                flat=flat,
                parallel_activation=parallel_activation,
            ),
            norm=partial(nn.LayerNorm, d_block, eps=eps),
            feed_forward=partial(FeedForward, d_block, mlp_width(d_block, d_mlp), bias),
            position_embedding=False,
            final_norm=False,
            linear_std=None,
            d_block=d_block,
            **sizes,
        )
        self.positions = positions
        self.second_embedding = nn.Linear(d_model, d_model, bias=bias) if extra_linear else nn.Identity()
        position_T1 = torch.arange(context, dtype=torch.get_default_dtype())[:, None] + (-context // 2)
        self.register_buffer("position", position_T1, persistent=False)

    def embed(self, tokens_BT: Tensor, first: int = 0) -> Tensor:
        x_BTD = self.second_embedding(super().embed(tokens_BT, first))
        places = slice(first, first + tokens_BT.shape[1])
        return x_BTD if self.positions == "none" else self._append_position(x_BTD, places)

    def next_block_input(self, x: Tensor, places: Places) -> Tensor:
        return self._append_position(x[..., :-1], places) if self.positions == "every" else x

    def read(self, x: Tensor) -> Tensor:
        return x if self.positions == "none" else x[..., :-1]

    def _append_position(self, x: Tensor, places: Places) -> Tensor:
        return torch.cat([x, self.position[places].to(x.dtype).expand(*x.shape[:-1], 1)], dim=-1)
