"""Llama as 001 compares it, and the backbone that its hybrids with masked mixing share."""

from dataclasses import dataclass
from functools import partial
from typing import Any, ClassVar, Unpack

import torch
from torch import Tensor, nn
from torch.nn import functional as F

from allmlp.errors import UserError
from allmlp.models import backbone
from allmlp.models.backbone import Backbone, Block, Sizes
from allmlp.models.layers import mlp_width
from allmlp.models.rope_attention import RopeAttention, left_padding

RECIPE = 1


class SwiGLU(nn.Module):
    """W_out (SiLU(W_gate x) * W_up x) for each token alone, without biases: (..., D) -> (..., D)."""

    def __init__(self, d_model: int, d_mlp: int) -> None:
        super().__init__()
        self.gate = nn.Linear(d_model, d_mlp, bias=False)
        self.up = nn.Linear(d_model, d_mlp, bias=False)
        self.out = nn.Linear(d_mlp, d_model, bias=False)

    def forward(self, x: Tensor) -> Tensor:
        return self.out(F.silu(self.gate(x)) * self.up(x))


class RopeBlock(Block):
    """x + attention(norm(x)), then x + feed_forward(norm(x)); `padding`, (B, T) bool, is for attention alone."""

    def forward(self, x_BTD: Tensor, padding_BT: Tensor | None = None) -> Tensor:
        return self._feed(x_BTD + self.attention(self.norm(x_BTD), padding_BT))

    def step(self, x_BD: Tensor, state: Any, padding_BT: Tensor | None = None) -> tuple[Tensor, Any]:
        mixed_BD, state = self.attention.step(self.norm(x_BD), state, padding_BT)
        return self._feed(x_BD + mixed_BD), state

    @property
    def attention(self) -> RopeAttention:
        assert isinstance(self.mixer, RopeAttention)
        return self.mixer


@dataclass(frozen=True)
class State(backbone.State):
    """A backbone's memory, and which tokens so far were left padding: (B, t) bool."""

    padding: Tensor | None = None


class RopeBackbone(Backbone):
    """Pre-norm blocks of RoPE attention and SwiGLU with RMSNorm; tokens `padding` on the left are not attended.

    No biases, no position embedding, untied unembedding; linear maps N(0, 0.02), embeddings N(0, embedding_std).
    """

    causal: ClassVar[bool] = True
    family: ClassVar[str] = "attention"
    EMBEDDINGS: ClassVar[dict[str, str]] = {"token_embedding": "wte.weight", "unembedding": "unembedding.weight"}
    BLOCK: ClassVar[type[Block]] = RopeBlock

    def __init__(
        self,
        *,
        n_heads: int,
        d_mlp: int | None,
        fused: bool,
        padding: int | None,
        embedding_std: float,
        **sizes: Unpack[Sizes],
    ) -> None:
        d_model = sizes["d_model"]
        width = mlp_width(d_model, d_mlp)
        check_token("pad", padding, sizes["vocabulary"])
        super().__init__(
            mixer=partial(RopeAttention, n_heads=n_heads, fused=fused),
            norm=partial(nn.RMSNorm, d_model, eps=1e-6),
            feed_forward=partial(SwiGLU, d_model, width),
            embedding_std=embedding_std,
            position_embedding=False,
            scaled=False,
            **sizes,
        )
        self.padding = padding

    def hidden(self, tokens_BT: Tensor) -> Tensor:
        """The residual stream after the final norm, (B, T, D)."""
        self.check_length(tokens_BT.shape[1])
        padding_BT = left_padding(tokens_BT, self.padding)
        x_BTD = self.wte(tokens_BT)
        for block in self.blocks:
            x_BTD = block(x_BTD, padding_BT)
        return self.norm(x_BTD)

    def start(self, batch: int) -> State:
        """The memory before the first token of `batch` sequences."""
        begun = super().start(batch)
        device = self.wte.weight.device
        nothing = None if self.padding is None else torch.zeros(batch, 0, dtype=torch.bool, device=device)
        return State(begun.position, begun.blocks, nothing)

    def step(self, tokens_B: Tensor, state: backbone.State) -> tuple[Tensor, State]:
        """One more token each: logits (B, V), equal to the last row of the full pass, and the new memory."""
        self.check_length(state.position + 1)
        padding_BT = state.padding if isinstance(state, State) else None
        if padding_BT is not None and self.padding is not None:
            padded_B = padding_BT.all(1) & tokens_B.eq(self.padding)
            padding_BT = torch.cat([padding_BT, padded_B[:, None]], dim=1)
        x_BD, memories = self.wte(tokens_B), []
        for block, memory in zip(self.blocks, state.blocks, strict=True):
            assert isinstance(block, RopeBlock)
            x_BD, memory = block.step(x_BD, memory, padding_BT)
            memories.append(memory)
        return self.unembedding(self.norm(x_BD)), State(state.position + 1, tuple(memories), padding_BT)


class Llama(RopeBackbone):
    """Llama as 001 trains it: SwiGLU of 4 d_model, rotary base 1e4, RMSNorm eps 1e-6, as many key heads as query heads.

    With vocabulary 4,096 and 8 blocks: 3,147,904 weights at d_model 128, 10,490,112 at 256, 37,757,440 at 512 and
    142,623,744 at 1,024, whatever the heads and context (001-4, 001-5). `pad`: a row's leading tokens of this id are
    not attended, and more of them alter no prediction. `fused`: scaled_dot_product_attention, else an explicit softmax.
    """

    def __init__(
        self,
        n_heads: int = 4,
        d_mlp: int | None = None,
        fused: bool = True,
        pad: int | None = None,
        **sizes: Unpack[Sizes],
    ) -> None:
        super().__init__(n_heads=n_heads, d_mlp=d_mlp, fused=fused, padding=pad, embedding_std=0.02, **sizes)
        self.pad = pad


def check_token(name: str, token: int | None, vocabulary: int) -> None:
    """UserError unless `token` is None or one of the vocabulary."""
    whole = isinstance(token, int) and not isinstance(token, bool)
    if token is not None and not (whole and 0 <= token < vocabulary):
        raise UserError(f"{name}={token!r}: it must be a token of the vocabulary, 0 to {vocabulary - 1}, or nothing")
