"""A training is published whole or not at all, once; what is damaged is made again; what is there is left alone."""

import json
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pandas as pd
import pyarrow.parquet as pq
import pytest
import torch

from allmlp.common import formats, paths, recipes
from allmlp.common.errors import UserError
from allmlp.common.locks import hold
from allmlp.data import tasks
from allmlp.data.tasks.copying import Copying
from allmlp.measurements import origins
from allmlp.spec.run import Run
from allmlp.training import checkpoint
from allmlp.training.loop import Training
from allmlp.training.published import TIMINGS, TrainedRun
from allmlp.training.state import WorkFolder
from allmlp.training.storage import read_manifest, write_json
from tests import tiny

pytestmark = pytest.mark.usefixtures("here")

CONSTANT = {**tiny.OPTIMISER, "schedule": "constant", "warmup_steps": 0}


def small(**changes: object) -> Run:
    return tiny.run("transformer", steps=4, **{"keep": (0, 2), "optimiser": CONSTANT, **changes})


def contents(folder: Path) -> dict[str, bytes]:
    return {path.name: path.read_bytes() for path in folder.iterdir()}


def flip(file: Path) -> None:
    content = bytearray(file.read_bytes())
    content[-1] ^= 1
    file.write_bytes(content)


def test_a_published_run_is_described_and_every_file_has_its_digest() -> None:
    run = small()
    checkpoint.produce(run)
    weights = {"step-0.safetensors", "step-2.safetensors", "final.safetensors"}
    assert set(contents(run.folder)) == {*weights, "run.json", "log.parquet", "manifest.json"}
    manifest = json.loads((run.folder / "manifest.json").read_text())
    assert set(manifest) == {*weights, "run.json", "log.parquet"}
    assert all(paths.file_sha256(run.folder / name) == sha256 for name, sha256 in manifest.items())
    assert json.loads((run.folder / "run.json").read_text()) == {
        "id": run.id,
        "settings": run.settings_digest,
        "run": json.loads(json.dumps(run.identity)),
        "ending": {"steps_done": 4, "diverged": False, "validation_loss": None},
    }
    assert pd.read_parquet(run.folder / "log.parquet").step.tolist() == [0, 1, 2, 3]
    log = pq.ParquetFile(run.folder / "log.parquet")
    assert log.metadata.row_group(0).column(0).compression == "ZSTD"
    assert json.loads(log.schema_arrow.metadata[b"pandas"])["index_columns"] == []
    timing = json.loads((TIMINGS / f"{run.id}.json").read_text())
    assert set(timing) == {"seconds", "hardware", "versions"}
    assert timing["seconds"] > 0
    last = max(run.folder.iterdir(), key=lambda path: path.stat().st_ctime_ns)
    assert last.name == "final.safetensors", "it says that the folder is complete"


def made_by(run: Run) -> list[str]:
    """The sources in the record of a training."""
    return origins.parse_sources(json.loads((TIMINGS / f"{run.id}.json").read_text())["versions"])


@pytest.fixture
def sources(monkeypatch: pytest.MonkeyPatch) -> Callable[[str], str]:
    """Lets the processes from now on have other sources."""

    def use(letter: str) -> str:
        monkeypatch.setattr(origins, "process_sources", lambda: f"src {letter * 40} clean")
        return origins.process_sources()

    return use


