"""Image classifiers: patches in, a class out, through the residual blocks of any token mixer."""

from collections.abc import Callable
from typing import ClassVar, Literal, TypedDict

import torch
from torch import Tensor, nn

from allmlp.common.errors import UserError
from allmlp.models.backbone import Block, Mixer, Norm
from allmlp.models.base import SequenceModel
from allmlp.models.layers import FeedForward, check_positive, initialise_normal


class PatchSizes(TypedDict):
    """The hyperparameters that every `PatchClassifier` takes; `features`: the numbers of a patch."""

    vocabulary: int
    context: int
    features: int
    d_model: int
    n_blocks: int


class PatchClassifier(SequenceModel):
    """Linear patch embedding, CLS after the last patch, positions, residual blocks, final norm, head on CLS (002 C).

    patches (B, T, F) of floats, T = context exactly, F = `features` (numbers of a patch) -> logits (B, `vocabulary`),
    one per class. CLS is last, so a causal mixer lets it read every patch. Weights as in `Backbone`: linear
    maps N(0, 0.02), residual writers smaller, biases zero; CLS and positions N(0, 1). The map of patches is
    N(0, `embedding_std`), 1 / sqrt(F) unless given: embedded patches of standardised pixels are then N(0, 1) too. The
    published one is N(0, 0.02), without a bias (`embedding_bias`).
    """

    predicts: ClassVar[Literal["all", "last"]] = "last"
    EMBEDDINGS: ClassVar[dict[str, str]] = {"positions": "wpe.weight", "unembedding": "unembedding.weight"}

    def __init__(
        self,
        vocabulary: int,
        context: int,
        features: int,
        d_model: int,
        n_blocks: int,
        *,
        mixer: Mixer,
        norm: Norm,
        feed_forward: Callable[[], FeedForward] | None = None,
        embedding_bias: bool = True,
        embedding_std: float | None = None,
    ) -> None:
        super().__init__()
        check_positive(vocabulary=vocabulary, context=context, features=features, d_model=d_model, n_blocks=n_blocks)
        self.vocabulary, self.context, self.features = vocabulary, context, features
        self.embedding = nn.Linear(features, d_model, bias=embedding_bias)
        self.cls = nn.Parameter(torch.randn(d_model))
        self.wpe = nn.Embedding(context + 1, d_model)
        self.blocks = nn.ModuleList(
            Block(mixer(d_model, context + 1), feed_forward() if feed_forward else None, norm) for _ in range(n_blocks)
        )
        self.norm = norm()
        self.unembedding = nn.Linear(d_model, vocabulary, bias=False)
        initialise_normal(self, std=0.02, residual_connections=n_blocks * (2 if feed_forward else 1))
        nn.init.normal_(self.embedding.weight, std=features**-0.5 if embedding_std is None else embedding_std)

    def residual(self, patches_BTF: Tensor, blocks: int | None = None) -> Tensor:
        """The residual stream after `blocks` blocks (None: all), CLS last: (B, T + 1, D)."""
        self._check(patches_BTF)
        x_BTD = self.embedding(patches_BTF)
        x_BTD = torch.cat([x_BTD, self.cls.to(x_BTD.dtype).expand(len(x_BTD), 1, -1)], dim=1) + self.wpe.weight
        for block in self.chain()[:blocks]:
            x_BTD = block(x_BTD)
        return x_BTD

    def chain(self) -> list[Block]:
        """The blocks, in order."""
        return [block for block in self.blocks if isinstance(block, Block)]  # a ModuleList does not know their type

    def hidden(self, patches_BTF: Tensor) -> Tensor:
        """The input of the head, the normed stream at CLS: (B, D)."""
        return self.norm(self.residual(patches_BTF)[:, -1])

    def forward(self, patches_BTF: Tensor) -> Tensor:
        return self.unembedding(self.hidden(patches_BTF))

    def _check(self, patches_BTF: Tensor) -> None:
        given = patches_BTF.shape[-1]
        if given != self.features:
            raise UserError(
                f"{type(self).__name__} reads patches of {self.features} numbers and was given {given}: "
                f"build it with features={given}, or give it other patches"
            )
        self.check_length(patches_BTF.shape[1], exactly=True)
