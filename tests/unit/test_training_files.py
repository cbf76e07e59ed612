"""The files of a training, each alone: weights and JSON, the state of a running one, what a published run says."""

from dataclasses import replace
from pathlib import Path

import pandas as pd
import pytest
import torch

from allmlp import models
from allmlp.common import paths
from allmlp.common.errors import UserError
from allmlp.spec.run import Run
from allmlp.training import state
from allmlp.training.published import TIMINGS, TrainedRun
from allmlp.training.state import WorkFolder, training_tensors
from allmlp.training.storage import load_tensors, read_manifest, read_tensors, write_json, write_tensors
from tests import tiny

pytestmark = pytest.mark.usefixtures("here")


# --- weights and JSON


def test_weights_come_back_and_their_digest_is_that_of_the_file() -> None:
    whole = torch.arange(6.0).reshape(2, 3)
    tensors = {"turned": whole.T, "trained": whole.clone().requires_grad_(), "half": whole.to(torch.bfloat16)}
    sha256 = write_tensors(Path("deep/er/w.safetensors"), tensors)
    assert sha256 == paths.file_sha256(Path("deep/er/w.safetensors"))
    found = read_tensors(Path("deep/er/w.safetensors"), sha256, "never said")
    assert set(found) == set(tensors)
    for name, value in tensors.items():
        assert found[name].dtype == value.dtype
        assert torch.equal(found[name], value)


def test_weights_that_are_missing_or_others_say_so_with_a_way_out() -> None:
    file = Path("w.safetensors")
    with pytest.raises(UserError, match=r"^w\.safetensors: is missing; train again$"):
        read_tensors(file, "0" * 64, "train again")
    sha256 = write_tensors(file, {"w": torch.ones(1)})
    with pytest.raises(UserError) as damaged:
        read_tensors(file, "0123456789" * 6, "train again")
    assert str(damaged.value) == f"{file}: sha256 is {sha256[:8]}.., manifest.json says 01234567..; train again"


def test_json_has_a_key_per_line_in_order() -> None:
    write_json(Path("x.json"), {"b": [1], "a": None})
    assert Path("x.json").read_text() == '{\n "a": null,\n "b": [\n  1\n ]\n}\n'


@pytest.mark.parametrize("content", [[], {"a/b": ""}, {"../b": ""}])
def test_a_manifest_of_anything_but_files_beside_it_is_refused(content: object) -> None:
    write_json(Path("manifest.json"), content)
    for way_out in ("Train again.", None):
        with pytest.raises(UserError) as refused:
            read_manifest(Path(), *([way_out] if way_out else []))
        end = way_out or "Delete it and run again."
        assert str(refused.value) == f"manifest.json: holds no names of files with their sha256. {end}"
    Path("manifest.json").write_text("{")
    with pytest.raises(UserError, match=r"^manifest\.json: is not JSON \(.+\)\. Train again\.$"):
        read_manifest(Path(), "Train again.")
    write_json(Path("manifest.json"), {"b": "0" * 64})
    assert read_manifest(Path()) == {"b": "0" * 64}


def test_weights_of_another_kind_are_not_opened() -> None:
    with pytest.raises(UserError, match=r"^w\.pt: is no \.safetensors file, .* may run code when they are opened\."):
        load_tensors(Path("w.pt"))
    Path("w.safetensors").write_bytes(b"no weights")
    with pytest.raises(UserError, match=r"^w\.safetensors: cannot be read as safetensors \(.+\)\.$"):
        load_tensors(Path("w.safetensors"))


# --- the state of a running training


def training(updates: int) -> tuple[torch.nn.Module, torch.optim.Optimizer]:
    """A small network after some updates."""
    torch.manual_seed(0)
    model = torch.nn.Sequential(torch.nn.Linear(3, 2), torch.nn.Linear(2, 1))
    optimiser = torch.optim.AdamW(model.parameters(), lr=0.1, fused=True)
    for number in range(updates):
        optimiser.zero_grad()
        model(torch.full((4, 3), 1.0 + number)).square().mean().backward()
        optimiser.step()
    return model, optimiser


def logged(work: WorkFolder, steps: int) -> None:
    work.append_log([{"step": step} for step in range(steps)])


def names(folder: Path) -> list[str]:
    return sorted(path.name for path in folder.iterdir())


def test_the_tensors_of_a_state_are_the_weights_and_the_optimiser_s() -> None:
    found = training_tensors(*training(1))
    weights = {f"model.{layer}.{kind}" for layer in (0, 1) for kind in ("weight", "bias")}
    moments = {f"optimiser.{index}.{key}" for index in range(4) for key in ("step", "exp_avg", "exp_avg_sq")}
    assert set(found) == weights | moments


