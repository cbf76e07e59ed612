"""An outcome of a check, and the distance of numbers of a device from those of float64."""

from dataclasses import dataclass

from torch import Tensor


@dataclass(frozen=True)
class Outcome:
    """Of one check. `said`: what was measured."""

    check: str
    passed: bool
    said: str


def distance(found: Tensor, reference: Tensor) -> float:
    """|found - reference| / |reference| over all numbers, in float64 on the CPU; not a number if one is not."""
    found, reference = found.detach().double().cpu(), reference.detach().double().cpu()
    scale = reference.norm().item()
    return (found - reference).norm().item() / (scale or 1.0)
