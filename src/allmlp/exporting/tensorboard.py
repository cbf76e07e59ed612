"""`--format tensorboard`: the training log of a run, ended or under way, as TensorBoard reads it."""

import json
import math
from collections.abc import Iterator, Mapping
from pathlib import Path
from typing import Any

from allmlp.errors import UserError
from allmlp.run import Run
from allmlp.training.checkpoint import WORK
from allmlp.training.saved import LOG
from allmlp.training.trained import Trained, at_hand, pulls

NAMES = {"loss": "loss/training", "validation_loss": "loss/held out"}  # of one panel; the others have their own


def write(run: Run, folder: Path) -> list[Path]:
    """Write the events of a run into `folder`, in place of older ones; returns the files.

    UserError without the package `tensorboard`, or without a log.
    """
    try:
        from torch.utils.tensorboard import SummaryWriter
    except ImportError:
        raise UserError("--format tensorboard: needs the package: `pip install tensorboard`.") from None
    rows = list(_rows(run))
    for old in folder.glob("events.out.tfevents.*"):
        old.unlink()
    with SummaryWriter(str(folder)) as writer:
        for row in rows:
            for name, value in row.items():
                if name != "step" and value is not None and not math.isnan(value):
                    writer.add_scalar(NAMES.get(name, name), value, int(row["step"]))
    return sorted(folder.glob("events.out.tfevents.*"))


def _rows(run: Run) -> Iterator[Mapping[Any, Any]]:
    """The rows of the log: of the checkpoints, or of the training so far, without a row that is just being written."""
    running = WORK / run.id / LOG
    if run.folder.is_dir():
        yield from Trained(run).log.to_dict("records")
    elif running.is_file():
        lines = running.read_bytes().splitlines(keepends=True)
        yield from (json.loads(line) for line in lines if line.endswith(b"\n"))
    elif pulls(run.folder):
        at_hand(run)  # raises: it says how to get them
    else:
        raise UserError(f"{run.id}: has no log yet. `allmlp train {run.id}` begins it.")
