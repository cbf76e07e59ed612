"""A training that does not fit into memory ends with what the user can do, not with a traceback."""

import re
from collections.abc import Iterator
from contextlib import contextmanager

import torch

from allmlp.common.errors import UserError
from allmlp.data import tasks
from allmlp.spec.run import Run

# not all of PyTorch's allocations raise OutOfMemoryError
LACKING = re.compile("DefaultCPUAllocator: can't allocate memory|CUDA error: out of memory|CUBLAS_STATUS_ALLOC_FAILED")


class LackOfMemoryError(UserError):
    """The memory of one process was not enough; others of its team may have met nothing."""


@contextmanager
def name_memory_error(run: Run, stacked: int = 1) -> Iterator[None]:
    """Raises LackOfMemoryError, which names the run and its batch, where PyTorch finds no memory in the block.

    `stacked`: the runs that are trained as one model.
    """
    try:
        yield
    except RuntimeError as error:
        if not isinstance(error, torch.OutOfMemoryError) and not LACKING.search(str(error)):
            raise
        raise LackOfMemoryError(_memory_advice(run, stacked)) from error


def _memory_advice(run: Run, stacked: int) -> str:
    on, parts = "GPU" if run.device == "cuda" else "machine", run.optimiser["accumulation"]
    fewer = "fewer runs per GPU (ALLMLP_RUNS_PER_GPU)" if run.device == "cuda" else "fewer cores (`--cores`)"
    if stacked > 1:
        fewer = f"fewer runs in a stack (`stacked`, now {run.stacked}), {fewer}"
    more = f" and {stacked - 1} more" if stacked > 1 else ""
    return (
        f"{run.id}{more}: out of memory on the {on}, with a batch of {tasks.size(run.task, run.task_parameters)[0]:,} "
        f"sequences in {parts} part{'s' * (parts != 1)}. Take {fewer} or a larger {on}; or, in a file of your own, "
        f"`accumulation: {2 * parts}` in its optimiser where it has that key, or a smaller `batch_size` "
        "(docs/parameters.md)."
    )
