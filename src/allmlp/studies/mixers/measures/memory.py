"""Memory of one pass forward and one backward against context and depth, beside the paper's tables (001-13, 001-14)."""

import math
from typing import Any

import pandas as pd

from allmlp.columns import exact, timing
from allmlp.protocols import Trained
from allmlp.studies.mixers.memory import of_depths, peak

RECIPE = 1
MODELS: dict[str, tuple[str, dict[str, Any]]] = {
    "flat mixer": ("masked-mixer", {}),
    "transformer": ("llama", {"n_heads": 16, "fused": False}),  # 16 heads, as in the paper's models of that section
    "transformer, fused attention": ("llama", {"n_heads": 16, "fused": True}),
}
CONTEXTS = (512, 1024, 2048, 4096, 8192)
LAYERS = (4, 8, 16)
SIZES = {"d_model": 1024, "vocabulary": 4096}

COLUMNS = {
    "model": exact("flat mixer, or the transformer with attention as the paper computed it, or fused"),
    "n_blocks": exact("layers"),
    "context": exact("tokens of the one sequence"),
    "parameters_bytes": exact("weights without the head, in float32; as many for their gradients"),
    "buffers_bytes": exact("what the model holds besides weights"),
    "kept_bytes": exact("what the forward pass keeps for the backward pass besides weights, each storage once"),
    "total_bytes": exact("weights, gradients, buffers and what is kept"),
    "peak_bytes": timing("most bytes allocated on the run's device; nan without one, and where they did not fit"),
}


def measure(trained: Trained) -> pd.DataFrame:
    """One row per model, depth and context, of the paper's width."""
    device = trained.run.device
    rows = []
    for name, (architecture, own) in MODELS.items():
        for context in CONTEXTS:
            sizes = {**SIZES, **own, "context": context}
            for n_blocks, found in of_depths(architecture, LAYERS, **sizes).items():
                at_most = peak(architecture, device, n_blocks=n_blocks, **sizes) if device == "cuda" else None
                rows.append(
                    {
                        "model": name,
                        "n_blocks": n_blocks,
                        "context": context,
                        "parameters_bytes": found.parameters,
                        "buffers_bytes": found.buffers,
                        "kept_bytes": found.kept,
                        "total_bytes": found.total,
                        "peak_bytes": math.nan if at_most is None else at_most,
                    }
                )
    return pd.DataFrame(rows, columns=list(COLUMNS))
