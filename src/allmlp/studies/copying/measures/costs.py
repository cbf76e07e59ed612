"""Weights of the models, and their operations against the length."""

from itertools import product
from typing import Any

import torch
from torch.utils._python_dispatch import TorchDispatchMode
from torch.utils.flop_counter import FlopCounterMode

from allmlp import models
from allmlp.models import flops
from allmlp.models.backbone import Backbone
from allmlp.spec.columns import Rows, exact
from allmlp.spec.measures import measure
from allmlp.spec.protocols import TrainedRun

COUNTED = ("causal-rn", "linear-causal-rn", "transformer", "linear-transformer")


@measure(
    recipe=1,
    model=exact("architecture"),
    blocks_and_head=exact("weights of the blocks and of the classifier head, as the paper counts"),
    total=exact("all weights, both embeddings among them"),
)
def parameter_counts(trained: TrainedRun) -> Rows:
    """Weights of the four models at the paper's size (002-10).

    One row per architecture, at the sizes of the run.
    """
    for name in COUNTED:
        counts = flops.parameters(models.build(name, **trained.run.hyperparameters))
        blocks_and_head = counts["non_embedding"] + counts["unembedding"]
        yield {"model": name, "blocks_and_head": blocks_and_head, "total": counts["total"]}


MODELS = ("causal-rn", "linear-causal-rn")
LENGTHS = (64, 128, 256, 512)
SIZES = {"vocabulary": 29, "d_model": 64, "n_blocks": 2}


class Operations(TorchDispatchMode):
    """Counts PyTorch's operations: matrix products by their size, all others by the numbers that they write.

    Views write nothing. A relation's pairs count as `relation.FLOPS_PER_PAIR_AND_FEATURE` each.
    """

    def __init__(self) -> None:
        super().__init__()
        self.written = 0
        self._products = FlopCounterMode(display=False)

    def __enter__(self) -> "Operations":
        self._products.__enter__()
        super().__enter__()
        return self

    def __exit__(self, *error: Any) -> None:
        super().__exit__(*error)
        self._products.__exit__(*error)

    def __torch_dispatch__(self, func: Any, types: Any, args: Any = (), kwargs: Any = None) -> Any:
        result = func(*args, **(kwargs or {}))
        if not func.is_view:
            outputs = result if isinstance(result, (tuple, list)) else [result]
            self.written += sum(output.numel() for output in outputs if isinstance(output, torch.Tensor))
        return result

    @property
    def total(self) -> int:
        """Operations so far."""
        return self.written + self._products.get_total_flops()


@measure(
    recipe=1,
    model=exact("architecture"),
    length=exact("tokens of the sequence, or tokens before the one that is generated"),
    training=exact("operations of a forward and backward pass over one sequence"),
    generation=exact("operations of the token after that many others"),
)
def operations() -> Rows:
    """Operations of a training pass, and of one more token, against the length (002-11).

    One row per architecture and length; widths are small, because only the growth matters.
    """
    for name, length in product(MODELS, LENGTHS):
        torch.manual_seed(0)
        model = models.build(name, context=length + 1, **SIZES)
        assert isinstance(model, Backbone)
        yield (name, length, training(model, length), step(model, length))


def training(model: Backbone, length: int) -> int:
    """Forward and backward over one sequence of `length` tokens."""
    with Operations() as operations:
        model(torch.zeros(1, length, dtype=torch.int64)).sum().backward()
    return operations.total


def step(model: Backbone, length: int) -> int:
    """One token after `length` others; at these lengths a quadratic memory is full and is copied into a larger one."""
    token = torch.zeros(1, dtype=torch.int64)
    with torch.no_grad():
        state = model.start(1)
        for _ in range(length):
            _, state = model.step(token, state)
        with Operations() as operations:
            model.step(token, state)
    return operations.total
