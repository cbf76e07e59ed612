"""A mixer of a user's file between the blocks of the common backbone: norm, mixer, norm, feed-forward."""

from functools import partial
from typing import ClassVar, Unpack

from torch import nn

from allmlp.models.backbone import Backbone, Sizes
from allmlp.models.layers import FeedForward
from allmlp.pipeline.try_mixer import loading

RECIPE = 1


class FileMixer(Backbone):
    """`file` holds the mixer, built as `Mixer(d_model, context)`; `digest` of its bytes, so that ids follow it."""

    causal: ClassVar[bool] = True
    family: ClassVar[str] = "yours"

    def __init__(self, file: str, digest: str, **sizes: Unpack[Sizes]) -> None:
        D = sizes["d_model"]
        super().__init__(
            mixer=loading.load_class(file, digest),
            norm=partial(nn.LayerNorm, D),
            feed_forward=partial(FeedForward, D, 4 * D),
            **sizes,
        )
