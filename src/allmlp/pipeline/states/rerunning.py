"""`allmlp verify --rerun`: does training again give the committed measurements, and a claim its committed verdict?

The runs of a study, or those that a claim's verdict rests on, are trained and measured again apart, and no file of the
project changes. Where a run was committed from the same CPU type, each measurement must have the same values, bit by
bit; elsewhere those of the columns' tolerances. A claim is then judged once more, on these measurements and, for the
rest of its study, on the committed ones: corrections for many claims need them all.

A claim's runs are trained with the learning rates that their searches chose: the committed measurements of the searches
decide again. A search is trained again only where these do not say how it ended, as that of strings, which have no
held-out text.
"""

import shutil
from collections.abc import Sequence
from contextlib import chdir, suppress
from pathlib import Path
from typing import Any

import pandas as pd

from allmlp.common import paths
from allmlp.common.errors import UserError
from allmlp.common.locks import hold
from allmlp.common.terminal import duration
from allmlp.judging import claims_json, judge, selection
from allmlp.judging.selection import SelectedMeasurement
from allmlp.measurements import measurement, search_losses, store
from allmlp.pipeline import references
from allmlp.pipeline.references import Reference
from allmlp.pipeline.reproduce import outcome_counts, rerun_and_compare
from allmlp.plan import costs, results_folder
from allmlp.plan.plan import Plan, load_plan
from allmlp.spec import catalogue
from allmlp.spec.run import Run
from allmlp.training.devices import require

APART = Path("work/rerun")
LOCK, CALL = Path("work/rerun.lock"), "allmlp verify --rerun"
COST = search_losses.COST  # the measure that says on which hardware a run was trained, and how long that took
OUTCOMES = (search_losses.COST, search_losses.FALLS)  # the measures by which a search chooses


def rerun_study(plan: Plan, cores: int) -> int:
    """Print what is not as committed, and a summary. Returns 1 if anything is, else 0."""
    if all(store.unstored_files(run) == run.measurements for run in plan.runs):
        raise UserError(f"{plan.study} at scale {plan.scale}: nothing is committed to compare with. Choose a --scale.")
    apart = plan.root / APART / str(plan.study)
    with hold(plan.root / LOCK, CALL):
        reference = references.choose_reference(plan.root, apart, None)
        comparison = rerun_and_compare(plan, apart, cores, reference)
        wrong = _report(comparison, apart, reference, str(plan.study))
        _forget(apart, reference)
    return int(wrong)


def rerun_claim(
    claim: str,
    scale: str | None,
    seeds: int | None,
    cores: int,
    overlays: Sequence[Path] = (),
    device: str | None = None,
) -> int:
    """Print what the runs behind a claim cost, and then what is not as committed. Returns 1 if anything is, else 0.

    `scale`: another one than that of the verdict in git. `seeds`: only so many of each setting.
    """
    changes = {"scale": scale, "device": device, "study": catalogue.claim_study(claim)}
    plan = load_plan(overlays, changes)
    if overlays and results_folder.folder(plan) is None:
        raise UserError(f"--claim {claim}: a claim rests on runs of config/ alone. `--study` runs those of --params.")
    results_folder.enter(plan)
    apart = plan.root / APART / claim
    with hold(plan.root / LOCK, CALL):
        reference = references.choose_reference(plan.root, apart, None)
        before = _entry(reference, claim, scale)
        if plan.scale != before["scale"]:
            plan = load_plan(overlays, {**changes, "scale": before["scale"]})
        every = _claim_runs(plan, claim, before)
        runs = select_seeds(every, seeds) if seeds else every
        read = _runs_they_read(runs, apart, reference)
        print("\n".join(_forecast_lines(claim, plan, runs, every, read, reference, cores)), flush=True)
        if on_gpus := [run for run in (*runs, *read) if run.gpus]:
            require("cuda", len(on_gpus), count=max(run.gpus for run in on_gpus))
        listed = apart / "runs.txt"
        paths.write_atomically(listed, "".join(f"{run.id}\n" for run in [*runs, *read]))
        comparison = rerun_and_compare(plan.restrict_runs(listed), apart, cores, reference)
        wrong = _report(comparison, apart, reference, claim)
        after = _judge_rerun(claim, before["scale"], runs, apart, reference)
        print("\n".join(_verdicts(claim, before, after)))
        _forget(apart, reference)
    return int(wrong or _part_verdicts(before) != _part_verdicts(after))


def _forget(apart: Path, reference: Reference) -> None:
    reference.forget()
    shutil.rmtree(apart)
    with suppress(OSError):  # another call has left its own there
        apart.parent.rmdir()


