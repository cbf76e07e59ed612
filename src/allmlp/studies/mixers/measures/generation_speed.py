"""Tokens per second against length: a step with the model's memory, and the published full pass per token (001-29)."""

import statistics
import time
from collections.abc import Callable
from functools import partial
from typing import Any

import pandas as pd
import torch

from allmlp.columns import exact, timing
from allmlp.protocols import Trained

RECIPE = 1
SHORTEST = 32  # tokens of the shortest text; longer ones double up to the context
SECONDS, FEWEST = 0.1, 3  # least time and least number of calls of each timing

COLUMNS = {
    "length": exact("tokens read when the next one is written"),
    "step_tokens_per_s": timing("one more token with the model's memory of those before"),
    "pass_tokens_per_s": timing("one more token by a full pass over all of them, as published"),
}


def measure(trained: Trained) -> pd.DataFrame:
    """One row per length; one sequence, on the run's device."""
    device = trained.run.device
    model: Any = trained.model().to(device)
    tokens_BT = torch.zeros(1, model.context, dtype=torch.int64, device=device)
    lengths = [length for length in (SHORTEST * 2**k for k in range(20)) if length < model.context] + [model.context]
    rows = []
    with torch.no_grad():
        state, read = model.start(1), 0
        for length in lengths:
            while read < length - 1:
                _, state = model.step(tokens_BT[:, read], state)
                read += 1
            ways = partial(model.step, tokens_BT[:, 0], state), partial(model, tokens_BT[:, :length])
            rows.append((length, *(1 / median_seconds(way, device, SECONDS, FEWEST) for way in ways)))
    return pd.DataFrame(rows, columns=list(COLUMNS))


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
