"""How much of the heat lies in the middle of test images (002-9; see heat_maps.py)."""

import numpy as np
import pandas as pd
import torch

from allmlp.columns import exact, numeric
from allmlp.protocols import Trained
from allmlp.studies.copying.measures.heat_maps import drawn_images, heat
from allmlp.studies.copying.parts import central

RECIPE = 1
IMAGES, AT_ONCE = 512, 32  # of the test split, and how many go through the model together

COLUMNS = {
    "layer": exact("block whose relation is taken, from 1"),
    "image": exact("number of the image in the draw from the test split"),
    "label": exact("its class"),
    "centre_share_1": numeric("heat of the central patches over that of all patches", rtol=0.1, atol=0.02),
    "area_share_1": numeric("number of central patches over that of all patches", rtol=1e-9),
}


def measure(trained: Trained) -> pd.DataFrame:
    """One row per image."""
    patches, _, labels, rows = drawn_images(trained.task(), IMAGES)  # type: ignore[arg-type]
    device = "cuda" if trained.run.device == "cuda" and torch.cuda.is_available() else "cpu"
    model = trained.model().to(device)
    found = [heat(model, part.to(device), rows) for part in patches.split(AT_ONCE)]
    heat_NRC = np.concatenate([part for part, _ in found])
    inside = central(*heat_NRC.shape[1:])
    shares_N = heat_NRC[:, inside].sum(-1)
    columns = found[0][1], np.arange(len(labels)), labels.astype(int), shares_N, inside.mean()
    return pd.DataFrame(dict(zip(COLUMNS, columns, strict=True)))
