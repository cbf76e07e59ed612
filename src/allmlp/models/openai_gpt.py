"""GPT-1 (2018) as 001 compares it: post-norm, learned positions, dropout."""

from typing import ClassVar

from torch import Tensor, nn
from torch.nn import functional as F

from allmlp.common.errors import parameter_error
from allmlp.models.attention import Cache, SoftmaxAttention
from allmlp.models.backbone import Chain
from allmlp.models.base import LinearHead
from allmlp.models.layers import FeedForward, check_heads, check_positive, initialise_normal, join_heads

RECIPE = 1


class DroppingAttention(SoftmaxAttention):
    """Causal `SoftmaxAttention` with biases that drops attention weights in training."""

    def __init__(self, d_model: int, context: int, *, n_heads: int, dropout: float) -> None:
        super().__init__(d_model, context, n_heads=n_heads, bias=True)
        self.dropout = dropout

    def _attend(self, qkv_BTE: Tensor) -> Tensor:
        q, k, v = self._heads(qkv_BTE)
        drop = self.dropout if self.training else 0.0
        return join_heads(F.scaled_dot_product_attention(q, k, v, is_causal=True, dropout_p=drop))


class TanhFeedForward(FeedForward):
    """`FeedForward` with GPT's GELU, the approximation by tanh."""

    def forward(self, x: Tensor) -> Tensor:
        return self.out(F.gelu(self.expand(x), approximate="tanh"))


class PostNormBlock(nn.Module):
    """n = norm(x + attention(x)); norm(n + feed_forward(n)): (B, T, D) -> (B, T, D)."""

    def __init__(self, d_model: int, context: int, n_heads: int, dropout: float) -> None:
        super().__init__()
        self.mixer = DroppingAttention(d_model, context, n_heads=n_heads, dropout=dropout)
        self.feed_forward = TanhFeedForward(d_model, 4 * d_model)
        self.norm, self.feed_forward_norm = nn.LayerNorm(d_model), nn.LayerNorm(d_model)
        self.dropout = nn.Dropout(dropout)

    def forward(self, x_BTD: Tensor) -> Tensor:
        return self._feed(x_BTD, self.mixer(x_BTD))

    def start(self, like_BD: Tensor) -> Cache:
        return self.mixer.start(like_BD)

    def step(self, x_BD: Tensor, state: Cache) -> tuple[Tensor, Cache]:
        mixed_BD, state = self.mixer.step(x_BD, state)
        return self._feed(x_BD, mixed_BD), state

    def _feed(self, x: Tensor, mixed: Tensor) -> Tensor:
        x = self.norm(x + self.dropout(mixed))
        return self.feed_forward_norm(x + self.dropout(self.feed_forward(x)))


class OpenAIGPT(Chain):
    """GPT-1 as 001 trains it (001-20): tokens (B, T) -> logits (B, T, V).

    Hugging Face's OpenAIGPTLMHeadModel, which the article calls: post-norm and therefore no final norm, GELU by tanh,
    dropout of 0.1 on embeddings, attention weights and both residual branches, weights N(0, 0.02), biases zero. The
    unembedding is the token embedding, as that class ties them and the published trainer leaves them tied: with 4,096
    tokens and d_model 512 an eighth fewer weights than untied. Dropout draws from PyTorch's generator; the
    training loop seeds it from (seed, step) at each step, so that a resumed training draws the same numbers.
    """

    family: ClassVar[str] = "attention"
    EMBEDDINGS: ClassVar[dict[str, str]] = {"token_embedding": "wte.weight", "positions": "wpe.weight"}

    def __init__(
        self, vocabulary: int, context: int, d_model: int, n_blocks: int, n_heads: int = 4, dropout: float = 0.1
    ) -> None:
        super().__init__()
        check_positive(vocabulary=vocabulary, context=context, d_model=d_model, n_blocks=n_blocks)
        check_heads(d_model, n_heads)
        check_dropout(dropout)
        self.vocabulary, self.context, self.d_block = vocabulary, context, d_model
        self.wte, self.wpe = nn.Embedding(vocabulary, d_model), nn.Embedding(context, d_model)
        self.blocks = nn.ModuleList(PostNormBlock(d_model, context, n_heads, dropout) for _ in range(n_blocks))
        self.dropout = nn.Dropout(dropout)
        initialise_normal(self, std=0.02, residual_connections=1)
        for embedding in (self.wte, self.wpe):
            nn.init.normal_(embedding.weight, std=0.02)

    @property
    def W_U(self) -> Tensor:  # noqa: N802
        """The unembedding, (D, V)."""
        return self.wte.weight.T

    def linear_head(self) -> LinearHead:
        return LinearHead(self.wte.weight)

    def embed(self, tokens_BT: Tensor, first: int = 0) -> Tensor:
        return self.dropout(super().embed(tokens_BT, first))

    def read(self, x: Tensor) -> Tensor:
        return x

    def unembedding(self, x: Tensor) -> Tensor:  # type: ignore[override]  # elsewhere a module
        """Logits by the transposed token embedding."""
        return x @ self.W_U


def check_dropout(dropout: float) -> None:
    """UserError unless `dropout` is a share below 1."""
    if isinstance(dropout, bool) or not isinstance(dropout, (int, float)) or not 0 <= dropout < 1:
        raise parameter_error("dropout", dropout, "it must be a number from 0 up to, not including, 1")
