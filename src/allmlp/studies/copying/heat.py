"""How much each patch contributes to the class token in a trained bidirectional network (Figure 8, 002-9).

Heat of patch i: the norm over features of exp(a_CLS + b_i) as block `LAYER` forms it, a = W_right x + b_in and
b = W_left x of the block's normed input, inside the block's own pre-activation norm: exp(LN0(a_CLS + b_i)) for BiRN,
exp(LN0(a_CLS) + LN0(b_i)) for Linear BiRN. The published heat-map code feeds the block's input to W_left and W_right
without the block's norm, so its maps show a layer that was not trained; and it has only the linear form. As in that
code, the heat of an image's patches adds up to 1.
"""

from typing import cast

import numpy as np
import torch
from torch import nn

from allmlp.errors import UserError
from allmlp.models.birn import BidirectionalRelation
from allmlp.models.patches import PatchClassifier
from allmlp.tasks.images import ImageClassification

LAYER = 6  # counted from 1; the last one if there are fewer


@torch.no_grad()
def heat(model: nn.Module, patches_BTF: torch.Tensor, rows: int) -> tuple[np.ndarray, int]:
    """(B, rows, columns), adding up to 1 for each image, and the layer. UserError for a model without relations."""
    blocks = cast(PatchClassifier, model).chain()
    layer = min(LAYER, len(blocks))
    block = blocks[layer - 1]
    if not isinstance(block.mixer, BidirectionalRelation):
        raise UserError(f"{type(model).__name__} has no relation of patches with CLS, so no heat map")
    x_BTD = block.norm(cast(PatchClassifier, model).residual(patches_BTF, layer - 1))
    heat_BT = block.mixer.pairs_with(x_BTD, -1)[:, :-1].double().norm(dim=-1)
    heat_BT = heat_BT / heat_BT.sum(-1, keepdim=True)
    return heat_BT.reshape(len(heat_BT), rows, -1).numpy(), layer


def drawn_images(task: ImageClassification, most: int) -> tuple[torch.Tensor, np.ndarray, np.ndarray, int]:
    """`most` test images: patches (N, T, F), pixels (N, H, W, C) uint8, labels (N,); rows of patches."""
    pixels, labels = (part[task.drawn_rows(most)] for part in task.file.test)
    return torch.from_numpy(task.file.patches(pixels, task.patch)), pixels, labels, task.file.size[0] // task.patch
