"""A longer twin goes on where a shorter one ended, with the bits of a training from the beginning.

The shorter run's published state, log and kept weights are copied into the longer run's work folder, as if it had been
killed there. A twin is used only if it has everything that the longer run would have made by then.
"""

import json
import math
from pathlib import Path
from typing import Any

import pandas as pd

from allmlp import artifacts, origins, paths
from allmlp.errors import UserError
from allmlp.run import Run
from allmlp.training.saved import LOG, described
from allmlp.training.storage import read_log, read_manifest, write_json
from allmlp.whole import copy_whole

STATE = "final-state.safetensors"
STEPS, KEEP = 1, 3  # places in an identity's "training"
FREE = ("keeps_state", "tested")


def begin_where_twin_ended(run: Run, work: Path, timings: Path) -> list[str]:
    """Copy the twin's last state into `work`, unless the run has a state there. Prints why if it cannot.

    Returns the sources that trained the twin; none if it is not used.
    """
    if run.shorter is None or any(work.glob("state-*.json")):
        return []
    twin = Path("results/checkpoints") / run.shorter
    try:
        manifest, said = read_manifest(twin), artifacts.read("checkpoint", twin / "run.json")
        step = _usable(run, said)
        kept = [f"step-{at}.safetensors" for at in run.keep if at < step]
        for name in (STATE, "log.parquet", *kept):
            if name not in manifest or paths.file_sha256(twin / name) != manifest[name]:
                raise UserError(f"{twin / name}: is missing or damaged")
        rows = _rows(read_log(twin / "log.parquet", "delete it."))
    except (UserError, OSError) as error:
        print(f"{run.id}: begins at step 0, because its shorter twin cannot be used: {error}", flush=True)
        return []
    for name in kept:
        copy_whole(twin / name, work / name)
    log = "".join(json.dumps(row) + "\n" for row in rows)
    paths.write_whole(work / LOG, log)
    copy_whole(twin / STATE, work / f"state-{step}.safetensors")
    timing = timings / f"{run.shorter}.json"
    spent = artifacts.read_json(timing) if timing.is_file() else {}
    seconds = spent.get("seconds", math.nan)
    weights = {name: manifest[name] for name in kept}
    write_json(work / f"state-{step}.json", described(step, manifest[STATE], seconds, weights, log.encode()))
    return origins.made_by(spent.get("versions", ""))


def _usable(run: Run, said: dict[str, Any]) -> int:
    """The twin's steps. UserError unless it is this run but shorter, with held-out losses of the same steps."""
    theirs, ours = said["run"], json.loads(paths.canonical(run.identity))
    step, ended = theirs["training"][STEPS], said["ending"]
    if _same(theirs) != _same(ours):
        raise UserError("it differs in more than its steps")
    if ended["diverged"] or ended["steps_done"] != step or step > run.steps:
        raise UserError(f"it ended after {ended['steps_done']} of {step} steps")
    if ended["validation_loss"] is not None and _tested(theirs, step) != _tested(ours, step):
        raise UserError("its held-out losses are of other steps")
    return step


def _same(identity: dict[str, Any]) -> dict[str, Any]:
    training = [value for place, value in enumerate(identity["training"]) if place not in (STEPS, KEEP)]
    return {key: value for key, value in identity.items() if key not in FREE} | {"training": training}


def _tested(identity: dict[str, Any], before: int) -> set[int]:
    return {at for at in (*identity["training"][KEEP], *identity.get("tested", ())) if at < before}


def _rows(log: pd.DataFrame) -> list[dict[str, Any]]:
    """A published log as the loop's rows: None for a held-out loss that was not taken."""
    rows: list[dict[str, Any]] = log.to_dict("records")  # type: ignore[assignment]
    for row in rows:
        if "validation_loss" in row and pd.isna(row["validation_loss"]):
            row["validation_loss"] = None
    return rows