def _report(comparison: pd.DataFrame, apart: Path, reference: Reference, what: str) -> bool:
    """Print each measurement that is not as committed, and how many are. Is any not?"""
    here = _hardware(comparison, apart, reference)
    wrong = list(filter(None, (_describe_fault(row, here) for row in comparison.itertuples())))
    runs = comparison.run.nunique()
    print("\n".join([*wrong, f"{what}, {_runs(runs)} again: measurements {outcome_counts(comparison)}"]), flush=True)
    return bool(wrong)


def _hardware(comparison: pd.DataFrame, apart: Path, reference: Reference) -> dict[str, str]:
    """run -> the hardware that it was trained on both times; without runs of two kinds of hardware."""
    found = {}
    for row in comparison[comparison.measure == COST].itertuples():
        stored = reference.read_measure(str(row.study), COST)
        for key in (key for key in stored.places if key[0] == row.run):
            fresh, then = measurement.read(apart / str(row.file))[1], stored.rows(key)
            if (hardware := fresh["hardware"][0].as_py()) == then["hardware"][0].as_py():
                found[str(row.run)] = hardware
    return found


def _describe_fault(row: Any, here: dict[str, str]) -> str:
    """What is wrong with a measurement; empty if nothing is."""
    hardware = here.get(row.run)
    if row.outcome == "different":
        return f"{row.run} {row.measure}: {row.detail}"
    if row.outcome == "within tolerance" and hardware:
        return f"{row.run} {row.measure}: other bits on the same CPU type ({hardware}): {row.detail}"
    return ""


# --- the runs behind a claim


def _entry(reference: Reference, claim: str, scale: str | None) -> dict[str, Any]:
    """The claim's verdict in git at a scale, by default at that which decides it."""
    with chdir(reference.folder):
        found = next((one for one in claims_json.read()["claims"] if one["id"] == claim), None)
    if found is None:
        raise UserError(f"{claim}: {paths.CLAIMS} in git does not have it yet. `allmlp report`, and commit.")
    if not found["at"]:
        raise UserError(
            f"{claim}: no runs are behind it yet ({found['text']}). `allmlp plan --scale SCALE` lists them."
        )
    at = scale or found["scale"]
    if at not in found["at"]:
        raise UserError(f"{claim}: not judged at scale {at}. --scale can be {' or '.join(found['at'])}.")
    entry: dict[str, Any] = found["at"][at]
    return entry


def _claim_runs(plan: Plan, claim: str, entry: dict[str, Any]) -> list[Run]:
    """The runs that a verdict in git rests on."""
    planned = {run.id: run for run in plan.chosen_runs[str(plan.study)]}
    if gone := [run for run in entry["runs"] if run not in planned]:
        more = f" and {len(gone) - 1} more" if gone[1:] else ""
        raise UserError(
            f"{claim}: its verdict in git rests on {gone[0]}{more}, which the plan lacks: parameters or recipes "
            "have changed since. `git checkout` these, or judge what is here with `allmlp report`, and commit."
        )
    return [planned[run] for run in entry["runs"]]


def select_seeds(runs: Sequence[Run], count: int) -> list[Run]:
    """The runs of the first `count` seeds of each setting: the same seeds for all that are compared."""
    seeds: dict[str, set[int]] = {}
    for run in runs:
        seeds.setdefault(_setting(run), set()).add(run.seed)
    return [run for run in runs if run.seed in sorted(seeds[_setting(run)])[:count]]


def _setting(run: Run) -> str:
    return paths.canonical([run.name, run.labels])


def _runs_they_read(runs: Sequence[Run], apart: Path, reference: Reference) -> list[Run]:
    """The further runs that these read, once the committed outcomes of searches lie in the folder apart."""
    behind, waiting = {run.id: run for run in runs}, [*runs]
    while waiting:
        new = {one.id: one for one in waiting.pop().relatives.values() if one.id not in behind}
        behind |= new
        waiting += new.values()
    again = {run.id for run in runs} | {str(run.parent) for run in behind.values()}
    with chdir(reference.folder):
        asked = {(one, run.criterion) for run in behind.values() for one in run.search}
        unknown = {one for one, criterion in asked if search_losses.search_numbers(behind[one], criterion) is None}
    apart.mkdir(parents=True, exist_ok=True)
    with chdir(apart):
        shutil.rmtree(store.STORE, ignore_errors=True)
        _bring([behind[one] for one in sorted({one for one, _ in asked} - unknown - again)], reference)
        needed, waiting = {run.id: run for run in runs}, [*runs]
        while waiting:
            run = waiting.pop()
            new = {one: run.relatives[one] for one in search_losses.runs_it_reads(run) if one not in needed}
            needed |= new
            waiting += new.values()
    return list(needed.values())[len(runs) :]


def _bring(runs: Sequence[Run], reference: Reference) -> None:
    """Put the committed measurements by which a search chooses into the store that is here."""
    for study, measure in {(run.study, measure) for run in runs for measure in OUTCOMES if measure in run.measures}:
        stored = reference.read_measure(study, measure)
        keys = [(run.id, run.recipe(measure)) for run in runs if measure in run.measures]
        store.write(study, measure, [(stored.places[key][0], stored.rows(key)) for key in keys if key in stored.places])


