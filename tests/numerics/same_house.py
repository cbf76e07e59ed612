"""What the project says, as digests: ids of runs, rows of measurements, verdicts. Kept in same_house.json.

`python -m tests.numerics.same_house` writes the file again. A change of the code alone leaves it as it is; new runs and
measurements only add to it.
"""

import contextlib
import hashlib
import json
import os
import shutil
import tempfile
from pathlib import Path
from typing import Any
from unittest.mock import patch

import numpy as np
import pandas as pd

from allmlp.common import paths
from allmlp.common.workers import run_all
from allmlp.judging import judge
from allmlp.judging.complete_runs import SETS
from allmlp.judging.select import select
from allmlp.measurements import store
from allmlp.plan.plan import Plan, load_plan

FILE = Path(__file__).with_suffix(".json")
DIGITS = 6  # of a digest: two of thousands agree by chance once in a thousand such files


def runs(plan: Plan) -> dict[str, list[str]]:
    """`study scale` -> a digest of each run's id, of every scale and recorded overlay."""
    return {
        f"{study} {scale}": sorted(_short(run.id) for run in of)
        for scale, studies in plan.runs_by_scale.items()
        for study, of in studies.items()
    }


def measurements() -> dict[str, list[str]]:
    """`study measure` -> a digest of each run's rows with their recipes, whatever parts hold them."""
    found = {}
    for study, measure in store.measures():
        stored = store.read_measure(study, measure)
        about = [(one, stored.rows(key).to_pandas()) for key, (one, _) in stored.places.items()]
        found[f"{study} {measure}"] = sorted(
            _short([one.run, one.settings, one.recipes, _of_rows(rows)]) for one, rows in about
        )
    return found


def _of_rows(rows: pd.DataFrame) -> str:
    """Of names and values, exact to the last bit, in their order."""
    digest = hashlib.sha256(" ".join(rows.columns).encode())
    for name in rows.columns:
        column = rows[name]
        if pd.api.types.is_bool_dtype(column) or pd.api.types.is_integer_dtype(column):
            digest.update(column.to_numpy(np.int64).tobytes())
        elif pd.api.types.is_float_dtype(column):
            digest.update(column.to_numpy(np.float64).tobytes())
        else:
            digest.update(json.dumps(column.astype(object).where(column.notna(), None).tolist()).encode())
    return digest.hexdigest()


def verdicts(plan: Plan, folder: Path) -> dict[str, dict[str, str]]:
    """claim -> scale or overlay -> its verdict there, and a digest of it with value, interval, text and runs.

    Judged in `folder`, an empty one, from the measurements of the project.
    """
    (folder / "results").mkdir()
    (folder / "results/measurements").symlink_to(plan.root / "results/measurements")
    shutil.copy2(plan.root / SETS, folder / SETS)
    with contextlib.chdir(folder), patch.dict(os.environ, {paths.PROJECT: str(plan.root)}):
        select(plan)
        (judged,) = run_all([judge.work()])
    found: dict[str, dict[str, str]] = {}
    for entry in judged["claims"]:
        at = {**entry["at"], **entry.get("elsewhere", {})}
        keys = ("verdict", "value", "low", "high", "text", "runs", "rule_changed_since", "older_recipe")
        of = {scale: f"{one['verdict']} {_short([one.get(key) for key in keys])}" for scale, one in at.items()}
        found[entry["id"]] = {"": entry["verdict"], **of}
    return found


def _short(value: Any) -> str:
    return paths.digest(value, DIGITS)


def main() -> None:
    """Write same_house.json."""
    plan = load_plan()
    with tempfile.TemporaryDirectory() as folder:
        found = {"runs": _joined(runs(plan)), "measurements": _joined(measurements())}
        paths.write_atomically(FILE, json.dumps({**found, "verdicts": verdicts(plan, Path(folder))}, indent=1) + "\n")


def _joined(digests: dict[str, list[str]]) -> dict[str, str]:
    return {place: " ".join(of) for place, of in digests.items()}


if __name__ == "__main__":
    main()
