"""`--format tensorboard`: the training log of a run, ended or under way, as TensorBoard reads it.

A log holds no time, as the same run gives the same bytes: its last row has the time at which the file was written, and
those before it follow each other at the pace that was measured.
"""

import json
import math
import time
from collections.abc import Iterator, Mapping
from contextlib import suppress
from pathlib import Path
from typing import Any

from allmlp.common.errors import UserError
from allmlp.spec.run import Run
from allmlp.training.checkpoint import WORK
from allmlp.training.published import TrainedRun, has_pointer, load_trained_run
from allmlp.training.state_file import LOG

NAMES = {"loss": "loss/training", "validation_loss": "loss/held out"}  # of one panel; the others have their own


PAUSE = 2.0  # seconds between two looks at a log that grows


def write(run: Run, folder: Path, follow: bool = False) -> list[Path]:
    """Write the events of a run into `folder`, in place of older ones; returns the files. `follow`: go on with each new
    row until the training has ended.

    UserError without the package `tensorboard`, or without a log.
    """
    try:
        from torch.utils.tensorboard import SummaryWriter
    except ImportError:
        raise UserError("--format tensorboard: needs the package: `pip install tensorboard`.") from None
    rows = list(_rows(run))
    written, pace = _clock(run)
    for old in folder.glob("events.out.tfevents.*"):
        old.unlink()
    with SummaryWriter(str(folder)) as writer:
        for row in rows:
            _add(writer, row, written - pace * (rows[-1]["step"] - row["step"]))
        ended = not follow
        while not ended:
            writer.flush()
            time.sleep(PAUSE)
            ended = run.folder.is_dir()  # asked first: the last rows are there then
            new = [row for row in _rows(run) if not rows or row["step"] > rows[-1]["step"]]
            for row in new:
                _add(writer, row, time.time())
            rows += new
    return sorted(folder.glob("events.out.tfevents.*"))


def _add(writer: Any, row: Mapping[Any, Any], at: float) -> None:
    for name, value in row.items():
        if name != "step" and value is not None and not math.isnan(value):
            writer.add_scalar(NAMES.get(name, name), value, int(row["step"]), walltime=at)


def _rows(run: Run) -> Iterator[Mapping[Any, Any]]:
    """The rows of the log: of the checkpoints, or of the training so far, without a row that is just being written."""
    running = WORK / run.id / LOG
    if run.folder.is_dir():
        yield from TrainedRun(run).log.to_dict("records")
    elif running.is_file():
        lines = running.read_bytes().splitlines(keepends=True)
        yield from (json.loads(line) for line in lines if line.endswith(b"\n"))
    elif has_pointer(run.folder):
        load_trained_run(run)  # raises: it says how to get them
    else:
        raise UserError(f"{run.id}: has no log yet. `allmlp train {run.id}` begins it.")


def _clock(run: Run) -> tuple[float, float]:
    """When the log was written, and the seconds of a step: 0 where none were measured yet, or not on this machine."""
    if run.folder.is_dir():
        trained = TrainedRun(run)
        seconds = trained.timing().get("seconds", 0.0)
        return (run.folder / "log.parquet").stat().st_mtime, seconds / max(1, trained.ending["steps_done"])
    folder, step, seconds = WORK / run.id, 0, 0.0
    for file in folder.glob("state-*.json"):
        with suppress(FileNotFoundError):  # the training has just replaced it
            state = json.loads(file.read_bytes())
            step, seconds = max((step, seconds), (state["step"], state["seconds"]))
    return (folder / LOG).stat().st_mtime, seconds / max(1, step)
