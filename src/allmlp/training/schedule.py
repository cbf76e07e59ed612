"""The learning rate at a step: linear warm-up from 0, then constant, cosine or linear decay."""

import math
from typing import Any


def learning_rate(step: int, steps: int, optimiser: dict[str, Any]) -> float:
    """The rate of update number `step` (from 0) of `steps`.

    Warm-up: maximum * step / warmup_steps, 0 at step 0 (as published for 002). Cosine and linear decay end at
    `minimum_learning_rate` with the last update.
    """
    maximum, warmup = optimiser["learning_rate"], optimiser["warmup_steps"]
    if step < warmup:
        return maximum * step / warmup
    if optimiser["schedule"] == "constant":
        return maximum
    progress = (step - warmup) / max(1, steps - 1 - warmup)
    remaining = (1 + math.cos(math.pi * progress)) / 2 if optimiser["schedule"] == "cosine" else 1 - progress
    return optimiser["minimum_learning_rate"] + (maximum - optimiser["minimum_learning_rate"]) * remaining
