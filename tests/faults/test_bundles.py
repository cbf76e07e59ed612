"""Bundles: what is packed comes back elsewhere, and nothing newer or finished is lost."""

import itertools
import json
import shutil
import time
from pathlib import Path

import pytest
import torch

from allmlp.common import deadline
from allmlp.common.errors import UserError
from allmlp.measurements import store
from allmlp.pipeline import jobs
from allmlp.pipeline.bundles.packing import pack, pack_finished
from allmlp.pipeline.bundles.unpacking import unpack
from allmlp.plan.portable import ResolvedPlan, parse_plan, read_bundle_plan
from allmlp.spec.run import Run
from allmlp.training import checkpoint
from allmlp.training.published import TrainedRun
from tests import tiny
from tests.workflow.asking import contents


@pytest.fixture
def here(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """An empty project folder, with another one beside it."""
    for name in ("here", "there"):
        (tmp_path / name).mkdir()
    monkeypatch.chdir(tmp_path / "here")
    monkeypatch.setenv("ALLMLP_SAVE_SECONDS", "3600")
    torch.set_num_threads(1)
    return tmp_path / "here"


def until(run: Run, updates: int, monkeypatch: pytest.MonkeyPatch) -> int:
    """Train for so many updates. Returns the step of the state."""
    ticks = itertools.count()
    with monkeypatch.context() as patch:
        patch.setattr(time, "time", lambda: next(ticks))
        patch.setenv(deadline.VARIABLE, str(updates))
        with pytest.raises(SystemExit):
            checkpoint.produce(run)
    return max(int(path.stem.split("-")[1]) for path in (checkpoint.WORK / run.id).glob("state-*.json"))


def planned(*runs: Run) -> ResolvedPlan:
    """A plan of these runs."""
    return ResolvedPlan("smoke", list(runs), [run.id for run in runs], {run.id: 1.0 for run in runs}, {})


def test_a_begun_run_goes_on_elsewhere_with_the_same_bits(here: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    run = tiny.run("transformer", steps=60)
    until(run, 20, monkeypatch)
    pack(planned(run), here.parent / "bundle", 1)
    monkeypatch.chdir(here.parent / "there")
    unpack(here.parent / "bundle")
    again = read_bundle_plan().run(run.id)
    assert again == run
    checkpoint.produce(again)
    monkeypatch.chdir(here)
    checkpoint.produce(run)
    there = contents(here.parent / "there" / run.folder)
    assert there == contents(here / run.folder)
    assert there


def test_a_measured_search_travels_as_its_measurements(here: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    tiny.write_tokens(here)
    rates = [{**tiny.OPTIMISER, "learning_rate": rate} for rate in (1e-6, 1e-2)]
    searched = [tiny.run("mlp", optimiser=rate, steps=30, keep=()) for rate in rates]
    relatives = {one.id: one for one in searched}
    run = tiny.run("mlp", seed=2, search=tuple(relatives), relatives=relatives)
    jobs.train_runs(searched)
    jobs.measure_runs(searched)
    store.add_measurements(searched)
    shutil.rmtree("work/measurements")
    shutil.rmtree("results/checkpoints")
    pack(planned(*searched, run), here.parent / "bundle", 1)
    monkeypatch.chdir(here.parent / "there")
    unpack(here.parent / "bundle")
    assert read_bundle_plan().untrained_runs() == {run.id}
    checkpoint.produce(read_bundle_plan().run(run.id))
    assert TrainedRun(run).learning_rate == 1e-2


def test_the_same_members_make_the_same_bundle(here: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    run = tiny.run("transformer", steps=60)
    until(run, 20, monkeypatch)
    for name in ("one", "two"):
        pack(planned(run), here.parent / name, 1)
    assert (here.parent / "one").read_bytes() == (here.parent / "two").read_bytes()


def test_a_newer_state_is_not_overwritten_by_an_older_one(
    here: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    run = tiny.run("transformer", steps=60)
    older = until(run, 20, monkeypatch)
    pack(planned(run), here.parent / "older", 1)
    newer = until(run, 20, monkeypatch)
    assert newer > older
    pack(planned(run), here.parent / "newer", 1)
    before = contents(here / "work/runs" / run.id)
    unpack(here.parent / "older")
    assert contents(here / "work/runs" / run.id) == before
    assert f"left: {run.id}: is at step {newer} here, at {older} in the bundle" in capsys.readouterr().out
    monkeypatch.chdir(here.parent / "there")
    unpack(here.parent / "older")
    unpack(here.parent / "newer")
    assert (Path("work/runs") / run.id / f"state-{newer}.json").is_file()


def test_a_finished_run_is_not_begun_again(here: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    run = tiny.run("transformer", steps=60)
    until(run, 20, monkeypatch)
    pack(planned(run), here.parent / "bundle", 1)
    checkpoint.produce(run)
    checkpoint.forget(run)
    before = contents(here / "results")
    unpack(here.parent / "bundle")
    assert contents(here / "results") == before
    assert not list((here / "work/runs").glob("*/state-*"))


def test_a_run_that_is_being_worked_on_is_left_alone(here: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    run = tiny.run("transformer", steps=60)
    until(run, 20, monkeypatch)
    pack(planned(run), here.parent / "bundle", 1)
    monkeypatch.chdir(here.parent / "there")
    with checkpoint.hold(Path("work/runs") / run.id / "lock", "a run"):
        unpack(here.parent / "bundle")
    assert not list(Path("work/runs").glob("*/state-*"))


def test_a_damaged_state_is_not_packed(here: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    run = tiny.run("transformer", steps=60)
    older = until(run, 20, monkeypatch)
    newer = until(run, 20, monkeypatch)
    (checkpoint.WORK / run.id / f"state-{newer}.safetensors").write_bytes(b"half")
    pack(planned(run), here.parent / "bundle", 1)
    monkeypatch.chdir(here.parent / "there")
    unpack(here.parent / "bundle")
    assert [path.name for path in Path("work/runs").glob("*/state-*.json")] == [f"state-{older}.json"]


def test_one_over_its_size_names_its_largest_members(here: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    run = tiny.run("transformer", steps=60)
    until(run, 20, monkeypatch)
    largest = r"--max-mb is 0.01: give a larger one. Largest: work/runs/.*/state-\d+.safetensors 0.\d MiB, "
    with pytest.raises(UserError, match=largest):
        pack(planned(run), here.parent / "bundle", 0.01)
    assert [path.name for path in here.parent.iterdir() if path.is_file()] == []


def test_what_was_made_goes_back_without_tokens_and_with_the_states_that_have_room(
    here: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    tiny.write_tokens(here)
    small, large, reader = tiny.run("linear-causal-rn", steps=60), tiny.run("transformer", steps=60), tiny.run("mlp")
    for run in (small, large):
        until(run, 20, monkeypatch)
    sizes = [sum(file.stat().st_size for file in (checkpoint.WORK / run.id).iterdir()) for run in (small, large)]
    room = sizes[0] + 16384  # of which the plan takes some
    assert room < sum(sizes)
    pack_finished(planned(small, large, reader), here.parent / "back", room / 2**20)
    assert f"no room for the states of 1 begun runs, {large.id} among them" in capsys.readouterr().out
    monkeypatch.chdir(here.parent / "there")
    unpack(here.parent / "back")
    assert [path.name for path in Path("work/runs").iterdir()] == [small.id]
    assert not Path("results/tokens").exists()


def test_a_run_of_other_code_is_refused(here: Path) -> None:
    run = tiny.run("transformer")
    content = json.loads(planned(run).to_json())
    content["runs"][0]["steps"] += 1
    with pytest.raises(UserError, match="by the code that is here: recipes differ"):
        parse_plan(json.dumps(content))
