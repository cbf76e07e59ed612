"""Merge parts of the store; remove measurements and checkpoints that were made again under a newer recipe."""

import shutil
from collections.abc import Collection, Mapping
from pathlib import Path

from allmlp.common import formats, paths
from allmlp.common.dvc import CHECKPOINTS
from allmlp.judging.ages import History
from allmlp.measurements import store
from allmlp.plan.plan import Plan


def compact(without: Mapping[tuple[str, str], Collection[store.Key]] | None = None) -> tuple[int, int]:
    """Merge the parts of each measure into one. Returns the number of parts before and after.

    A merged part records the first commit of each measurement, because git's history of the merged parts no longer
    shows it. `without`: (study, measure) -> measurements to leave out.
    """
    history, before, after = History.read(paths.project()), 0, 0
    for study, measure in store.measures():
        stored, gone = store.read_measure(study, measure), (without or {}).get((study, measure), ())
        kept = [(one, stored.rows(key)) for key, (one, _) in stored.places.items() if key not in gone]
        before += len(store.parts(study, measure))
        after += len(store.rewrite(study, measure, kept, history.commits_to_record(study, measure)))
    return before, after


def superseded_measurements(plan: Plan) -> dict[tuple[str, str], list[store.Key]]:
    """(study, measure) -> measurements in the store that were made again under a newer recipe.

    Everything else stays, even if no plan names it: it may come from a GPU or a cluster.
    """
    current = {
        (run.study, measure, run.settings_digest): run.keys[measure]
        for run in plan.all_runs
        for measure in run.measures
    }
    old: dict[tuple[str, str], list[store.Key]] = {}
    for study, measure in store.measures():
        places = store.read_measure(study, measure).places
        for key, (one, _) in places.items():
            newer = current.get((study, measure, one.settings), key)
            if newer != key and newer in places:
                old.setdefault((study, measure), []).append(key)
    return old


def superseded_checkpoints(plan: Plan) -> list[Path]:
    """Old checkpoints of laptop runs that were made again under a newer recipe, except parents of runs that stay."""
    scales = [plan.runs_by_scale[scale] for scale in ("smoke", "laptop")]
    small = {run.settings_digest: run.id for of in scales for runs in of.values() for run in runs}
    said = {path.parent: formats.read("checkpoint", path) for path in sorted(CHECKPOINTS.glob("*/run.json"))}
    newer_ids = {folder: small.get(one["settings"], folder.name) for folder, one in said.items()}
    again = {folder for folder, new in newer_ids.items() if new != folder.name and (CHECKPOINTS / new).is_dir()}
    needed = {one["run"]["parent"] for folder, one in said.items() if folder not in again}  # by checkpoints that stay
    folders = sorted(folder for folder in again if folder.name not in needed)
    return [item for f in folders for item in (f, f.with_name(f"{f.name}.dvc")) if item.exists()]


def prune(plan: Plan, apply: bool) -> None:
    """List superseded files; delete them only with `apply`."""
    measurements, checkpoints = superseded_measurements(plan), superseded_checkpoints(plan)
    for (study, measure), keys in measurements.items():
        for run, recipe in keys:
            print(f"{store.STORE / study / measure}: {run}-r{recipe}")
    for path in checkpoints:
        print(path)
    if apply:
        compact({of: set(keys) for of, keys in measurements.items()})
        for path in checkpoints:
            shutil.rmtree(path) if path.is_dir() else path.unlink()
    count = sum(map(len, measurements.values())) + len(checkpoints)
    print(f"{count} {'removed' if apply else 'would be removed; --apply removes them'}")
