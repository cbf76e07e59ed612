"""Training logs as TensorBoard reads them."""

import json
import os
import shutil
import sys
from pathlib import Path

import pandas as pd
import pytest

from allmlp.common import paths
from allmlp.common.errors import UserError
from allmlp.pipeline.exporting import tensorboard
from allmlp.training.storage import write_json
from tests import tiny
from tests.exported import trained

pytestmark = pytest.mark.usefixtures("here")


LOG = [
    {"step": 0, "loss": 3.0, "learning_rate": 0.1, "gradient_norm": 1.5, "validation_loss": None},
    {"step": 1, "loss": 2.5, "learning_rate": 0.2, "gradient_norm": 1.25, "validation_loss": 2.75},
]


def read(folder: Path) -> dict[str, list[tuple[int, float]]]:
    """What TensorBoard shows of a folder."""
    accumulator = pytest.importorskip("tensorboard.backend.event_processing.event_accumulator")
    events = accumulator.EventAccumulator(str(folder)).Reload()
    return {tag: [(one.step, one.value) for one in events.Scalars(tag)] for tag in events.Tags()["scalars"]}


def test_tensorboard_reads_the_log_of_a_training_under_way_and_of_one_that_ended(here: Path) -> None:
    run = trained("llama").run
    expected = {
        "loss/training": [(0, 3.0), (1, 2.5)],
        "loss/held out": [(1, 2.75)],
        "learning_rate": [(0, pytest.approx(0.1)), (1, pytest.approx(0.2))],
        "gradient_norm": [(0, 1.5), (1, 1.25)],
    }
    pd.DataFrame(LOG).to_parquet(run.folder / "log.parquet")
    sealed = json.loads((run.folder / "manifest.json").read_text())
    write_json(run.folder / "manifest.json", {**sealed, "log.parquet": paths.file_sha256(run.folder / "log.parquet")})
    tensorboard.write(run, here / "ended")
    assert read(here / "ended") == expected
    shutil.rmtree(run.folder)
    with pytest.raises(UserError, match=f"{run.id}: has no log yet"):
        tensorboard.write(run, here / "none")
    running = here / "work/runs" / run.id / "log.jsonl"
    running.parent.mkdir(parents=True)
    running.write_text("".join(json.dumps(row) + "\n" for row in LOG) + '{"step": 2, "lo')
    tensorboard.write(run, here / "running")
    assert read(here / "running") == expected
    running.write_text(json.dumps(LOG[0]) + "\n")
    assert len(tensorboard.write(run, here / "running")) == 1
    assert read(here / "running")["loss/training"] == [(0, 3.0)], "older events are replaced"


def times(folder: Path) -> list[float]:
    accumulator = pytest.importorskip("tensorboard.backend.event_processing.event_accumulator")
    return [one.wall_time for one in accumulator.EventAccumulator(str(folder)).Reload().Scalars("loss/training")]


def test_tensorboard_shows_the_times_of_the_training_and_not_of_the_export(here: Path) -> None:
    """12 steps in 60 s, the last of the two rows written at 1,000,000; under way, 4 steps in 8 s."""
    run = trained("llama").run
    pd.DataFrame(LOG).to_parquet(run.folder / "log.parquet")
    sealed = json.loads((run.folder / "manifest.json").read_text())
    write_json(run.folder / "manifest.json", {**sealed, "log.parquet": paths.file_sha256(run.folder / "log.parquet")})
    os.utime(run.folder / "log.parquet", (1_000_000, 1_000_000))
    tensorboard.write(run, here / "elsewhere")
    assert times(here / "elsewhere") == [1_000_000, 1_000_000], "it was not trained on this machine"
    write_json(here / f"work/timings/{run.id}.json", {"seconds": 60.0})
    tensorboard.write(run, here / "ended")
    assert times(here / "ended") == [999_995, 1_000_000]
    shutil.rmtree(run.folder)
    folder = here / "work/runs" / run.id
    folder.mkdir(parents=True)
    (folder / "log.jsonl").write_text("".join(json.dumps(row) + "\n" for row in LOG))
    (folder / "state-4.json").write_text(json.dumps({"step": 4, "seconds": 8.0}))
    os.utime(folder / "log.jsonl", (2_000_000, 2_000_000))
    tensorboard.write(run, here / "running")
    assert times(here / "running") == [1_999_998, 2_000_000]


def test_a_training_is_followed_until_it_ends(here: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    run = trained("llama").run
    ended, running = here / "ended-elsewhere", here / "work/runs" / run.id
    run.folder.rename(ended)
    running.mkdir(parents=True)
    (running / "log.jsonl").write_text(json.dumps(LOG[0]) + "\n")
    seen, looks, logged = [], iter([LOG[1], {**LOG[1], "step": 2}]), [LOG[0]]

    def pause(_: float) -> None:
        seen.append([step for step, _ in read(here / "live")["loss/training"]])
        if (row := next(looks, None)) is not None:
            logged.append(row)
            (running / "log.jsonl").write_text("".join(json.dumps(one) + "\n" for one in logged) + '{"step": 9, "lo')
            return
        rows = [LOG[0], LOG[1], {**LOG[1], "step": 2}, {**LOG[1], "step": 3}]
        pd.DataFrame(rows).to_parquet(ended / "log.parquet")
        sealed = json.loads((ended / "manifest.json").read_text())
        write_json(ended / "manifest.json", {**sealed, "log.parquet": paths.file_sha256(ended / "log.parquet")})
        ended.rename(run.folder)

    monkeypatch.setattr(tensorboard.time, "sleep", pause)
    tensorboard.write(run, here / "live", follow=True)
    assert seen == [[0], [0, 1], [0, 1, 2]], "no row that is cut off is read"
    assert [step for step, _ in read(here / "live")["loss/training"]] == [0, 1, 2, 3]


def test_without_the_package_the_way_out_is_named(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setitem(sys.modules, "torch.utils.tensorboard", None)
    with pytest.raises(UserError, match=r"needs the package: `pip install tensorboard`"):
        tensorboard.write(tiny.run("llama"), Path("there"))
