"""The GPT-2s of 000: one that predicts only the token after the last position, and the causal one."""

from functools import partial
from typing import Any, ClassVar, Literal, Unpack

from torch import Tensor, nn
from torch.nn import functional as F

from allmlp.models.attention import SoftmaxAttention
from allmlp.models.backbone import Backbone, Sizes
from allmlp.models.layers import FeedForward, check_eps, check_heads, join_heads, mlp_width, split_heads

RECIPE = 2


def gpt2_parts(d_model: int, d_mlp: int | None, bias: bool, eps: float) -> dict[str, Any]:
    """A GPT-2 block without its token mixer, as `Backbone` takes it. d_mlp: 4 d_model unless given."""
    check_eps(eps)
    return {
        "norm": partial(nn.LayerNorm, d_model, eps=eps),
        "feed_forward": partial(FeedForward, d_model, mlp_width(d_model, d_mlp), bias),
    }


class LastQueryAttention(SoftmaxAttention):
    """`SoftmaxAttention` that can compute the last position alone: all keys and values, one query."""

    def last(self, x_BTD: Tensor) -> Tensor:
        """`forward(x)[:, -1]`, (B, D)."""
        D, weight, bias = self.d_model, self.qkv.weight, self.qkv.bias
        of_q, of_kv = (None, None) if bias is None else (bias[:D], bias[D:])
        query = F.linear(x_BTD[:, -1:], weight[:D], of_q)
        keys, values = F.linear(x_BTD, weight[D:], of_kv).chunk(2, dim=-1)
        q, k, v = (split_heads(part, self.n_heads) for part in (query, keys, values))
        return self.out(join_heads(F.scaled_dot_product_attention(q, k, v))[:, 0])


class LastTokenGPT2(Backbone):
    """GPT-2 blocks (pre-norm, GELU, learned positions) without a causal mask: tokens (B, T) -> logits (B, V).

    The prediction is read at the last position. The last block computes only that position: with two blocks and
    d_mlp = 4 d, 14 T d^2 + 10 d^2 products in place of 24 T d^2. Untied unembedding; GPT-2's initial weights,
    N(0, 0.02) also for the embeddings. 000 calls the model with d_model 512, 16 heads, 2 blocks and d_mlp 8,192
    "20M": its matrices and its 15 positions are 18,882,048 weights; biases and norms come on top (E000-8).
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
        super().__init__(
            vocabulary,
            context,
            d_model,
            n_blocks,
            mixer=partial(LastQueryAttention, n_heads=n_heads, bias=bias, causal=False),
            embedding_std=embedding_std,
            **gpt2_parts(d_model, d_mlp, bias, eps),
        )

    def hidden(self, tokens_BT: Tensor) -> Tensor:
        """The residual stream of the last position after the final norm, (B, D)."""
        self.check_length(tokens_BT.shape[1])
        x_BTD = self.embed(tokens_BT)
        *before, last = self.chain()
        for block in before:
            x_BTD = block(x_BTD)
        return self.norm(last._feed(x_BTD[:, -1] + last.mixer.last(last.norm(x_BTD))))


class GPT2(Backbone):
    """GPT-2 (pre-norm, GELU, learned positions, biases): tokens (B, T) -> logits (B, T, V) (000 Sec. 5.2).

    Untied unembedding; weights N(0, 0.02), also of the embeddings, those that write into the residual stream smaller.
    A block has 12 d_model^2 weights in matrices; biases and norms come on top.
    """

    family: ClassVar[str] = "attention"

    def __init__(
        self,
        n_heads: int = 16,
        d_mlp: int | None = None,
        bias: bool = True,
        eps: float = 1e-5,
        embedding_std: float = 0.02,
        **sizes: Unpack[Sizes],
    ) -> None:
        check_heads(sizes["d_model"], n_heads)
        super().__init__(
            mixer=partial(SoftmaxAttention, n_heads=n_heads, bias=bias),
            embedding_std=embedding_std,
            **gpt2_parts(sizes["d_model"], d_mlp, bias, eps),
            **sizes,
        )