def test_a_record_names_the_sources_of_every_process_that_trained_the_run(
    sources: Callable[[str], str], monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("ALLMLP_SAVE_SECONDS", "0")
    run, first, update = small(), sources("a"), Training.update

    def killed(training: Training) -> dict[str, Any]:
        if training.step == 3:
            raise KeyboardInterrupt
        return update(training)

    for letter in "aab":
        last = sources(letter)
        with monkeypatch.context() as patch:
            patch.setattr(Training, "update", killed)
            with pytest.raises(KeyboardInterrupt):
                checkpoint.produce(run)
    checkpoint.produce(run)
    assert made_by(run) == [first, last]
    found = origins.read(json.loads((TIMINGS / f"{run.id}.json").read_text())["versions"])
    assert found.recipes == tuple(map(recipes.fingerprint, run.modules))


@pytest.mark.parametrize("content", [None, b"", b"7", b'["src'])
def test_a_training_whose_beginning_has_no_record_is_of_unknown_origin(
    content: bytes | None, sources: Callable[[str], str], monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("ALLMLP_SAVE_SECONDS", "0")
    run, now = small(), sources("a")
    with monkeypatch.context() as patch:
        patch.setattr(Training, "finish", lambda _: 1 / 0)
        with pytest.raises(ZeroDivisionError):
            checkpoint.produce(run)
    file = checkpoint.WORK / run.id / origins.MADE_BY
    file.unlink() if content is None else file.write_bytes(content)
    checkpoint.produce(run)
    assert made_by(run) == [origins.NO_RECORD, now]


def test_no_state_outlives_the_training_in_its_work_folder(monkeypatch: pytest.MonkeyPatch) -> None:
    """A job's work folders stay until its last run is published: weights twice, but no states."""
    monkeypatch.setenv("ALLMLP_SAVE_SECONDS", "0")
    saved, save = [], WorkFolder.save

    def noted(work: WorkFolder, *words: Any) -> None:
        save(work, *words)
        saved.append(len(list(work.folder.glob("state-*.safetensors"))))

    monkeypatch.setattr(WorkFolder, "save", noted)
    run = small()
    checkpoint.produce(run)
    assert saved[-1] == 2
    assert not list((checkpoint.WORK / run.id).glob("state-*"))


def test_a_run_is_trained_once(capsys: pytest.CaptureFixture[str]) -> None:
    run = small()
    checkpoint.produce(run)
    before = contents(run.folder)
    capsys.readouterr()
    checkpoint.produce(run)
    assert capsys.readouterr().out == f"{run.id}: is trained already\n"
    assert contents(run.folder) == before


@pytest.mark.parametrize("lost", ["final.safetensors", "manifest.json", "step-2.safetensors"])
@pytest.mark.parametrize("harm", [Path.unlink, flip])
def test_a_damaged_publication_is_copied_again_from_the_work_folder(
    lost: str,
    harm,  # type: ignore[no-untyped-def]
    capsys: pytest.CaptureFixture[str],
) -> None:
    run = small()
    checkpoint.produce(run)
    before = contents(run.folder)
    harm(run.folder / lost)
    capsys.readouterr()
    checkpoint.produce(run)
    assert capsys.readouterr().out == "", "nothing is trained"
    assert contents(run.folder) == before


@pytest.mark.parametrize("harmed", ["complete", "final.safetensors", "log.parquet"])
def test_without_a_whole_work_folder_a_run_is_trained_again_to_the_same_bits(
    harmed: str, capsys: pytest.CaptureFixture[str]
) -> None:
    run = small()
    checkpoint.produce(run)
    before = contents(run.folder)
    (run.folder / "final.safetensors").unlink()
    (checkpoint.WORK / run.id / harmed).unlink()
    capsys.readouterr()
    checkpoint.produce(run)
    assert capsys.readouterr().out.startswith(f"{run.id}: 4 steps\n")
    assert contents(run.folder) == before


def test_a_folder_that_lists_no_last_weights_is_not_whole() -> None:
    run = small()
    checkpoint.produce(run)
    manifest = read_manifest(run.folder)
    del manifest["final.safetensors"]
    write_json(run.folder / "manifest.json", manifest)
    checkpoint.produce(run)
    assert "final.safetensors" in read_manifest(run.folder)


def test_what_a_newer_release_published_is_left_alone() -> None:
    run = small()
    write_json(run.folder / "manifest.json", {"format": 99})
    with pytest.raises(formats.NewerError):
        checkpoint.produce(run)
    assert list(contents(run.folder)) == ["manifest.json"]


def test_a_run_under_work_is_refused_and_forgotten_only_when_it_is_not() -> None:
    run = small()
    checkpoint.produce(run)
    folder = checkpoint.WORK / run.id
    with hold(folder / "lock", "another"):
        for work in (checkpoint.produce, checkpoint.forget):
            with pytest.raises(UserError, match=f"^run {run.id} is already being worked on by pid "):
                work(run)
    assert (folder / "complete").read_text() == ""
    checkpoint.forget(run)
    assert not folder.exists()
    assert (run.folder / "final.safetensors").is_file()


def test_a_search_s_choice_is_trained_with_and_described() -> None:
    tried = [small(optimiser={**CONSTANT, "learning_rate": rate}) for rate in (1e-2, 1e-9)]
    for run in tried:
        checkpoint.produce(run)
    relatives = {run.id: run for run in tried}
    open_ = {"string_length": None, "batch_size": 4}
    found = small(search=tuple(relatives), relatives=relatives, task_parameters=open_)
    checkpoint.produce(found)
    described = json.loads((found.folder / "run.json").read_text())
    assert (described["learning_rate"], described["chosen"]) == (1e-2, {"string_length": 4})
    assert TrainedRun(found).log.learning_rate.tolist() == [1e-2] * 4


class Reading(Copying):
    """A task that reads its run's parent."""

    reads_parent = True

    def __init__(self, parent: TrainedRun, **parameters: int) -> None:
        super().__init__(**parameters)
        parent.weights()


def test_a_task_that_reads_the_parent_is_given_it(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(recipes, "recipe_number", lambda module: 1)
    monkeypatch.setattr(recipes, "fingerprint", str)
    parent = small()
    checkpoint.produce(parent)
    monkeypatch.setitem(tasks.REGISTRY, "copying", f"{__name__}:Reading")
    child = small(seed=2, parent=parent.id, relatives={parent.id: parent})
    checkpoint.produce(child)
    assert TrainedRun(child).ending["steps_done"] == 4


def test_a_run_that_continues_begins_with_its_parent_s_last_weights() -> None:
    parent = small()
    checkpoint.produce(parent)
    child = small(seed=2, parent=parent.id, continues=True, relatives={parent.id: parent})
    checkpoint.produce(child)
    last, first = TrainedRun(parent).weights(), TrainedRun(child).weights(0)
    assert all(torch.equal(value, last[name]) for name, value in first.items())
    assert not all(torch.equal(value, TrainedRun(parent).weights(0)[name]) for name, value in first.items())
