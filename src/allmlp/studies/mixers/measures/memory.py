"""Memory of one pass forward and one backward against context and depth, beside the paper's tables (001-13, 001-14):
bytes that the forward pass keeps for the backward pass, counted, and the peak on a device.

>>> deep = of_depths("masked-mixer", [4, 8], context=64, d_model=32, vocabulary=16)
>>> deep[8].total > deep[4].total
True
"""

import math
from collections.abc import Sequence
from itertools import product
from typing import Any, NamedTuple

import pandas as pd
import torch
from torch import Tensor
from torch._subclasses.fake_tensor import FakeTensorMode

from allmlp import models
from allmlp.columns import exact, timing
from allmlp.models.base import SequenceModel
from allmlp.protocols import Trained
from allmlp.studies.mixers.named import SIZES

RECIPE = 1
MODELS: dict[str, tuple[str, dict[str, Any]]] = {
    "flat mixer": ("masked-mixer", {}),
    "transformer": ("llama", {"n_heads": 16, "fused": False}),  # 16 heads, as in the paper's models of that section
    "transformer, fused attention": ("llama", {"n_heads": 16, "fused": True}),
}
CONTEXTS = (512, 1024, 2048, 4096, 8192)
LAYERS = (4, 8, 16)

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
    for (name, (architecture, own)), context in product(MODELS.items(), CONTEXTS):
        sizes = {**SIZES, **own, "context": context}
        for n_blocks, found in of_depths(architecture, LAYERS, **sizes).items():
            most = peak(architecture, device, n_blocks=n_blocks, **sizes) if device == "cuda" else None
            rows.append((name, n_blocks, context, *found, found.total, math.nan if most is None else most))
    return pd.DataFrame(rows, columns=list(COLUMNS))


class Bytes(NamedTuple):
    """Of one forward and backward pass over one sequence, without the head: weights, buffers, what is kept between."""

    parameters: int
    buffers: int
    kept: int

    @property
    def total(self) -> int:
        """With the gradients of the weights: a lower bound for every implementation of the two passes."""
        return 2 * self.parameters + self.buffers + self.kept


def of_depths(architecture: str, depths: Sequence[int], **hyperparameters: Any) -> dict[int, Bytes]:
    """n_blocks -> count: blocks are alike, so one and two blocks give the amount per further block (tested)."""
    one, two = (count(architecture, n_blocks=n, **hyperparameters) for n in (1, 2))
    further = [second - first for first, second in zip(one, two, strict=True)]
    return {n: Bytes(*(a + (n - 1) * b for a, b in zip(one, further, strict=True))) for n in depths}


def count(architecture: str, **hyperparameters: Any) -> Bytes:
    """Counts without computing or allocating: on tensors that have a size and a device (the CPU), but no values.

    The count is that of real tensors, to the byte (tested). The meta device would count fused attention as unfused,
    because PyTorch chooses no kernel there.
    """
    with FakeTensorMode():
        model = models.build(architecture, **hyperparameters)
        return counted(model, torch.zeros(1, model.context, dtype=torch.int64))


def counted(model: SequenceModel, tokens_BT: Tensor) -> Bytes:
    """The same for an existing model, with tokens (B, T), fake or real."""
    weights = {name: weight for name, weight in model.named_parameters() if name != head(model)}
    own = {weight.untyped_storage()._cdata for weight in (*model.parameters(), *model.buffers())}
    kept: dict[int, Tensor] = {}  # the tensors themselves, so that no storage is freed and its address used again

    def pack(tensor: Tensor) -> Tensor:
        storage = tensor.untyped_storage()._cdata
        if storage not in own:
            kept.setdefault(storage, tensor)
        return tensor

    with torch.autograd.graph.saved_tensors_hooks(pack, lambda tensor: tensor):
        model.hidden(tokens_BT)
    return Bytes(
        parameters=sum(_size(weight) for weight in weights.values()),
        buffers=sum(_size(buffer) for buffer in model.buffers()),
        kept=sum(_size(tensor) for tensor in kept.values()),
    )


def peak(architecture: str, device: str, **hyperparameters: Any) -> int | None:
    """Most bytes allocated on a CUDA device during both passes; None where they do not fit."""
    torch.cuda.empty_cache()
    torch.cuda.reset_peak_memory_stats(device)
    before = torch.cuda.memory_allocated(device)
    try:
        with torch.device(device):
            model = models.build(architecture, **hyperparameters)
            model.hidden(torch.zeros(1, model.context, dtype=torch.int64)).sum().backward()
        return torch.cuda.max_memory_allocated(device) - before
    except torch.cuda.OutOfMemoryError:
        return None


def head(model: SequenceModel) -> str | None:
    """The name of the unembedding's weight, which is not counted."""
    return model.EMBEDDINGS.get("unembedding")


def _size(tensor: Tensor) -> int:
    return tensor.untyped_storage().nbytes()
