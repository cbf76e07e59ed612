"""What a training takes from other runs, without training: the choice of a search, and weights."""

import math
from collections.abc import Sequence
from dataclasses import replace
from pathlib import Path

import pandas as pd
import pytest
import torch

from allmlp import models
from allmlp.common import paths
from allmlp.common.errors import UserError
from allmlp.spec.run import Run
from allmlp.training.inputs import choose_settings, parent_weights, require_relatives
from allmlp.training.published import TrainedRun
from allmlp.training.storage import write_json, write_tensors
from tests import tiny

pytestmark = pytest.mark.usefixtures("here")


def seal(run: Run) -> dict[str, str]:
    """Write the manifest of a run's files, and return it."""
    found = {path.name: paths.file_sha256(path) for path in run.folder.iterdir() if path.name != "manifest.json"}
    write_json(run.folder / "manifest.json", found)
    return found


# --- a search


def ended(rate: float, losses: Sequence[float], diverged: bool = False, **changes: object) -> TrainedRun:
    """A run without a held-out split that ended with this log."""
    run = tiny.run("transformer", optimiser={**tiny.OPTIMISER, "learning_rate": rate}, **changes)
    log = run.folder / "log.parquet"
    log.parent.mkdir(parents=True)
    pd.DataFrame({"loss": losses}).to_parquet(log)
    write_json(run.folder / "run.json", {"ending": {"validation_loss": None, "diverged": diverged}})
    seal(run)
    return TrainedRun(run)


def test_without_a_held_out_loss_the_last_tenth_of_the_log_counts() -> None:
    falling = ended(1e-3, [9.0] * 18 + [1.0, 3.0])  # the mean of two is 2, of one 3, of three 4.3
    steady = ended(2e-3, [0.0] * 18 + [2.1, 2.1])
    assert choose_settings(tiny.run("transformer"), [falling, steady]) == (1e-3, {})
    lower = ended(3e-3, [9.0] * 19 + [1.0], seed=3)  # the mean of two is 5
    assert choose_settings(tiny.run("transformer"), [lower, steady]) == (2e-3, {})
    short = ended(4e-3, [9.0, 9.0, 2.0], seed=4)  # of a short log the last
    assert choose_settings(tiny.run("transformer"), [short, steady]) == (4e-3, {})
    lost = ended(5e-3, [0.1] * 20, diverged=True)
    assert choose_settings(tiny.run("transformer"), [lost, steady]) == (2e-3, {})
    endless = ended(6e-3, [math.inf] * 20)
    assert choose_settings(tiny.run("transformer"), [endless, steady]) == (2e-3, {})


def test_settings_are_apart_by_rate_and_by_what_the_task_leaves_open() -> None:
    run = tiny.run("transformer", task_parameters={"string_length": None, "batch_size": None, "fixed": 1})

    def at(rate: float, loss: float, seed: int, **parameters: int) -> TrainedRun:
        return ended(rate, [loss], seed=seed, task_parameters={"fixed": seed, **parameters})

    few, many = {"string_length": 4, "batch_size": 2}, {"string_length": 4, "batch_size": 8}
    tried = [at(1e-3, 1.0, 1, **few), at(1e-3, 3.0, 2, **few), at(1e-3, 2.5, 3, **many), at(2e-3, 1.9, 4, **many)]
    assert choose_settings(run, tried) == (2e-3, many)
    assert choose_settings(run, tried[:3]) == (1e-3, few), "a mean of 2 is below 2.5"
    with pytest.raises(UserError) as refused:
        choose_settings(run, [at(1e-3, 1.0, 5, string_length=4)])
    said = f"{run.id}: leaves 'batch_size' to its search, but the best run, at 0.001, has no value."
    assert str(refused.value) == said


# --- weights of a parent


def parent(**sizes: int) -> TrainedRun:
    """A published run with its initial weights."""
    run = tiny.run("transformer", hyperparameters={**tiny.COPYING, **sizes})
    weights = models.build(run.architecture, **run.hyperparameters).state_dict()
    write_tensors(run.folder / "final.safetensors", weights)
    write_json(run.folder / "run.json", {"ending": {"steps_done": 12}})
    seal(run)
    return TrainedRun(run)


def test_a_run_continues_with_exactly_its_parent_s_weights() -> None:
    trained = parent()
    found, theirs = parent_weights(trained.run, trained), trained.weights()
    assert set(found) == set(theirs)
    assert all(torch.equal(value, theirs[name]) for name, value in found.items())
    assert all(value.device.type == "cpu" for value in found.values())


def test_weights_that_differ_are_listed_five_at_most() -> None:
    trained = parent()
    deeper = replace(trained.run, hyperparameters={**tiny.COPYING, "n_blocks": 2})
    own = set(models.build("transformer", **deeper.hyperparameters).state_dict())
    lacking = [name for name in own if name not in trained.weights()]
    with pytest.raises(UserError) as refused:
        parent_weights(deeper, trained)
    start, *listed = str(refused.value).split("; ")
    assert start.startswith(f"{deeper.id} cannot continue {trained.run.id}: their weights differ: blocks.1.")
    assert start.endswith(" is not in the parent")
    assert len(listed) == 5
    assert listed[-1] == f"and {len(lacking) - 5} more. Give both the same architecture and sizes."
    longer = replace(trained.run, hyperparameters={**tiny.COPYING, "vocabulary": 30})
    with pytest.raises(UserError, match=r"\S+ is \(30, 16\), the parent's \(29, 16\)\. Give both") as refused:
        parent_weights(longer, trained)
    assert "more" not in str(refused.value)
    with pytest.raises(UserError, match=r"blocks\.1\.\S+ is only in the parent"):
        parent_weights(trained.run, parent(n_blocks=2))


def test_what_is_not_trained_here_is_named_with_what_trains_it() -> None:
    one, two = (tiny.run("causal-rn", seed=seed) for seed in (1, 2))
    relatives = {one.id: one, two.id: two}
    child = tiny.run("transformer", parent=one.id, search=(two.id,), relatives=relatives)
    require_relatives([one, two, child])
    for order in ([child, one, two], [child]):
        with pytest.raises(UserError) as refused:
            require_relatives(order)
        assert str(refused.value) == (
            f"{child.id} needs {one.id}, its parent (and 1 more), which is not trained here. Train it first: "
            f"`allmlp train {one.id} {two.id}`, or fetch it: `dvc pull {one.folder} {two.folder}`."
        )
    one.folder.mkdir(parents=True)
    Path(one.checkpoint).touch()
    with pytest.raises(UserError) as refused:
        require_relatives([child])
    assert str(refused.value) == (
        f"{child.id} needs {two.id}, a run of its search for a learning rate, which is not trained here. Train it "
        f"first: `allmlp train {two.id}`, or fetch it: `dvc pull {two.folder}`."
    )
    require_relatives([two, child])
