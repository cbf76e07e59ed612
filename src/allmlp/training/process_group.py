"""The processes that train one run together, or the one that trains alone.

Each process takes its parts of every batch. PyTorch's FSDP2 adds up the gradients and gives each process a share of the
gradients and of the optimiser. It costs the traffic of DistributedDataParallel and less memory, so it is the only way
here. The weights are gathered once a step, as one group: the largest model of the plan has 900 million, 3.6 GB.
"""

import os
from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from typing import Any

import torch
from torch import Tensor, nn

Tensors = dict[str, Tensor]


class SingleProcess:
    """A team of one process."""

    rank, size = 0, 1

    @property
    def is_leader(self) -> bool:
        """Does this process write the files?"""
        return self.rank == 0

    def shard(self, loss: nn.Module) -> None:
        """Before the optimiser is made: leave each process a share of the weights under `loss`."""

    def sum_values(self, values: Sequence[float]) -> Sequence[float]:
        """The sum of each value over the team."""
        return values

    def wait(self) -> None:
        """Until every process of the team is here, the one that writes files among them."""
        self.largest_flags([0])

    def norm(self, norm: Tensor) -> float:
        """The norm of all gradients, as `clip_grad_norm_` gives it of shares."""
        return norm.item()

    def largest_flags(self, flags: Sequence[int]) -> Sequence[int]:
        """The largest of each number in the team: what one process has seen, all do at the same step."""
        return flags

    def gather_tensors(self, tensors: Tensors) -> Tensors:
        """Whole tensors from shares, on the CPU of the process that leads; the others get none."""
        return tensors

    @contextmanager
    def gather(self, loss: nn.Module) -> Iterator[None]:
        """Every process has all weights while the block runs, and need not run the model as often as the others."""
        yield


ALONE = SingleProcess()


class Team(SingleProcess):
    """The processes that torch.distributed's launcher started, RANK and WORLD_SIZE in their environment."""

    def __init__(self, kind: str) -> None:
        """kind: "cpu" or "cuda"; there the process takes the device of its LOCAL_RANK."""
        from torch.distributed import get_rank, get_world_size, init_process_group, is_initialized

        if kind == "cuda":
            torch.cuda.set_device(int(os.environ["LOCAL_RANK"]))
        if not is_initialized():
            init_process_group("nccl" if kind == "cuda" else "gloo")
        self.kind, self.rank, self.size = kind, get_rank(), get_world_size()

    def shard(self, loss: nn.Module) -> None:
        from torch.distributed import init_device_mesh
        from torch.distributed.fsdp import fully_shard

        sharded: Any = fully_shard(
            loss, mesh=init_device_mesh(self.kind, (self.size,)), reshard_after_forward=False
        )  # the loss changes its class; its weights change theirs
        sharded.set_force_sum_reduction_for_comms(True)  # each part of a batch counts by its targets already
        sharded.set_gradient_divide_factor(1.0)

    def sum_values(self, values: Sequence[float]) -> Sequence[float]:
        from torch.distributed import all_reduce

        total = torch.tensor(values, dtype=torch.float64, device=self.kind)
        all_reduce(total)
        return total.tolist()

    def norm(self, norm: Any) -> float:
        return norm.full_tensor().item()

    def largest_flags(self, flags: Sequence[int]) -> Sequence[int]:
        from torch.distributed import ReduceOp, all_reduce

        seen = torch.tensor(flags, device=self.kind)
        all_reduce(seen, ReduceOp.MAX)
        return seen.tolist()

    def gather_tensors(self, tensors: Tensors) -> Tensors:
        found = {}
        for name, tensor in tensors.items():
            one = tensor.full_tensor() if hasattr(tensor, "full_tensor") else tensor
            if self.is_leader:
                found[name] = one.cpu()
        return found

    @contextmanager
    def gather(self, loss: Any) -> Iterator[None]:
        loss.unshard()
        yield
        loss.reshard()


def shard_like(tensor: Tensor, like: Tensor) -> Tensor:
    """A whole tensor as `like` is kept: shared out in a team, and itself otherwise."""
    if not hasattr(like, "full_tensor"):
        return tensor
    from torch.distributed.tensor import DTensor, distribute_tensor

    assert isinstance(like, DTensor)
    return distribute_tensor(tensor.to(like.device), like.device_mesh, like.placements)
