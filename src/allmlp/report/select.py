"""What the last mile speaks of: results/selected.json, written from the plan before `dvc repro`.

It names, for every study and scale, the planned runs and those of their measurements that are there, with digests. The
DVC stages depend on this one file, so that they need no plan, no parameters and no checkpoints.
"""

import json
from pathlib import Path
from typing import Any

from allmlp import corpora, paths, recipes, studies
from allmlp.measuring import read
from allmlp.plan import Plan
from allmlp.run import Run

SELECTED = Path("results/selected.json")


def _describe(run: Run) -> dict[str, Any]:
    """What figures, tables and provenance say of a run."""
    return {
        "labels": run.labels,
        "seed": run.seed,
        "architecture": run.architecture,
        "hyperparameters": run.hyperparameters,
        "task": run.task,
        "task_parameters": run.task_parameters,
        "corpus": run.corpus,
        "optimiser": run.optimiser,
        "steps": run.steps,
        "device": run.device,
        "threads": run.threads,
    }


def older(run: Run, measure: str) -> Path | None:
    """The same run's measurement by an older recipe of some code: judged, and marked, until it is measured again.

    One that lacks a column of today's measure says too little for that.
    """
    folder, columns = Path(run.measurements[measure]).parent, set(studies.measure(run.study, measure).COLUMNS)
    found = {path: read(path) for path in sorted(folder.glob(f"{run.name}-seed{run.seed}-*.parquet"))}
    same = {
        path: about["recipes"]
        for path, (rows, about) in found.items()
        if about.get("settings") == run.settings_digest and columns <= set(rows)
    }
    return max(same, key=lambda path: same[path], default=None)


def _measurement(run: Run, measure: str) -> dict[str, Any] | None:
    current = Path(run.measurements[measure])
    path = current if current.is_file() else older(run, measure)
    if path is None:
        return None
    return {"file": str(path), "sha256": paths.file_sha256(path), "older_recipe": path != current}


def _of_scale(runs: list[Run]) -> dict[str, Any]:
    found: dict[str, dict[str, Any]] = {}
    for run in runs:
        for measure in run.measures:
            entry = _measurement(run, measure)
            if entry:
                found.setdefault(measure, {})[run.id] = entry
    planned = {measure: [run.id for run in runs if measure in run.measures] for run in runs for measure in run.measures}
    return {"runs": {run.id: _describe(run) for run in runs}, "planned": planned, "measurements": found}


def _begun(content: dict[str, Any]) -> bool:
    """Is anything measured that was trained for it? What needs no training is one run of every scale."""
    steps = {run: about["steps"] for run, about in content["runs"].items()}
    measured = {run for runs in content["measurements"].values() for run in runs}
    return any(steps[run] > 0 or not any(steps.values()) for run in measured)


def _of_study(plan: Plan, study: str) -> dict[str, Any]:
    scales: dict[str, Any] = {
        scale: _of_scale(of_study[study]) for scale, of_study in plan.by_scale.items() if study in of_study
    }
    for content in scales.values():
        if not _begun(content):  # planned only: its number of runs is all there is to say
            content["runs"], content["measurements"] = {}, {}
    return scales


def select(plan: Plan) -> None:
    """Write results/selected.json."""
    lock = corpora.read_lock(plan.root)
    content = {
        "plan": plan.digest(),
        "scale": plan.scale,
        "recorded": {name: other.scale for name, other in plan.recorded.items()},
        "studies": {study: _of_study(plan, study) for study in studies.STUDIES if studies.has_runs(study)},
        "corpora": {name: {key: entry[key] for key in ("id", "spec", "counts")} for name, entry in lock.items()},
        "recipes": {module: recipes.of(module) for module in recipes.modules()},
    }
    paths.write_whole(SELECTED, json.dumps(content, indent=1) + "\n")
