"""Weights at the printed sizes, and of other readings of the text (004-1, E004-3)."""

from typing import Any

import pandas as pd
import torch

from allmlp import models
from allmlp.columns import exact
from allmlp.studies.triangular.printed import READING, SIZES

RECIPE = 1
READINGS: dict[str, dict[str, Any]] = {
    READING: {},
    "one triangle, sine layer": {"layers": 1},
    "two triangles, sine layer as wide as the model": {"d_mlp": SIZES["d_model"]},
}

COLUMNS = {
    "reading": exact("which model the text might mean"),
    "parameters": exact("its weights"),
    "masked": exact("those of them above the diagonals of the triangles, which take no part"),
}


def measure() -> pd.DataFrame:
    """One row per reading; nothing is allocated, and the run's weights are not used."""
    rows = []
    for reading, changes in READINGS.items():
        sizes = {**SIZES, **changes}
        with torch.device("meta"):
            model = models.build("triangular", **sizes)
        masked = SIZES["n_blocks"] * sizes.get("layers", 2) * SIZES["context"] * (SIZES["context"] - 1) // 2
        rows.append((reading, sum(weight.numel() for weight in model.parameters()), masked))
    return pd.DataFrame(rows, columns=list(COLUMNS))
