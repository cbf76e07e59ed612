"""Runs trained as one stack: the losses, weights and files of each alone, to rounding; killed and resumed too."""

from dataclasses import replace
from pathlib import Path

import pytest

from allmlp.run import Run
from allmlp.training import checkpoint
from tests.numerics.test_team import ARCHITECTURES, difference, here, logged, run_of  # noqa: F401  # a fixture

SEEDS = (1, 2, 5)


def seeds(architecture: str, steps: int = 100, **changes: object) -> list[Run]:
    """The runs of a stack."""
    run = replace(run_of(architecture, 1, steps), **{"stacked": len(SEEDS), **changes})
    return [replace(run, seed=seed) for seed in SEEDS]


def alone(run: Run) -> Run:
    """The same run, not stacked."""
    return replace(run, stacked=1)


@pytest.mark.parametrize("architecture", ARCHITECTURES)
def test_a_stack_trains_as_each_run_alone_does(architecture: str, here: Path) -> None:  # noqa: F811
    runs = seeds(architecture)
    checkpoint.produce_stack(runs)
    for run in runs:
        checkpoint.produce(alone(run))
        assert difference(run, alone(run)) < 1e-5
