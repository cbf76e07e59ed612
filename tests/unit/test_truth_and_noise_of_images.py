"""The rule on heat in the middle of images (002-9), applied to a hand-coded network that gathers from what is bright,
on images with a bright object in the middle, and to one that gathers from the middle whatever is there.
"""

import io
from types import SimpleNamespace

import numpy as np
import pandas as pd
import pyarrow.parquet as pq
import pytest
import torch
from PIL import Image
from torch import nn

from allmlp import models
from allmlp.data.images import ImageFile
from allmlp.studies.copying.measures.images import heat_shares
from allmlp.studies.copying.parts import central_patches
from tests import judging
from tests.unit.tried_rules import assert_as_in_ledger

SIDE, PATCH, COUNT, SEEDS = 32, 2, 64, range(5)


def discs(seed: int) -> np.ndarray:
    """Dark images with noise and a bright disc of a quarter of the area, a little off the middle: (N, H, W, 3)."""
    rng = np.random.default_rng(seed)
    row, column = np.ogrid[:SIDE, :SIDE]
    middles = (SIDE - 1) / 2 + rng.uniform(-3, 3, (COUNT, 2, 1, 1))
    inside = (row - middles[:, 0]) ** 2 + (column - middles[:, 1]) ** 2 < 9**2
    return np.repeat((60 + 130 * inside + rng.uniform(-30, 30, inside.shape)).astype(np.uint8)[..., None], 3, axis=-1)


def gathers_from_what_is_bright() -> nn.Module:
    """One block that finds in each patch whether it is brighter than the mean, as the class token asks."""
    model = models.build("linear-birn", vocabulary=2, context=(SIDE // PATCH) ** 2, features=3 * PATCH**2, d_model=8,
                         n_blocks=1, d_relation=8)  # fmt: skip
    with torch.no_grad():
        for weight in model.parameters():
            weight.zero_()
        model.embedding.weight[0], model.embedding.weight[1] = 1 / (3 * PATCH**2), -1 / (3 * PATCH**2)
        model.cls[:2] = torch.tensor([1.0, -1.0])
        (block,) = model.chain()
        for weight in (block.mixer.left.weight, block.mixer.right.weight):
            weight.copy_(torch.eye(8))
    return model


def gathers_from_the_middle(seed: int) -> nn.Module:
    """The same block, which finds in each patch where it is, and nothing of what is in it; not at all of some, as many
    as no other seed's."""
    model = gathers_from_what_is_bright()
    with torch.no_grad():
        model.embedding.weight.zero_()
        side = SIDE // PATCH
        inside_T = torch.where(torch.tensor(central_patches(side, side)).flatten(), 1.0, -1.0)
        inside_T[torch.randperm(side**2, generator=torch.Generator().manual_seed(seed))[: side + seed]] = -1.0
        model.wpe.weight[:-1, :2] = torch.stack([inside_T, -inside_T], dim=1)
    return model


def with_fresh_weights(seed: int) -> nn.Module:
    """As wide as it is quick to compute, of the paper's depth."""
    torch.manual_seed(seed)
    return models.build("linear-birn", vocabulary=10, context=(SIDE // PATCH) ** 2, features=3 * PATCH**2, d_model=32,
                        n_blocks=6)  # fmt: skip


def heat(seed: int, model: nn.Module, pixels: np.ndarray) -> pd.DataFrame:
    """`heat_shares` of a network on images (N, H, W, 3), as of a run on CIFAR."""
    mean, deviation = (of(pixels / 255, axis=(0, 1, 2)).astype(np.float32) for of in (np.mean, np.std))
    file = SimpleNamespace(test=(pixels, np.zeros(len(pixels))), size=(SIDE, SIDE), mean=mean, deviation=deviation)
    file.patches = lambda some, patch: ImageFile.patches(file, some, patch)  # type: ignore[arg-type]
    task = SimpleNamespace(file=file, patch=PATCH, drawn_rows=lambda most: np.arange(min(most, len(pixels))))
    trained = SimpleNamespace(task=lambda: task, model=lambda: model.eval(), run=SimpleNamespace(device="cpu"))
    with torch.no_grad():
        rows = heat_shares(trained)  # type: ignore[arg-type]
    return rows.assign(run=f"r{seed}", seed=seed, model="linear-birn", corpus="cifar5m")


@pytest.mark.slow
def test_heat_in_the_middle_is_not_told_from_a_network_that_looks_there_anyway(shared_data) -> None:
    table = pq.read_table(shared_data("cifar10/cifar10_jpeg_test.parquet"), columns=["image"]).slice(0, COUNT)
    jpegs = table["image"].to_pylist()
    photographs = np.stack([np.asarray(Image.open(io.BytesIO(one)).convert("RGB")) for one in jpegs])
    truth = pd.concat([heat(seed, gathers_from_what_is_bright(), discs(seed)) for seed in SEEDS])
    noise = pd.concat([heat(seed, gathers_from_the_middle(seed), photographs) for seed in SEEDS])
    assert_as_in_ledger("002-9", judging.judged("002-9", heat_shares=truth), judging.judged("002-9", heat_shares=noise))
    fresh = pd.concat([heat(seed, with_fresh_weights(seed), photographs) for seed in SEEDS])
    assert judging.judged("002-9", heat_shares=fresh).verdict == "contradicted"


def test_heat_leaves_the_middle_with_the_object_and_not_where_the_network_looks_there_anyway() -> None:
    """What the ledger's reason says of images shifted by half a side, which no measure holds."""

    def falls(model: nn.Module) -> float:
        images = discs(0)
        shifted = np.roll(images, (SIDE // 2, SIDE // 2), axis=(1, 2))
        before, after = (heat(0, model, pixels)["centre_share_1"].mean() for pixels in (images, shifted))
        return before - after

    assert falls(gathers_from_what_is_bright()) == pytest.approx(0.66, abs=0.01)
    assert falls(gathers_from_the_middle(0)) == pytest.approx(0, abs=1e-6)
