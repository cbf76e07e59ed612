"""What a training takes from other runs, without training: the choice of a search, weights, a shorter twin's state."""

import math
from collections.abc import Sequence
from dataclasses import replace
from pathlib import Path
from typing import Any

import numpy as np
import pandas as pd
import pytest
import torch

from allmlp import artifacts, models, paths
from allmlp.errors import UserError
from allmlp.run import Run
from allmlp.training import saved
from allmlp.training.relatives import chosen, continued, require_relatives
from allmlp.training.storage import write_json, write_tensors
from allmlp.training.trained import Trained
from allmlp.training.twins import STATE, begin_where_twin_ended
from tests import tiny


@pytest.fixture(autouse=True)
def here(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    monkeypatch.chdir(tmp_path)
    return tmp_path


def seal(run: Run) -> dict[str, str]:
    """Write the manifest of a run's files, and return it."""
    found = {path.name: paths.file_sha256(path) for path in run.folder.iterdir() if path.name != "manifest.json"}
    write_json(run.folder / "manifest.json", found)
    return found


# --- a search


def ended(rate: float, losses: Sequence[float], diverged: bool = False, **changes: object) -> Trained:
    """A run without a held-out split that ended with this log."""
    run = tiny.run("transformer", optimiser={**tiny.OPTIMISER, "learning_rate": rate}, **changes)
    log = run.folder / "log.parquet"
    log.parent.mkdir(parents=True)
    pd.DataFrame({"loss": losses}).to_parquet(log)
    write_json(run.folder / "run.json", {"ending": {"validation_loss": None, "diverged": diverged}})
    seal(run)
    return Trained(run)


def test_without_a_held_out_loss_the_last_tenth_of_the_log_counts() -> None:
    falling = ended(1e-3, [9.0] * 18 + [1.0, 3.0])  # the mean of two is 2, of one 3, of three 4.3
    steady = ended(2e-3, [0.0] * 18 + [2.1, 2.1])
    assert chosen(tiny.run("transformer"), [falling, steady]) == (1e-3, {})
    lower = ended(3e-3, [9.0] * 19 + [1.0], seed=3)  # the mean of two is 5
    assert chosen(tiny.run("transformer"), [lower, steady]) == (2e-3, {})
    short = ended(4e-3, [9.0, 9.0, 2.0], seed=4)  # of a short log the last
    assert chosen(tiny.run("transformer"), [short, steady]) == (4e-3, {})
    lost = ended(5e-3, [0.1] * 20, diverged=True)
    assert chosen(tiny.run("transformer"), [lost, steady]) == (2e-3, {})
    endless = ended(6e-3, [math.inf] * 20)
    assert chosen(tiny.run("transformer"), [endless, steady]) == (2e-3, {})


def test_settings_are_apart_by_rate_and_by_what_the_task_leaves_open() -> None:
    run = tiny.run("transformer", task_parameters={"string_length": None, "batch_size": None, "fixed": 1})

    def at(rate: float, loss: float, seed: int, **parameters: int) -> Trained:
        return ended(rate, [loss], seed=seed, task_parameters={"fixed": seed, **parameters})

    few, many = {"string_length": 4, "batch_size": 2}, {"string_length": 4, "batch_size": 8}
    tried = [at(1e-3, 1.0, 1, **few), at(1e-3, 3.0, 2, **few), at(1e-3, 2.5, 3, **many), at(2e-3, 1.9, 4, **many)]
    assert chosen(run, tried) == (2e-3, many)
    assert chosen(run, tried[:3]) == (1e-3, few), "a mean of 2 is below 2.5"
    with pytest.raises(UserError) as refused:
        chosen(run, [at(1e-3, 1.0, 5, string_length=4)])
    said = f"{run.id}: leaves 'batch_size' to its search, but the best run, at 0.001, has no value."
    assert str(refused.value) == said


# --- weights of a parent


def parent(**sizes: int) -> Trained:
    """A published run with its initial weights."""
    run = tiny.run("transformer", hyperparameters={**tiny.COPYING, **sizes})
    weights = models.build(run.architecture, **run.hyperparameters).state_dict()
    write_tensors(run.folder / "final.safetensors", weights)
    write_json(run.folder / "run.json", {"ending": {"steps_done": 12}})
    seal(run)
    return Trained(run)


def test_a_run_continues_with_exactly_its_parent_s_weights() -> None:
    trained = parent()
    found, theirs = continued(trained.run, trained), trained.weights()
    assert set(found) == set(theirs)
    assert all(torch.equal(value, theirs[name]) for name, value in found.items())
    assert all(value.device.type == "cpu" for value in found.values())


def test_weights_that_differ_are_listed_five_at_most() -> None:
    trained = parent()
    deeper = replace(trained.run, hyperparameters={**tiny.COPYING, "n_blocks": 2})
    own = set(models.build("transformer", **deeper.hyperparameters).state_dict())
    lacking = [name for name in own if name not in trained.weights()]
    with pytest.raises(UserError) as refused:
        continued(deeper, trained)
    start, *listed = str(refused.value).split("; ")
    assert start.startswith(f"{deeper.id} cannot continue {trained.run.id}: their weights differ: blocks.1.")
    assert start.endswith(" is not in the parent")
    assert len(listed) == 5
    assert listed[-1] == f"and {len(lacking) - 5} more. Give both the same architecture and sizes."
    longer = replace(trained.run, hyperparameters={**tiny.COPYING, "vocabulary": 30})
    with pytest.raises(UserError, match=r"\S+ is \(30, 16\), the parent's \(29, 16\)\. Give both") as refused:
        continued(longer, trained)
    assert "more" not in str(refused.value)
    with pytest.raises(UserError, match=r"blocks\.1\.\S+ is only in the parent"):
        continued(trained.run, parent(n_blocks=2))


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


# --- a shorter twin

CONSTANT = {**tiny.OPTIMISER, "schedule": "constant"}
WORK, TIMES = Path("work/long"), Path("times")


def twins(**changes: Any) -> tuple[Run, Run]:
    """A run of 12 steps and its twin of 30."""
    short = tiny.run("transformer", steps=12, optimiser=CONSTANT, keep=(0, 6), keeps_state=True, **changes)
    return short, replace(short, steps=30, keep=(0, 6, 12, 20), keeps_state=False, shorter=short.id)


def publish(run: Run, **ending: object) -> dict[str, str]:
    """The made-up files of a run that ended, as its manifest has them."""
    run.folder.mkdir(parents=True, exist_ok=True)
    losses = [2.0 if step in run.keep else None for step in range(run.steps)]
    log = pd.DataFrame({"step": range(run.steps), "loss": 1.5, "validation_loss": losses})
    log.to_parquet(run.folder / "log.parquet")
    for name in (STATE, "step-0.safetensors", "step-6.safetensors"):
        (run.folder / name).write_text(name)
    end = {"steps_done": run.steps, "diverged": False, "validation_loss": 1.0, **ending}
    write_json(run.folder / "run.json", {"run": run.identity, "ending": end})
    return seal(run)


def begin(run: Run) -> None:
    WORK.mkdir(parents=True, exist_ok=True)
    begin_where_twin_ended(run, WORK, TIMES)


@pytest.mark.parametrize("seconds", [None, 2.5])
def test_the_twin_s_files_become_a_state_of_the_longer_run(seconds: float | None) -> None:
    short, long = twins()
    files = publish(short)
    if seconds:
        write_json(TIMES / f"{short.id}.json", {"seconds": seconds})
    begin(long)
    copied = {"step-0.safetensors": "step-0.safetensors", "step-6.safetensors": "step-6.safetensors"}
    assert {path.name for path in WORK.iterdir()} == {*copied, "state-12.safetensors", "state-12.json", "log.jsonl"}
    for name, content in {**copied, "state-12.safetensors": STATE}.items():
        assert (WORK / name).read_text() == content
    state = saved.read(WORK, 12)
    assert state.pop("seconds") == pytest.approx(seconds or math.nan, nan_ok=True)
    expected = {"step": 12, "sha256": files[STATE], "kept": {name: files[name] for name in copied}}
    assert {key: state[key] for key in expected} == expected
    lines = (WORK / "log.jsonl").read_text().splitlines()
    assert lines[0] == '{"step": 0, "loss": 1.5, "validation_loss": 2.0}'
    assert lines[11] == '{"step": 11, "loss": 1.5, "validation_loss": null}'
    assert len(lines) == 12


def test_a_run_without_a_twin_or_with_a_state_begins_as_it_is(capsys: pytest.CaptureFixture[str]) -> None:
    short, long = twins()
    publish(short)
    begin(replace(long, shorter=None))
    assert not list(WORK.iterdir())
    (WORK / "state-3.json").touch()
    begin(long)
    assert [path.name for path in WORK.iterdir()] == ["state-3.json"]
    assert capsys.readouterr().out == ""


def refused(long: Run, capsys: pytest.CaptureFixture[str]) -> str:
    """Why its twin was not used."""
    begin(long)
    assert not list(WORK.iterdir())
    said = capsys.readouterr().out
    start = f"{long.id}: begins at step 0, because its shorter twin cannot be used: "
    assert said.startswith(start)
    return said.removeprefix(start).rstrip("\n")


@pytest.mark.parametrize("name", [STATE, "log.parquet", "step-6.safetensors"])
@pytest.mark.parametrize("damage", ["unlisted", "other bytes"])
def test_a_twin_without_all_its_files_is_not_used(name: str, damage: str, capsys: pytest.CaptureFixture[str]) -> None:
    short, long = twins()
    files = publish(short)
    if damage == "unlisted":
        write_json(short.folder / "manifest.json", {key: value for key, value in files.items() if key != name})
    else:
        (short.folder / name).write_text("other")
    assert refused(long, capsys) == f"{short.folder / name}: is missing or damaged"


def test_a_twin_that_is_gone_is_not_used(capsys: pytest.CaptureFixture[str]) -> None:
    short, long = twins()
    assert refused(long, capsys) == f"{short.folder}/manifest.json: no such file"
    publish(short)
    (short.folder / STATE).unlink()
    assert "No such file" in refused(long, capsys)


@pytest.mark.parametrize(
    ("change", "ending", "reason"),
    [
        ({"seed": 9}, {}, "it differs in more than its steps"),
        ({"optimiser": {**CONSTANT, "learning_rate": 1.0}}, {}, "it differs in more than its steps"),
        ({"parent": "x"}, {}, "it differs in more than its steps"),
        ({}, {"diverged": True}, "it ended after 12 of 12 steps"),
        ({}, {"steps_done": 7}, "it ended after 7 of 12 steps"),
        ({"steps": 31}, {}, "it ended after 31 of 31 steps"),
        ({"tested": (3,)}, {}, "its held-out losses are of other steps"),
        ({"keep": (0, 6, 11)}, {}, "its held-out losses are of other steps"),
    ],
)
def test_a_twin_that_is_another_run_is_not_used(
    change: dict[str, Any], ending: dict[str, Any], reason: str, capsys: pytest.CaptureFixture[str]
) -> None:
    short, long = twins()
    other = replace(short, **change)
    publish(other, **ending)
    assert refused(replace(long, shorter=other.id), capsys) == reason


def test_steps_without_a_held_out_loss_and_later_ones_do_not_count() -> None:
    short, long = twins(tested=(3,))
    publish(short)
    begin(replace(long, tested=(3, 12, 25)))
    assert (WORK / "state-12.json").is_file()
    (WORK / "state-12.json").unlink()
    other = replace(short, tested=())
    publish(other, validation_loss=None)
    begin(replace(long, shorter=other.id))
    assert (WORK / "state-12.json").is_file()
    (WORK / "state-12.json").unlink()
    as_long = replace(short, steps=30, keep=(0, 6))
    publish(as_long, validation_loss=None)
    begin(replace(long, keep=(0, 6), shorter=as_long.id))
    assert (WORK / "state-30.json").is_file(), "a twin of as many steps"
    assert np.isnan(artifacts.read_json(WORK / "state-30.json")["seconds"])