def test_a_saved_state_is_restored_to_the_bit_and_goes_on_alike(here: Path) -> None:
    work, (model, optimiser) = WorkFolder(here / "deep/work"), training(3)
    kept = {"step-0.safetensors": write_tensors(here / "deep/work/step-0.safetensors", {})}
    logged(work, 3)
    work.save(3, training_tensors(model, optimiser), 1.5, kept)
    other, fresh = training(0)
    found = WorkFolder(here / "deep/work").restore(other, fresh)
    sha256 = paths.file_sha256(here / "deep/work/state-3.safetensors")
    expected = {"step": 3, "sha256": sha256, "seconds": 1.5, "kept": kept}
    assert found is not None
    assert {key: found[key] for key in expected} == expected
    assert set(found) == {*expected, "log", "digest"}
    ours, theirs = training_tensors(model, optimiser), training_tensors(other, fresh)
    assert set(ours) == set(theirs)
    assert all(torch.equal(value, theirs[name]) for name, value in ours.items())
    for one, steps in ((model, optimiser), (other, fresh)):
        steps.zero_grad()
        one(torch.ones(1, 3)).sum().backward()
        steps.step()
    assert all(torch.equal(a, b) for a, b in zip(model.parameters(), other.parameters(), strict=True))
    assert fresh.param_groups[0]["lr"] == 0.1


def test_the_two_newest_states_are_kept(here: Path) -> None:
    work, trained = WorkFolder(here / "work"), training(1)
    for step in (2, 9, 10):
        work.save(step, training_tensors(*trained), 0.0, {})
    assert names(here / "work") == [f"state-{step}.{end}" for step in (10, 9) for end in ("json", "safetensors")]
    (here / "work/state-9.safetensors").unlink()
    work.save(11, training_tensors(*trained), 0.0, {})
    assert names(here / "work") == [f"state-{step}.{end}" for step in (10, 11) for end in ("json", "safetensors")]


