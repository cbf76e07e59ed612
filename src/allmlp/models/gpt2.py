"""The GPT-2 that 000 compares its MLP with: all positions see each other, only the last one predicts."""

from functools import partial
from typing import ClassVar, Literal

from torch import nn

from allmlp.models.attention import SoftmaxAttention
from allmlp.models.backbone import Backbone
from allmlp.models.layers import FeedForward, check_eps, check_heads, check_positive

RECIPE = 1


class LastTokenGPT2(Backbone):
    """GPT-2 blocks (pre-norm, GELU, learned positions) without a causal mask: tokens (B, T) -> logits (B, V).

    The prediction is read at the last position. Untied unembedding; GPT-2's initial weights, N(0, 0.02) also
    for the embeddings. 000 calls the model with d_model 512, 16 heads, 2 blocks and d_mlp 8,192 "20M": its
    matrices and its 15 positions are 18,882,048 weights; biases and norms come on top (E000-8).
    """

    causal: ClassVar[bool] = False
    predicts: ClassVar[Literal["all", "last"]] = "last"
    family: ClassVar[str] = "attention"

    def __init__(
        self,
        vocabulary: int,
        context: int,
        d_model: int,
        d_mlp: int,
        n_heads: int = 16,
        n_blocks: int = 2,
        bias: bool = True,
        eps: float = 1e-5,
        embedding_std: float = 0.02,
    ) -> None:
        check_heads(d_model, n_heads)
        check_positive(d_mlp=d_mlp)
        check_eps(eps)
        super().__init__(
            vocabulary,
            context,
            d_model,
            n_blocks,
            mixer=partial(SoftmaxAttention, n_heads=n_heads, bias=bias, causal=False),
            norm=partial(nn.LayerNorm, d_model, eps=eps),
            feed_forward=partial(FeedForward, d_model, d_mlp, bias),
            embedding_std=embedding_std,
        )