# --- what it costs, and what came of it


def _forecast_lines(
    claim: str, plan: Plan, runs: list[Run], every: list[Run], read: list[Run], reference: Reference, cores: int
) -> list[str]:
    """What will be trained, and for how long: lines to read before it begins."""
    part = "" if len(runs) == len(every) else f", {len(runs)} of them here"
    lines = [f"{claim} at scale {plan.scale} rests on {_runs(len(every))}{part}"]
    searched = {one for run in [*runs, *read] for one in run.search} - {run.id for run in [*runs, *read]}
    if searched:
        lines.append(f"learning rates are those that {_runs(len(searched), 'committed ')} chose, not trained again")
    if read:
        lines.append(f"{_runs(len(read), 'more ')} will be trained, which these read")
    trained = [run for run in [*runs, *read] if run.steps]
    if not trained:
        return [*lines, "nothing is trained: it takes what its formulae and measures take, seconds to minutes"]
    estimated = costs.hours(trained)
    recorded = {**estimated, **_recorded_hours(trained, reference)}
    devices, where = (1, "one GPU") if any(run.gpus for run in trained) else (cores, f"{cores} cores")
    hours = sorted(max(1 / 60, sum(of[run.id] for run in trained) / devices) for of in (estimated, recorded))
    both = " to ".join(dict.fromkeys(map(duration, hours)))
    return [*lines, f"trainings take about {both} on {where}; measures and tokens come on top"]


def _runs(count: int, which: str = "") -> str:
    return f"{count} {which}run{'s' * (count != 1)}"


def _recorded_hours(runs: Sequence[Run], reference: Reference) -> dict[str, float]:
    """run -> the hours that its training took, where git has them."""
    found = {}
    for run in runs:
        stored, key = reference.read_measure(run.study, COST), (run.id, run.recipe(COST))
        seconds = stored.rows(key)["seconds"][0].as_py() if key in stored.places else None
        if seconds is not None and seconds > 0:  # not nan
            found[run.id] = seconds / 3600
    return found


def _judge_rerun(claim: str, scale: str, runs: Sequence[Run], apart: Path, reference: Reference) -> dict[str, Any]:
    """The claim's verdict on the measurements of these runs that lie apart, and on the committed ones of all others."""
    study, folder = runs[0].study, apart / "judged"
    shutil.rmtree(folder, ignore_errors=True)
    shutil.copytree(reference.folder, folder)
    with chdir(folder):
        content, made = selection.read(), {(run.id, measure): run for run in runs for measure in run.measures}
        for measure in sorted({measure for _, measure in made}):
            files = [run.measurements[measure] for (_, of), run in made.items() if of == measure]
            store.replace(study, measure, [measurement.read(apart / file) for file in files], {})
        of_study = {at: _replace_measurements(study, made, found) for at, found in content["studies"][study].items()}
        entries = judge.judge_study(study, {**content, "studies": {study: of_study}})
    entry: dict[str, Any] = next(one for one in entries if one["id"] == claim)["at"][scale]
    return entry


def _replace_measurements(study: str, made: dict[tuple[str, str], Run], content: dict[str, Any]) -> dict[str, Any]:
    """The selection of a scale with the measurements that were made again."""
    held = {measure: dict(of) for measure, of in content["measurements"].items()}
    digests = dict(content["digests"])
    for measure, of in held.items():
        for run in of:
            if (run, measure) in made:
                of[run] = SelectedMeasurement(run, made[run, measure].recipe(measure))
        digests[measure] = store.read_measure(study, measure).digest(one.key for one in of.values())
    return {**content, "measurements": held, "digests": digests}


def _part_verdicts(entry: dict[str, Any]) -> dict[str, str]:
    """Part -> its verdict; "" for the claim's own."""
    return {"": claims_json.label(entry), **{part["name"]: claims_json.label(part) for part in entry["parts"]}}


def _verdicts(claim: str, before: dict[str, Any], after: dict[str, Any]) -> list[str]:
    """What the claim's verdict was and is, then the parts with another one."""
    then, now = _part_verdicts(before), _part_verdicts(after)
    lines = [f"{claim} again: {now['']}, " + ("as committed" if then == now else f"committed: {then['']}")]
    if (value := _value(after)) != (committed := _value(before)):
        lines.append(f"  its value is {value}, committed {committed}")
    changed = [part for part in then if part and then[part] != now.get(part)]
    return lines + [f"  {part}: {now.get(part, 'absent')}, committed: {then[part]}" for part in changed]


def _value(entry: dict[str, Any]) -> str:
    if entry["value"] is None or entry["low"] is None:
        return str(entry["value"])
    return f"{entry['value']:.4g} ({entry['low']:.4g} to {entry['high']:.4g})"