def test_only_one_state_stays_while_the_next_is_written(here: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    work, trained, there = WorkFolder(here / "work"), training(1), []

    def noted(path: Path, tensors: dict[str, torch.Tensor]) -> str:
        there.append(names(here / "work"))
        return write_tensors(path, tensors)

    monkeypatch.setattr(state, "write_tensors", noted)
    for step in (2, 9, 9, 10):
        work.save(step, training_tensors(*trained), 0.0, {})
    for left in (".state-11.safetensors.host.1", "state-11.safetensors"):  # of kills
        (here / "work" / left).touch()
    work.save(12, training_tensors(*trained), 0.0, {})
    assert there == [
        [f"state-{step}.{end}" for step in of for end in ("json", "safetensors")] for of in ((), (2,), (9,), (10,))
    ]


@pytest.mark.parametrize("step", [3, 7])
def test_a_damaged_newer_state_goes_and_the_one_that_was_read_stays(here: Path, step: int) -> None:
    work, trained = WorkFolder(here / "work"), training(1)
    logged(work, 5)
    for at in (2, 5):
        work.save(at, training_tensors(*trained), 0.0, {})
    (here / "work/state-5.json").write_bytes(b"{")
    again = WorkFolder(here / "work")
    again.restore(*training(0))
    again.save(step, training_tensors(*trained), 0.0, {})
    left = {path.stem for path in (here / "work").glob("state-*")}
    assert left == {"state-2", f"state-{step}"}


@pytest.mark.parametrize("damaged", ["state-4.json", "state-4.safetensors"])
def test_a_damaged_state_leaves_the_older_one_and_the_log_before_it(
    here: Path, damaged: str, capsys: pytest.CaptureFixture[str]
) -> None:
    work, early, late = WorkFolder(here / "work"), training(2), training(4)
    logged(work, 4)
    work.append_log([{"step": 4}])
    work.save(2, training_tensors(*early), 0.0, {})
    work.save(4, training_tensors(*late), 0.0, {})
    (here / "work" / damaged).write_bytes(b"{")
    model, optimiser = training(0)
    found = work.restore(model, optimiser)
    assert found is not None
    assert found["step"] == 2
    assert all(torch.equal(a, b) for a, b in zip(model.parameters(), early[0].parameters(), strict=True))
    assert work.log().step.tolist() == [0, 1]
    said = capsys.readouterr().out
    assert damaged in said
    assert "going back to an earlier step." in said


def test_without_a_state_the_log_begins_again(here: Path) -> None:
    work, (model, optimiser) = WorkFolder(here / "work"), training(0)
    assert work.restore(model, optimiser) is None
    assert list(work.log().columns) == ["step", "loss", "learning_rate", "gradient_norm"]
    assert not (here / "work/log.jsonl").exists()
    work.append_log([{"step": 0, "loss": 1.0}, {"step": 1, "loss": 0.5}])
    with (here / "work/log.jsonl").open("a") as stream:
        stream.write('{"step": 2, "lo')  # cut off by a kill
    work.save(2, training_tensors(model, optimiser), 0.0, {})
    assert work.restore(model, optimiser) is not None
    assert work.log().to_dict("list") == {"step": [0, 1], "loss": [1.0, 0.5]}
    for file in (here / "work").glob("state-*"):
        file.unlink()
    assert work.restore(model, optimiser) is None
    assert (here / "work/log.jsonl").read_text() == ""


# --- a published run


def published(run: Run, steps_done: int, **described: object) -> TrainedRun:
    """A run with made-up weights: each step's are its number."""
    model = torch.nn.Linear(1, 1)
    files = {}
    for name, value in {**{f"step-{step}": step for step in run.keep}, "final": steps_done}.items():
        state = {key: torch.full_like(weight, value) for key, weight in model.state_dict().items()}
        files[f"{name}.safetensors"] = write_tensors(run.folder / f"{name}.safetensors", state)
    pd.DataFrame({"step": range(steps_done)}).to_parquet(run.folder / "log.parquet")
    files["log.parquet"] = paths.file_sha256(run.folder / "log.parquet")
    ending = {"steps_done": steps_done, "diverged": False, "validation_loss": 1.25}
    write_json(run.folder / "run.json", {"ending": ending, **described})
    files["run.json"] = paths.file_sha256(run.folder / "run.json")
    write_json(run.folder / "manifest.json", files)
    return TrainedRun(run)


def test_weights_are_named_by_their_step() -> None:
    trained = published(tiny.run("transformer", keep=(0, 3, 10)), 12)
    assert trained.steps == [0, 3, 10, 12]
    assert [float(trained.weights(step)["bias"]) for step in (0, 3, 10, 12, None)] == [0, 3, 10, 12, 12]
    with pytest.raises(UserError) as refused:
        trained.weights(4)
    assert str(refused.value) == f"{trained.run.folder}: no weights at step 4. There are: [0, 3, 10, 12]."


def test_a_run_says_how_it_ended_and_what_its_search_chose() -> None:
    run = tiny.run("transformer", keep=())
    trained = published(run, 12)
    assert trained.ending == {"steps_done": 12, "diverged": False, "validation_loss": 1.25}
    assert trained.diverged is False
    assert (trained.learning_rate, trained.choice, trained.parent) == (tiny.OPTIMISER["learning_rate"], {}, None)
    assert trained.log.step.tolist() == list(range(12))
    assert trained.timing() == {}
    write_json(TIMINGS / f"{run.id}.json", {"seconds": 3.0})
    assert trained.timing() == {"seconds": 3.0}
    searching = replace(run, search=(run.id,), parent=run.id, relatives={run.id: run})
    assert published(searching, 12).choice == {}
    found = published(searching, 12, learning_rate=0.5, chosen={"context": 7})
    assert (found.learning_rate, found.choice) == (0.5, {"context": 7})
    assert found.parent is not None
    assert found.parent.run is run
    assert published(run, 12, chosen={"context": 7}).choice == {}, "it has no search"


@pytest.mark.parametrize("damage", [Path.unlink, lambda path: path.write_bytes(b"")], ids=["missing", "empty"])
def test_a_log_or_weights_that_are_damaged_name_the_way_out(damage) -> None:  # type: ignore[no-untyped-def]
    trained = published(tiny.run("transformer", keep=()), 12)
    folder = trained.run.folder
    way_out = f"; delete {folder} and run again, or `dvc checkout {folder}`."
    damage(folder / "log.parquet")
    damage(folder / "final.safetensors")
    with pytest.raises(UserError) as refused:
        _ = trained.log
    assert str(refused.value) == f"{folder}/log.parquet: is missing or damaged{way_out}"
    with pytest.raises(UserError) as refused:
        trained.weights()
    assert str(refused.value).startswith(f"{folder}/final.safetensors: ")
    lost = f"is not here; `allmlp train {trained.run.id}` makes them again."  # released, perhaps
    assert str(refused.value).endswith(lost if damage is Path.unlink else way_out)


def with_weights(run: Run, name: str) -> dict[str, torch.Tensor]:
    """Publish the run with true weights in one file; returns them."""
    torch.manual_seed(3)
    weights = models.build(run.architecture, **run.hyperparameters).state_dict()
    published(run, 12)
    files = read_manifest(run.folder)
    files[f"{name}.safetensors"] = write_tensors(run.folder / f"{name}.safetensors", weights)
    write_json(run.folder / "manifest.json", files)
    return weights


def test_a_model_has_its_weights_and_is_in_eval_mode() -> None:
    run = tiny.run("transformer", keep=())
    expected = with_weights(run, "final")
    model = TrainedRun(run).model()
    assert not model.training
    assert all(torch.equal(value, expected[name]) for name, value in model.state_dict().items())
    published(run, 12)
    with pytest.raises(UserError, match=r"has not the weights of the run \(Error.+\); delete .* `dvc checkout"):
        TrainedRun(run).model()


def test_a_model_of_a_kept_step_has_that_step_s_weights() -> None:
    run = tiny.run("transformer", keep=(3,))
    expected = with_weights(run, "step-3")
    assert all(torch.equal(value, expected[name]) for name, value in TrainedRun(run).model(3).state_dict().items())


def test_the_task_of_a_run_has_what_its_search_chose_and_reads_its_parent(monkeypatch: pytest.MonkeyPatch) -> None:
    parent = tiny.run("causal-rn")
    run = tiny.run("transformer", search=(parent.id,), parent=parent.id, relatives={parent.id: parent})
    trained = published(run, 12, chosen={"string_length": 5})
    taken: list[tuple[object, ...]] = []
    monkeypatch.setattr("allmlp.training.published.build_task", lambda *given: taken.append(given))
    trained.task()
    assert taken == [(run, trained.parent, {"string_length": 5})]
