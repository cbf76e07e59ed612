"""Matchers of 001: which of C - 1 embedded texts belongs to the embedded query before them?"""

from abc import abstractmethod
from functools import partial
from typing import ClassVar, Literal

import torch
from torch import Tensor, nn

from allmlp.common.errors import parameter_error
from allmlp.models.backbone import Block
from allmlp.models.base import SequenceModel
from allmlp.models.layers import FeedForward, check_heads, check_positive, mlp_width
from allmlp.models.masked_mixing import Mixing
from allmlp.models.openai_gpt import check_dropout

RECIPE = 1


class Matcher(SequenceModel):
    """Embeddings (B, C, features), the query first, -> one logit per candidate, (B, C - 1).

    A context of 32 has 31 candidates, and chance is ln 31 (001-22 to 001-27). The head is one vector: a bias would add
    the same to all candidates. `hidden` is its input, (B, C - 1, features).
    """

    predicts: ClassVar[Literal["all", "last"]] = "last"
    family: ClassVar[str] = "matcher"
    EMBEDDINGS: ClassVar[dict[str, str]] = {}

    def __init__(self, features: int, context: int, n_blocks: int) -> None:
        super().__init__()
        check_positive(features=features, context=context, n_blocks=n_blocks)
        if context < 3:
            raise parameter_error("context", context, "a query needs at least two candidates, so a context of 3")
        self.features, self.context, self.vocabulary = features, context, context - 1
        self.unembedding = nn.Linear(features, 1, bias=False)

    @abstractmethod
    def mix_embeddings(self, x_BCF: Tensor) -> Tensor:
        """The embeddings after all blocks: (B, C, features)."""

    def hidden(self, tokens_BT: Tensor) -> Tensor:
        """Candidates after all blocks, (B, C - 1, features)."""
        self.check_length(tokens_BT.shape[1], exactly=True)
        return self.mix_embeddings(tokens_BT)[:, 1:]

    def linear_head(self) -> None:
        """One logit a candidate is no linear map to a vocabulary."""

    def forward(self, tokens_BT: Tensor) -> Tensor:
        return self.unembedding(self.hidden(tokens_BT)).squeeze(-1)


class MatcherMixer(Matcher):
    """Bidirectional flat mixers over query and candidates: x + W norm(x), then x + GELU MLP of 4 x (001-22)."""

    def __init__(self, features: int, context: int, n_blocks: int = 8, d_mlp: int | None = None) -> None:
        super().__init__(features, context, n_blocks)
        d_mlp = mlp_width(features, d_mlp)
        norm = partial(nn.LayerNorm, features)
        self.blocks = nn.Sequential(
            *(
                Block(Mixing(features, context, causal=False), FeedForward(features, d_mlp), norm)
                for _ in range(n_blocks)
            )
        )

    def mix_embeddings(self, x_BCF: Tensor) -> Tensor:
        return self.blocks(x_BCF)


class MatcherTransformer(Matcher):
    """A bidirectional transformer that attends across the candidates: 001's matcher, corrected (001-27).

    The published layers, PyTorch's TransformerDecoderLayer given its input twice (self-attention, attention to the
    layer's input, ReLU MLP of 4 x), with three changes: batch_first is set, a learned vector tells the query from the
    candidates, which attention alone cannot, and norms come first, as in the mixer beside it (`norm_first=False`: as
    published). Dropout 0.1 is PyTorch's default, which the published code keeps.
    """

    ACROSS_BATCH: ClassVar[bool] = False

    def __init__(
        self,
        features: int,
        context: int,
        n_blocks: int = 8,
        n_heads: int = 4,
        dropout: float = 0.1,
        norm_first: bool = True,
    ) -> None:
        super().__init__(features, context, n_blocks)
        check_heads(features, n_heads)
        check_dropout(dropout)
        if not isinstance(norm_first, bool):
            raise parameter_error("norm_first", norm_first, "it must be true or false")
        self.blocks = nn.ModuleList(
            nn.TransformerDecoderLayer(
                features, n_heads, 4 * features, dropout, batch_first=not self.ACROSS_BATCH, norm_first=norm_first
            )
            for _ in range(n_blocks)
        )
        self.query = None if self.ACROSS_BATCH else nn.Parameter(torch.randn(features))

    def mix_embeddings(self, x_BCF: Tensor) -> Tensor:
        if self.query is not None:
            x_BCF = torch.cat([x_BCF[:, :1] + self.query, x_BCF[:, 1:]], dim=1)
        for block in self.blocks:
            x_BCF = block(x_BCF, x_BCF)
        return x_BCF


class MatcherTransformerAsPublished(MatcherTransformer):
    """001's bidirectional transformer as published: batch_first is unset, so that it attends across the batch.

    The layers take the first axis of (B, C, features) for the sequence. So candidate c of a query reads candidate c of
    the other queries, never its own query: no score depends on the query, and there is nothing to learn (001-27).
    """

    ACROSS_BATCH: ClassVar[bool] = True
    LEAKS: ClassVar[dict[str, str]] = {
        "batch neighbours": "batch_first is unset: attention runs over the batch (001-27)",
        "inputs matter": "attention over the batch keeps query and candidates apart (001-27)",
    }

    def __init__(self, features: int, context: int, n_blocks: int = 8, n_heads: int = 4, dropout: float = 0.1) -> None:
        super().__init__(features, context, n_blocks, n_heads, dropout, norm_first=False)
