"""The Transformer as an image classifier, as 002 App. C compares it with BiRNs."""

from collections.abc import Callable
from functools import partial
from typing import ClassVar, Unpack

from allmlp.models.attention import SoftmaxAttention, transformer_parts
from allmlp.models.base import TokenMixer
from allmlp.models.patches import PatchClassifier, PatchSizes

RECIPE = 1


class TransformerClassifier(PatchClassifier):
    """The blocks of `Transformer`, where every patch sees every other and CLS."""

    family: ClassVar[str] = "attention"
    MIXER: ClassVar[Callable[..., TokenMixer]] = partial(SoftmaxAttention, causal=False)

    def __init__(
        self, n_heads: int = 1, d_mlp: int | None = None, eps: float = 1e-5, **sizes: Unpack[PatchSizes]
    ) -> None:
        super().__init__(**transformer_parts(type(self).MIXER, sizes["d_model"], n_heads, d_mlp, eps), **sizes)
