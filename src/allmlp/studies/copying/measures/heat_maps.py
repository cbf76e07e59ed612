"""Heat maps of test images: how much each patch contributes to the class token (Figure 8, 002-9).

Heat of patch i: the norm over features of exp(a_CLS + b_i) as block `LAYER` forms it, a = W_right x + b_in and
b = W_left x of the block's normed input, inside the block's own pre-activation norm: exp(LN0(a_CLS + b_i)) for BiRN,
exp(LN0(a_CLS) + LN0(b_i)) for Linear BiRN. The published heat-map code feeds the block's input to W_left and W_right
without the block's norm, so its maps show a layer that was not trained; and it has only the linear form. As in that
code, the heat of an image's patches adds up to 1.
"""

from typing import cast

import numpy as np
import pandas as pd
import torch
from torch import nn

from allmlp.columns import exact, numeric
from allmlp.errors import UserError
from allmlp.models.birn import BidirectionalRelation
from allmlp.models.patches import PatchClassifier
from allmlp.protocols import Trained
from allmlp.tasks.images import ImageClassification

RECIPE = 1
LAYER = 6  # counted from 1; the last one if there are fewer
IMAGES = 6  # of the test split, always the same

COLUMNS = {
    "layer": exact("block whose relation is shown, from 1"),
    "image": exact("number of the image in the draw from the test split"),
    "label": exact("its class"),
    "patch_row": exact("row of the patch, from the top"),
    "patch_column": exact("column of the patch, from the left"),
    "channels": exact("numbers of a pixel"),
    "pixels": exact("the patch's pixels, row by row, two hexadecimal digits for each channel's value"),
    "heat_1": numeric("norm of exp(a_CLS + b_i) over the image's sum of it", rtol=0.2, atol=0.02),
}


def measure(trained: Trained) -> pd.DataFrame:
    """One row per image and patch."""
    task = trained.task()
    patches, pixels, labels, rows = drawn_images(task, IMAGES)  # type: ignore[arg-type]
    heat_NRC, layer = heat(trained.model(), patches, rows)
    patch, (N, R, C) = task.patch, heat_NRC.shape  # type: ignore[attr-defined]
    image, row, column = (index.ravel() for index in np.indices((N, R, C)))
    hexadecimal = [
        pixels[n, patch * r : patch * (r + 1), patch * c : patch * (c + 1)].tobytes().hex()
        for n, r, c in zip(image, row, column, strict=True)
    ]
    of_image = layer, image, labels[image].astype(int)
    columns = *of_image, row, column, pixels.shape[-1], hexadecimal, heat_NRC.ravel()
    return pd.DataFrame(dict(zip(COLUMNS, columns, strict=True)))


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
