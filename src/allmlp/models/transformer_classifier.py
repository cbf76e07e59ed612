"""The Transformer as an image classifier, as 002 App. C compares it with BiRNs."""

from collections.abc import Callable
from functools import partial
from typing import ClassVar

from allmlp.models.attention import SoftmaxAttention
from allmlp.models.base import TokenMixer
from allmlp.models.layers import FeedForward, PlainNorm, check_eps, check_heads, check_positive
from allmlp.models.patches import PatchClassifier

RECIPE = 1


class TransformerClassifier(PatchClassifier):
    """The blocks of `Transformer`, where every patch sees every other and CLS."""

    family: ClassVar[str] = "attention"
    MIXER: ClassVar[Callable[..., TokenMixer]] = partial(SoftmaxAttention, causal=False)

    def __init__(
        self,
        vocabulary: int,
        context: int,
        features: int,
        d_model: int,
        n_blocks: int,
        n_heads: int = 1,
        d_mlp: int | None = None,
        eps: float = 1e-5,
    ) -> None:
        check_heads(d_model, n_heads)
        check_eps(eps)
        d_mlp = 4 * d_model if d_mlp is None else d_mlp
        check_positive(d_mlp=d_mlp)
        super().__init__(
            vocabulary,
            context,
            features,
            d_model,
            n_blocks,
            mixer=partial(type(self).MIXER, n_heads=n_heads),
            norm=partial(PlainNorm, eps),
            feed_forward=partial(FeedForward, d_model, d_mlp),
        )
