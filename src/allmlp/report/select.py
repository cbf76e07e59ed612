"""What the last mile speaks of: results/selected.json, written from the plan before `dvc repro`.

It names, for every study and scale, the planned runs and those of their measurements that are there, with digests; the
complete sets that stand in for larger plans; and whose rules are younger than their results. The DVC stages depend on
this one file, so that they need no plan, no parameters, no git and no checkpoints.
"""

import json
from pathlib import Path
from typing import Any

from allmlp import corpora, paths, recipes, rules, studies
from allmlp.measuring import read
from allmlp.plan import Plan
from allmlp.report.ages import History
from allmlp.report.evidence import SELECTED, Evidence
from allmlp.report.sets import Sets, Unit, lasting, units
from allmlp.run import Run


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
    described = {run.id: _describe(run) for run in runs}
    return {"runs": described, "planned": planned, "measurements": found, "seeds": _seeds(runs)}


def _seeds(runs: list[Run]) -> dict[str, dict[str, int]]:
    """measure -> part of the study -> how many seeds are planned: what `allmlp power` judges a plan by."""
    found: dict[str, dict[str, set[int]]] = {}
    for run in runs:
        for measure in run.measures:
            found.setdefault(measure, {}).setdefault(str(run.labels.get("part", "")), set()).add(run.seed)
    return {measure: {part: len(seeds) for part, seeds in parts.items()} for measure, parts in found.items()}


def _begun(content: dict[str, Any]) -> bool:
    """Is anything measured that was trained for it? What needs no training is one run of every scale."""
    steps = {run: about["steps"] for run, about in content["runs"].items()}
    measured = {run for runs in content["measurements"].values() for run in runs}
    return any(steps[run] > 0 or not any(steps.values()) for run in measured)


def _standing(
    study: str, scale: str, content: dict[str, Any], of_study: set[Unit], runs: list[Run], sets: Sets
) -> None:
    """Add to a scale's `content` which sets stand in for those that the plan has not complete, or no longer count."""
    names = {run.id: lasting(run) for run in runs}
    for unit in sorted(of_study):
        found = Evidence(study, scale, content).of_parts(unit.parts, unit.also)
        if found is None:
            continue
        planned, measured = ({m: of(m) for m in unit.measures} for of in (found.planned, found.measured))
        stand = sets.take(study, scale, unit, planned, measured, names)
        if stand.runs is not None:
            content.setdefault("standing", {})[unit.key] = stand.runs
        elif stand.dropped:
            content.setdefault("dropped", {})[unit.key] = list(stand.dropped)


def _younger(study: str, scale: str, content: dict[str, Any], runs: list[Run], history: History) -> dict[str, Any]:
    """claim -> is its rule younger than the results that it judges here? None where git does not say."""
    settings, lock, found = {run.id: run.settings_digest for run in runs}, rules.read_lock(), {}
    for claim in studies.ledger(study):
        of_claim = Evidence(study, scale, content).whole_set(Unit.of_claim(claim)) if claim["test"] else None
        if of_claim is not None and all(of_claim.measured(measure) for measure in claim["measures"]):
            files = {
                (entry["file"], settings[run])
                for measure in claim["measures"]
                for run, entry in of_claim.files(measure).items()
            }
            found[claim["id"]] = history.younger(claim["id"], lock.get(claim["id"]), scale, sorted(files))
    return found


def _of_study(plan: Plan, study: str, sets: Sets, history: History) -> dict[str, Any]:
    of_study, scales = set(units(study)), {}
    sets.keep_only(study, {unit.key for unit in of_study})
    for scale, runs in ((scale, planned[study]) for scale, planned in plan.by_scale.items() if study in planned):
        content = _of_scale(runs)
        if not _begun(content):  # planned only: its number of runs is all there is to say
            content["runs"], content["measurements"] = {}, {}
        else:
            _standing(study, scale, content, of_study, runs, sets)
            content["younger"] = _younger(study, scale, content, runs, history)
        scales[scale] = content
    return scales


def select(plan: Plan) -> None:
    """Write results/selected.json, and the sets that are complete into results/sets.json."""
    lock = corpora.read_lock(plan.root, committed=Path.cwd().samefile(plan.root))
    sets, history = Sets.read(), History.of(plan.root)
    of_studies = {study: _of_study(plan, study, sets, history) for study in studies.STUDIES if studies.has_runs(study)}
    sets.write()
    content = {
        "plan": plan.digest(),
        "scale": plan.scale,
        "recorded": {name: other.scale for name, other in plan.recorded.items()},
        "studies": of_studies,
        "corpora": {name: {key: entry[key] for key in ("id", "spec", "counts")} for name, entry in lock.items()},
        "recipes": {module: recipes.of(module) for module in recipes.modules()},
    }
    paths.write_whole(SELECTED, json.dumps(content, indent=1) + "\n")
