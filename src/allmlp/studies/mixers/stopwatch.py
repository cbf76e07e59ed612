"""Time a piece of work."""

import statistics
import time
from collections.abc import Callable

import torch


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
