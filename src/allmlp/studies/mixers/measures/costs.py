"""Memory of passes and of training steps, and the speed of generation."""

import math
import statistics
import time
from collections.abc import Callable, Sequence
from functools import partial
from itertools import product
from typing import Any, NamedTuple

import torch
from torch import Tensor
from torch._subclasses.fake_tensor import FakeTensorMode

from allmlp import models
from allmlp.data import tasks
from allmlp.models.base import SequenceModel
from allmlp.spec.columns import Rows, exact, numeric, timing
from allmlp.spec.measures import measure
from allmlp.spec.protocols import TrainedRun
from allmlp.spec.run import Run
from allmlp.studies.mixers.names import SIZES
from allmlp.training.loss import cross_entropy

MODELS: dict[str, tuple[str, dict[str, Any]]] = {
    "flat mixer": ("masked-mixer", {}),
    "transformer": ("llama", {"n_heads": 16, "fused": False}),  # 16 heads, as in the paper's models of that section
    "transformer, fused attention": ("llama", {"n_heads": 16, "fused": True}),
}
CONTEXTS = (512, 1024, 2048, 4096, 8192)
LAYERS = (4, 8, 16)


@measure(
    recipe=1,
    model=exact("flat mixer, or the transformer with attention as the paper computed it, or fused"),
    n_blocks=exact("layers"),
    context=exact("tokens of the one sequence"),
    parameters_bytes=exact("weights without the head, in float32; as many for their gradients"),
    buffers_bytes=exact("what the model holds besides weights"),
    kept_bytes=exact("what the forward pass keeps for the backward pass besides weights, each storage once"),
    total_bytes=exact("weights, gradients, buffers and what is kept"),
    peak_bytes=timing("most bytes allocated on the run's device; nan without one, and where they did not fit"),
)
def memory(trained: TrainedRun) -> Rows:
    """Memory of one pass forward and one backward against context and depth, beside the paper's tables (001-13,
    001-14): bytes that the forward pass keeps for the backward pass, counted, and the peak on a device.

    One row per model, depth and context, of the paper's width.
    """
    device = trained.run.device
    for (name, (architecture, own)), context in product(MODELS.items(), CONTEXTS):
        sizes = {**SIZES, **own, "context": context}
        for n_blocks, found in bytes_by_depth(architecture, LAYERS, **sizes).items():
            most = peak(architecture, device, n_blocks=n_blocks, **sizes) if device == "cuda" else None
            yield (name, n_blocks, context, *found, found.total, math.nan if most is None else most)


class Bytes(NamedTuple):
    """Of one forward and backward pass over one sequence, without the head: weights, buffers, what is kept between."""

    parameters: int
    buffers: int
    kept: int

    @property
    def total(self) -> int:
        """With the gradients of the weights: a lower bound for every implementation of the two passes."""
        return 2 * self.parameters + self.buffers + self.kept


def bytes_by_depth(architecture: str, depths: Sequence[int], **hyperparameters: Any) -> dict[int, Bytes]:
    """n_blocks -> count: blocks are alike, so one and two blocks give the amount per further block (tested).

    >>> deep = bytes_by_depth("masked-mixer", [4, 8], context=64, d_model=32, vocabulary=16)
    >>> deep[8].total > deep[4].total
    True
    """
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
        return count_bytes(model, torch.zeros(1, model.context, dtype=torch.int64))


def count_bytes(model: SequenceModel, tokens_BT: Tensor) -> Bytes:
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


COPIES = 4  # of the weights: themselves, their gradients, AdamW's two means


@measure(
    recipe=1,
    counted_bytes=exact("four times the weights, and what the forward pass of a batch keeps; no unembedding"),
    peak_bytes=numeric("most bytes allocated in a step on the CUDA device; the count where there is none", rtol=0.1),
    device=exact("what peak_bytes is of: cuda, or counted"),
)
def training_memory(trained: TrainedRun) -> Rows:
    """Memory of one training step of a run: counted, and the peak where it trains on a CUDA device (001-4).

    One row.
    """
    run = trained.run
    sequences = tasks.size(run.task, run.task_parameters)[0]
    with FakeTensorMode():
        model = models.build(run.architecture, **run.hyperparameters)
        bytes_ = count_bytes(model, torch.zeros(sequences, model.context, dtype=torch.int64))
    total = COPIES * bytes_.parameters + bytes_.buffers + bytes_.kept
    on_device = run.device == "cuda" and torch.cuda.is_available()
    yield (total, float(_peak(run, sequences)) if on_device else float(total), "cuda" if on_device else "counted")


def _peak(run: Run, sequences: int) -> int:
    """Of the second of two steps: the first one makes AdamW's state."""
    model = models.build(run.architecture, **run.hyperparameters).to(run.device)
    optimiser = torch.optim.AdamW(model.parameters(), fused=True)
    tokens = torch.zeros(sequences, model.context, dtype=torch.int64, device=run.device)
    for _ in range(2):
        torch.cuda.reset_peak_memory_stats()
        with torch.autocast("cuda", torch.bfloat16, enabled=run.precision == "bfloat16"):
            loss = cross_entropy(model(tokens), tokens, torch.float32)
        loss.backward()
        optimiser.step()
        optimiser.zero_grad(set_to_none=True)
    return torch.cuda.max_memory_allocated()


SHORTEST = 32  # tokens of the shortest text; longer ones double up to the context
SECONDS, FEWEST = 0.1, 3  # least time and least number of calls of each timing


@measure(
    recipe=1,
    length=exact("tokens read when the next one is written"),
    step_tokens_per_s=timing("one more token with the model's memory of those before"),
    pass_tokens_per_s=timing("one more token by a full pass over all of them, as published"),
)
def generation_speed(trained: TrainedRun) -> Rows:
    """Tokens per second against length: a step with the model's memory, and the published full pass per token (001-29).

    One row per length; one sequence, on the run's device.
    """
    device = trained.run.device
    model: Any = trained.model().to(device)
    tokens_BT = torch.zeros(1, model.context, dtype=torch.int64, device=device)
    lengths = [length for length in (SHORTEST * 2**k for k in range(20)) if length < model.context] + [model.context]
    with torch.no_grad():
        state, read = model.start(1), 0
        for length in lengths:
            while read < length - 1:
                _, state = model.step(tokens_BT[:, read], state)
                read += 1
            ways = partial(model.step, tokens_BT[:, 0], state), partial(model, tokens_BT[:, :length])
            yield (length, *(1 / median_seconds(way, device, SECONDS, FEWEST) for way in ways))


def median_seconds(work: Callable[[], object], device: str, at_least_s: float, fewest: int) -> float:
    """The median time of calls of `work`, for at least so many seconds and so many calls, after one to warm up."""
    work()
    taken: list[float] = []
    while len(taken) < fewest or sum(taken) < at_least_s:
        before = time.perf_counter()
        work()
        if device == "cuda":
            torch.cuda.synchronize()
        taken.append(time.perf_counter() - before)
    return statistics.median(taken)
