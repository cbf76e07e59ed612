"""Bytes that a forward pass keeps for the backward pass, counted, and the peak on a device (001-13, 001-14).

>>> deep = of_depths("masked-mixer", [4, 8], context=64, d_model=32, vocabulary=16)
>>> deep[8].total > deep[4].total
True
"""

from collections.abc import Sequence
from typing import Any, NamedTuple

import torch
from torch import Tensor
from torch._subclasses.fake_tensor import FakeTensorMode

from allmlp import models
from allmlp.models.base import SequenceModel


class Bytes(NamedTuple):
    """Of one forward and backward pass over one sequence, without the head: weights, buffers, what is kept between."""

    parameters: int
    buffers: int
    kept: int

    @property
    def total(self) -> int:
        """Weights, their gradients, buffers and kept bytes: a lower bound for every implementation of the two
        passes."""
        return 2 * self.parameters + self.buffers + self.kept


def of_depths(architecture: str, depths: Sequence[int], **hyperparameters: Any) -> dict[int, Bytes]:
    """n_blocks -> count: blocks are alike, so one and two blocks give the amount per further block (tested)."""
    one, two = (count(architecture, n_blocks=n, **hyperparameters) for n in (1, 2))
    return {
        n: Bytes(*(first + (n - 1) * (second - first) for first, second in zip(one, two, strict=True))) for n in depths
    }


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
