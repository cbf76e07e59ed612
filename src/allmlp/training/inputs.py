"""Inputs of a training from other runs: its parent's weights, and the best settings of its search."""

import math
from collections.abc import Iterable, Mapping
from pathlib import Path
from typing import Any, NamedTuple

import torch

from allmlp import models
from allmlp.common.errors import UserError
from allmlp.measurements import search_losses
from allmlp.spec import catalogue, search_rules
from allmlp.spec.protocols import TrainedRun
from allmlp.spec.run import Run


class Choice(NamedTuple):
    """The result of a search: the learning rate, and the task's parameters that the run leaves open (None)."""

    learning_rate: float
    task_parameters: dict[str, Any]


def choose_settings(run: Run, searched: Iterable[TrainedRun]) -> Choice:
    """The best settings of a run's search: by its `criterion` (`spec.search_rules`), or with the lowest mean loss.

    Settings with a diverged run come last; among equal ones the lowest learning rate wins. Raises UserError where the
    best settings lack a parameter of the task that the run leaves open.
    """
    left_open = [key for key, value in run.task_parameters.items() if value is None]
    values: dict[
        tuple[Any, ...], dict[float, list[tuple[float, ...]]]
    ] = {}  # what the task leaves open -> rate -> seeds
    for trained in searched:
        own = values.setdefault(tuple(trained.run.task_parameters.get(key) for key in left_open), {})
        own.setdefault(trained.run.optimiser["learning_rate"], []).append(_outcome(trained, run.criterion))
    best = {others: _best_value(rates, run.criterion) for others, rates in values.items()}
    others = min(best, key=lambda others: (_mean(values[others][best[others]]), best[others]))
    if lacking := [key for key, value in zip(left_open, others, strict=True) if value is None]:
        rate = best[others]
        raise UserError(f"{run.id}: leaves {lacking[0]!r} to its search, but the best run, at {rate:g}, has no value.")
    return Choice(best[others], dict(zip(left_open, others, strict=True)))


def _best_value(values: Mapping[float, list[tuple[float, ...]]], criterion: str) -> float:
    if criterion:
        return search_rules.choose(search_rules.decisive_values(values)).rate
    return search_rules.lowest_mean({rate: [first for first, *_ in of] for rate, of in values.items()}).rate


def _mean(values: list[tuple[float, ...]]) -> float:
    return math.fsum(first for first, *_ in values) / len(values)


def _outcome(trained: TrainedRun, criterion: str) -> tuple[float, ...]:
    """The numbers by which a run is compared with others, see `search_losses.search_numbers`.

    Without a held-out split, the mean of the last tenth of training losses. A measured number counts if the checkpoints
    are not on this machine.
    """
    run = trained.run
    if not Path(run.checkpoint).is_file() and (found := search_losses.search_numbers(run, criterion)) is not None:
        return found
    if criterion == search_losses.ITERATIONS:
        row = catalogue.measure(run.study, search_losses.FALLS)(trained).iloc[0].to_dict()
        return search_losses.milestones(row) or ()
    loss = trained.ending["validation_loss"]
    if loss is None:
        losses = trained.log.loss
        loss = losses.tail(max(1, len(losses) // 10)).mean()
    return (math.inf if trained.diverged or not math.isfinite(loss) else loss,)


def parent_weights(run: Run, parent: TrainedRun) -> dict[str, torch.Tensor]:
    """The parent's last weights, for a run that begins with them. UserError where its model has other weights."""
    weights = parent.weights()
    with torch.device("meta"):
        own = models.build(run.architecture, **run.hyperparameters).state_dict()
    if differing := _differences(own, weights):
        raise UserError(
            f"{run.id} cannot continue {parent.run.id}: their weights differ: {'; '.join(differing[:5])}"
            f"{f'; and {len(differing) - 5} more' if len(differing) > 5 else ''}. "
            "Give both the same architecture and sizes."
        )
    return weights


def _differences(own: Mapping[str, torch.Tensor], theirs: Mapping[str, torch.Tensor]) -> list[str]:
    """The differences between two models' weights, a phrase each."""
    lines = [f"{name} is not in the parent" for name in own if name not in theirs]
    lines += [f"{name} is only in the parent" for name in theirs if name not in own]
    shapes = ((name, tuple(own[name].shape), tuple(theirs[name].shape)) for name in own if name in theirs)
    return lines + [f"{name} is {here}, the parent's {there}" for name, here, there in shapes if here != there]


def require_relatives(runs: list[Run]) -> None:
    """Fail before any of `runs` starts, unless the runs that each needs are on this machine or earlier in the list.

    Raises UserError with the missing runs and the command that trains them.
    """
    before: set[str] = set()
    for run in runs:
        unread = (one for one in search_losses.runs_it_reads(run) if one not in before)
        missing = [one for one in unread if not Path(run.relatives[one].checkpoint).is_file()]
        if missing:
            role = "its parent" if missing[0] == run.parent else "a run of its search for a learning rate"
            more = f" (and {len(missing) - 1} more)" if len(missing) > 1 else ""
            raise UserError(
                f"{run.id} needs {missing[0]}, {role}{more}, which is not trained here. Train it first: "
                f"`allmlp train {' '.join(missing)}`, or fetch it: "
                f"`dvc pull {' '.join(str(run.relatives[one].folder) for one in missing)}`."
            )
        before.add(run.id)
