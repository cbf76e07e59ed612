"""Rules of the kernels under `torch.vmap`: they get all seeds of a stack at once, as more heads or sequences."""

from torch import Tensor


def fold_seeds(x: Tensor, seeds: int, dim: int | None, axis: int) -> Tensor:
    """Seeds as the outer part of an axis: (..., n, ...) of each seed -> (..., seeds n, ...).

    `dim`: where the seeds are in x, None if they share it; `axis`: of x without them.
    """
    x = x.movedim(dim, axis) if dim is not None else x.unsqueeze(axis).expand(*x.shape[:axis], seeds, *x.shape[axis:])
    return x.flatten(axis, axis + 1)


def unfold_seeds(y: Tensor, seeds: int, axis: int) -> tuple[Tensor, int]:
    """What a rule of `register_vmap` returns: (..., seeds n, ...) -> ((..., seeds, n, ...), where the seeds are)."""
    return y.unflatten(axis, (seeds, -1)), axis
