"""Measures of runs that classify images: curves, heat maps."""

from typing import cast

import numpy as np
import pandas as pd
import torch
from torch import nn

from allmlp.common.errors import UserError
from allmlp.data.tasks.images import ImageClassification
from allmlp.data.tasks.task import Batch, Task
from allmlp.models.birn import BidirectionalRelation
from allmlp.models.patches import PatchClassifier
from allmlp.spec.columns import Rows, exact, numeric
from allmlp.spec.measures import measure
from allmlp.spec.protocols import TrainedRun
from allmlp.studies.copying.parts import central_patches
from allmlp.studies.shared.curves import append_end, sample_log
from allmlp.training.loss import cross_entropy

MOST_ROWS = 400


@measure(
    recipe=1,
    step=exact("training steps done"),
    loss_nats=numeric("training loss of the step's batch, before its update; nan at the end", rtol=0.1, atol=0.1),
    accuracy_1=numeric("share of that batch's images classified right; nan at the end", atol=0.15),
    test_nats=numeric("loss on held-out images; nan where no weights were kept", rtol=0.05, atol=0.05),
    test_accuracy_1=numeric("share of held-out images classified right; nan as there", atol=0.03),
)
def image_curve(trained: TrainedRun) -> Rows:
    """Training loss and accuracy of each batch, test loss and accuracy at kept steps and at the end (002-8).

    One row per kept step of the log, and one for the end.
    """
    names, end = {"loss": "loss_nats", "accuracy": "accuracy_1"}, trained.ending["steps_done"]
    curve = sample_log(trained.log, MOST_ROWS, names, always=trained.steps)
    curve = append_end(curve[curve["step"] < end], trained)
    task = trained.task()
    batches = task.validation()
    tested = {step: _test_model(trained, task, batches, step) for step in trained.steps}
    found = pd.DataFrame.from_dict(tested, orient="index", columns=["test_nats", "test_accuracy_1"])
    return curve.join(found, on="step")


@torch.no_grad()
def _test_model(trained: TrainedRun, task: Task, batches: list[Batch], step: int) -> tuple[float, float]:
    """Loss (nats) and accuracy over all held-out images; nan for weights that a divergence spoilt."""
    device = "cuda" if trained.run.device == "cuda" and torch.cuda.is_available() else "cpu"
    model = trained.model(step).to(device)
    losses, right, count = 0.0, 0.0, sum(len(batch.targets) for batch in batches)
    for batch in batches:
        logits = model(batch.tokens.to(device)).cpu()
        losses += cross_entropy(logits, batch.targets, torch.float64).item() * len(batch.targets)
        right += task.scores(logits, batch)["accuracy"] * len(batch.targets)
    return losses / count, right / count


LAYER = 6  # counted from 1; the last one if there are fewer
DRAWN = 6  # of the test split, always the same


@measure(
    recipe=1,
    layer=exact("block whose relation is shown, from 1"),
    image=exact("number of the image in the draw from the test split"),
    label=exact("its class"),
    patch_row=exact("row of the patch, from the top"),
    patch_column=exact("column of the patch, from the left"),
    channels=exact("numbers of a pixel"),
    pixels=exact("the patch's pixels, row by row, two hexadecimal digits for each channel's value"),
    heat_1=numeric("norm of exp(a_CLS + b_i) over the image's sum of it", rtol=0.2, atol=0.02),
)
def heat_maps(trained: TrainedRun) -> Rows:
    """Heat maps of test images: how much each patch contributes to the class token (Figure 8, 002-9).

    Heat of patch i: the norm over features of exp(a_CLS + b_i) as block `LAYER` forms it, a = W_right x + b_in and b =
    W_left x of the block's normed input, inside the block's own pre-activation norm: exp(LN0(a_CLS + b_i)) for BiRN,
    exp(LN0(a_CLS) + LN0(b_i)) for Linear BiRN. The published heat-map code feeds the block's input to W_left and
    W_right without the block's norm, so its maps show a layer that was not trained; and it has only the linear form. As
    in that code, the heat of an image's patches adds up to 1.

    One row per image and patch.
    """
    task = trained.task()
    patches, pixels, labels, rows = drawn_images(task, DRAWN)  # type: ignore[arg-type]
    heat_NRC, layer = heat(trained.model(), patches, rows)
    patch, (N, R, C) = task.patch, heat_NRC.shape  # type: ignore[attr-defined]
    image, row, column = (index.ravel() for index in np.indices((N, R, C)))
    hexadecimal = [
        pixels[n, patch * r : patch * (r + 1), patch * c : patch * (c + 1)].tobytes().hex()
        for n, r, c in zip(image, row, column, strict=True)
    ]
    of_image = layer, image, labels[image].astype(int)
    columns = *of_image, row, column, pixels.shape[-1], hexadecimal, heat_NRC.ravel()
    return pd.DataFrame(dict(zip(heat_maps.columns, columns, strict=True)))


@torch.no_grad()
def heat(model: nn.Module, patches_BTF: torch.Tensor, rows: int) -> tuple[np.ndarray, int]:
    """(B, rows, columns), adding up to 1 for each image, and the layer. UserError for a model without relations."""
    blocks = cast(PatchClassifier, model).chain()
    layer = min(LAYER, len(blocks))
    block = blocks[layer - 1]
    if not isinstance(block.mixer, BidirectionalRelation):
        raise UserError(f"{type(model).__name__} has no relation of patches with CLS, so no heat map")
    x_BTD = block.norm(cast(PatchClassifier, model).residual(patches_BTF, layer - 1))
    heat_BT = block.mixer.pair_values(x_BTD, -1)[:, :-1].double().norm(dim=-1)
    heat_BT = heat_BT / heat_BT.sum(-1, keepdim=True)
    return heat_BT.reshape(len(heat_BT), rows, -1).numpy(), layer


def drawn_images(task: ImageClassification, most: int) -> tuple[torch.Tensor, np.ndarray, np.ndarray, int]:
    """`most` test images: patches (N, T, F), pixels (N, H, W, C) uint8, labels (N,); rows of patches."""
    pixels, labels = (part[task.drawn_rows(most)] for part in task.file.test)
    return torch.from_numpy(task.file.patches(pixels, task.patch)), pixels, labels, task.file.size[0] // task.patch


IMAGES, AT_ONCE = 512, 32  # of the test split, and how many go through the model together


@measure(
    recipe=1,
    layer=exact("block whose relation is taken, from 1"),
    image=exact("number of the image in the draw from the test split"),
    label=exact("its class"),
    centre_share_1=numeric("heat of the central patches over that of all patches", rtol=0.1, atol=0.02),
    area_share_1=numeric("number of central patches over that of all patches", rtol=1e-9),
)
def heat_shares(trained: TrainedRun) -> Rows:
    """How much of the heat lies in the middle of test images (002-9; see `heat_maps`).

    One row per image.
    """
    patches, _, labels, rows = drawn_images(trained.task(), IMAGES)  # type: ignore[arg-type]
    device = "cuda" if trained.run.device == "cuda" and torch.cuda.is_available() else "cpu"
    model = trained.model().to(device)
    found = [heat(model, part.to(device), rows) for part in patches.split(AT_ONCE)]
    heat_NRC = np.concatenate([part for part, _ in found])
    inside = central_patches(*heat_NRC.shape[1:])
    shares_N = heat_NRC[:, inside].sum(-1)
    columns = found[0][1], np.arange(len(labels)), labels.astype(int), shares_N, inside.mean()
    return pd.DataFrame(dict(zip(heat_shares.columns, columns, strict=True)))
