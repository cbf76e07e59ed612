"""A model to be drawn: traced at small sizes, its weights counted at the paper's."""

from collections.abc import Callable, Collection, Mapping
from dataclasses import dataclass
from typing import Any

import torch
from torch import Tensor, nn

from allmlp.report.diagrams.sizes import Letter, Sizes, counts
from allmlp.report.diagrams.tracing import Step, trace


@dataclass(frozen=True)
class Subject:
    """`step`: what the model does, its shapes in the small numbers of `sizes`. `weights`: numbers by parameter name, at
    the paper's sizes."""

    step: Step
    sizes: Sizes
    weights: dict[str, int]

    def count(self, step: Step, but: Collection[str] = ()) -> int:
        """Numbers in the parameters of a step, but those named."""
        names = {name for leaf in step.leaves() for name in leaf.weights}
        return sum(self.weights[name] for name in names.difference(but))

    def unused_parameters(self) -> list[str]:
        """Parameters that no step uses."""
        used = {name for leaf in self.step.leaves() for name in leaf.weights}
        return [name for name in self.weights if name not in used]


def subject(
    architecture: Callable[..., nn.Module],
    hyperparameters: Mapping[str, Any],
    letters: Mapping[str, Letter],
    given: Callable[[Sizes], Tensor],
    *,
    closed: tuple[type, ...] = (),
    run: Callable[[Any], Callable[..., Any]] | None = None,
) -> Subject:
    """Trace an architecture. Hyperparameters that are the name of a letter stand for its number.

    `run`: model -> the function of it that is traced, its forward pass unless given.
    """
    sizes = Sizes(letters)
    with torch.random.fork_rng(devices=[]):
        torch.manual_seed(0)
        model = architecture(**{key: sizes[v] if v in letters else v for key, v in hyperparameters.items()})
        step = trace(model, given(sizes), closed=closed, run=run and run(model))
    real = {key: sizes.real(v) if v in letters else v for key, v in hyperparameters.items()}
    return Subject(step, sizes, counts(lambda: architecture(**real)))


def tokens(sizes: Sizes) -> Tensor:
    """B sequences of T tokens."""
    return torch.zeros(sizes["B"], sizes["T"], dtype=torch.int64)
