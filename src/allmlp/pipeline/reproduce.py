"""`make reproduce`: make every run of the chosen scale again in a separate folder, and copy the results on success.

`allmlp verify --rerun` makes and compares the runs of a study or a claim by the same functions, and copies nothing.
"""

import os
import shutil
import subprocess
import sys
import time
from collections import Counter
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from pathlib import Path

import pandas as pd

from allmlp.common import paths, processes
from allmlp.common.errors import UserError
from allmlp.common.locks import hold
from allmlp.common.paths import REPORT
from allmlp.data.corpora.identity import LOCAL_LOCK, LOCK
from allmlp.judging.ages import History
from allmlp.measurements import measurement, store
from allmlp.measurements.store import StoredMeasurements
from allmlp.pipeline import references, timing
from allmlp.pipeline.advancing import snakemake_command, snakemake_words
from allmlp.pipeline.references import Reference
from allmlp.plan import results_folder
from allmlp.plan.plan import ONLY, Plan, load_plan
from allmlp.spec import catalogue
from allmlp.training import measuring

APART = Path("work/reproduce")  # separate results/, work/ and logs/: committed files stay until everything is made
COMPARISON = Path("work/reproduction.csv")
MOVED = ["new", "different"]  # outcomes for which a study's measurements are taken


def _say(text: str) -> None:
    print(text, flush=True)


def _clock(seconds: float) -> str:
    return f"{int(seconds) // 60}:{int(seconds) % 60:02d}"


def rerun_and_compare(plan: Plan, apart: Path, cores: int, reference: Reference) -> pd.DataFrame:
    """Train and measure every run of the plan in a folder apart, or go on there, and compare with those of a reference.

    Returns a row per measurement: study, measure, run, outcome, detail, file. UserError if a job fails.
    """
    processes.end_cleanly()
    apart.mkdir(parents=True, exist_ok=True)
    processes.stop(apart)
    trained = sum((apart / run.checkpoint).is_file() for run in plan.runs)
    _say(
        f"{plan.scale}: {len(plan.runs)} runs, {len(plan.measurements)} measurements on {cores} cores"
        + (f"; going on after {trained} runs" if trained else "")
    )
    _make(plan, apart, cores)
    return _compare(plan, apart, reference.read_measure)


def _make(plan: Plan, apart: Path, cores: int) -> None:
    """Let Snakemake make every measurement of the plan in a folder apart. Its line of progress goes to stderr."""
    words = snakemake_words(plan.overlays, plan.scale, plan.parameters.device, plan.study)
    command = snakemake_command(cores, apart, ["--logger", "allmlp", *words])
    environment = {**os.environ, "PATH": f"{Path(sys.executable).parent}{os.pathsep}{os.environ['PATH']}"}
    environment |= {ONLY: str(plan.only)} if plan.only else {}
    process = subprocess.Popen(
        command, stdout=subprocess.DEVNULL, cwd=plan.root, env=environment, start_new_session=True
    )
    paths.write_atomically(apart / processes.PID, str(process.pid))
    try:
        process.wait()
    except BaseException:
        processes.stop(apart)
        raise
    if process.returncode:
        raise UserError(
            "a job failed; no committed file was touched. "
            f"What was made stays in {apart}: run again to go on. Snakemake's log: {apart}/.snakemake/log\n"
            f"{_last_words(apart)}"
        )


def _last_words(apart: Path) -> str:
    """The end of the log of the job that failed last."""
    logs = sorted(apart.glob("logs/*/*.log"), key=lambda path: path.stat().st_mtime)
    return "\n".join([f"{logs[-1]}:", *logs[-1].read_text(encoding="utf-8").splitlines()[-4:]]) if logs else ""


def _compare(plan: Plan, apart: Path, stored_of: Callable[[str, str], StoredMeasurements]) -> pd.DataFrame:
    """Each fresh measurement beside the stored one: study, measure, run, outcome, detail, file."""
    rows = []
    for run in plan.runs:
        for measure, file in run.measurements.items():
            outcome, key = measuring.Comparison("new", ""), (run.id, run.recipe(measure))
            if key in (stored := stored_of(run.study, measure)).places:
                fresh, committed = measurement.read(apart / file)[1], stored.rows(key)
                columns = catalogue.measure(run.study, measure).columns
                outcome = measuring.compare(fresh.to_pandas(), committed.to_pandas(), columns)
            rows.append((run.study, measure, run.id, *outcome, file))
    return pd.DataFrame(rows, columns=["study", "measure", "run", "outcome", "detail", "file"])


def studies_to_take(compared: pd.DataFrame, here: pd.DataFrame) -> set[str]:
    """The studies whose fresh measurements are taken, each whole: a table of two trainings is a result of neither.

    Those with one that is new or differs, from the reference (`compared`) or from what lies `here`, unless all of it
    lies here already.
    """
    moved = {str(study) for of in (compared, here) for study in of[of.outcome.isin(MOVED)].study}
    return {study for study in moved if {*here[here.study == study].outcome} != {"identical"}}


def _replace_results(plan: Plan, comparison: pd.DataFrame, apart: Path) -> None:
    """Replace committed checkpoints and tokens, and all measurements of studies with some that are new or differ."""
    history = History.read(paths.project())
    taken = studies_to_take(comparison, _compare(plan, apart, store.read_measure))
    brought = comparison[comparison.study.isin(taken)]
    for of, files in brought.groupby(["study", "measure"])["file"]:
        study, measure = map(str, of)
        store.replace(
            study,
            measure,
            [measurement.read(apart / file) for file in files],
            history.commits_to_record(study, measure),
        )
    for kind in ("checkpoints", "tokens"):
        for folder in sorted((apart / "results" / kind).glob("*")):
            target = Path("results") / kind / folder.name
            if not target.exists():
                target.parent.mkdir(parents=True, exist_ok=True)
                shutil.move(folder, target)


@contextmanager
def _restore_on_failure(path: Path) -> Iterator[None]:
    """Put one file back as it was if the block fails."""
    before = path.read_bytes() if path.is_file() else None
    try:
        yield
    except BaseException:
        if before is not None:
            paths.write_atomically(path, before)
        else:
            path.unlink(missing_ok=True)
        raise


@contextmanager
def restore_results_on_failure(root: Path, apart: Path) -> Iterator[None]:
    """Put every committed result back as it was if the block fails."""
    before = apart / "before"
    shutil.rmtree(before, ignore_errors=True)
    bulk = shutil.ignore_patterns("checkpoints", "tokens")
    (root / "results").mkdir(exist_ok=True)
    shutil.copytree(root / "results", before, symlinks=True, ignore=bulk)
    try:
        yield
    except BaseException:
        for path in (root / "results").iterdir():
            if path.name not in ("checkpoints", "tokens"):
                shutil.rmtree(path) if path.is_dir() and not path.is_symlink() else path.unlink()
        shutil.copytree(before, root / "results", symlinks=True, dirs_exist_ok=True)
        raise


def _report(overlays: list[Path]) -> None:
    from allmlp.report.last_mile import report

    os.environ[paths.DIRECTORY] = str(Path.cwd())
    report(results_folder.report_plan(load_plan(overlays)), force=True)


def reproduce(overlays: list[Path], cores: int, against: str | None = None) -> int:
    """Run it all. Returns the exit status: 0, or 1 if a verdict differs.

    `against`: the state of git to compare with instead of HEAD. The same differences are named however often it is
    called, and wherever an earlier call was killed.
    """
    root, start, began = paths.project(), time.monotonic(), time.time()
    with hold(root / "work/reproduce.lock", "make reproduce"):
        apart, plan = root / APART, load_plan(overlays)
        results_folder.enter(plan)  # an overlay of the user's own is compared with its earlier results
        reference = references.choose_reference(root, apart, against)
        # a new corpus is recorded as soon as it is tokenized
        with _restore_on_failure(root / LOCK), _restore_on_failure(root / LOCAL_LOCK):
            comparison = rerun_and_compare(plan, apart, cores, reference)
            comparison.to_csv(COMPARISON, index=False)
            _say("measurements are made; judging, drawing, rendering")
            with restore_results_on_failure(Path.cwd(), apart):
                _replace_results(plan, comparison, apart)
                reporting = time.monotonic()
                _report(overlays)
                last_mile = time.monotonic() - reporting
        seconds = time.monotonic() - start
        _say(time_shares(seconds, timing.seconds_since(apart, began), last_mile, cores))
        status = _conclude(comparison, reference, seconds, plan)
        reference.forget()
        shutil.rmtree(apart)
    return status


def time_shares(seconds: float, working: float, last_mile: float, cores: int) -> str:
    """Where the time of a call went. `working`: seconds of tokens, trainings and measures, each on one core.

    >>> print(time_shares(100, 160, 12, 2))  # doctest: +NORMALIZE_WHITESPACE
    time after the install: 100 s; tokens, training and measuring 80 s (160 s of one core, on 2),
    last mile 12 s; workflow overhead 8 s, 8.0% of the wall time (starts of processes, Snakemake, idle cores, comparing)
    """
    on_all = working / cores
    rest = seconds - on_all - last_mile
    return (
        f"time after the install: {seconds:.0f} s; tokens, training and measuring {on_all:.0f} s "
        f"({working:.0f} s of one core, on {cores}), last mile {last_mile:.0f} s; "
        f"workflow overhead {rest:.0f} s, {rest / seconds:.1%} of the wall time "
        "(starts of processes, Snakemake, idle cores, comparing)"
    )


def outcome_counts(comparison: pd.DataFrame) -> str:
    """How many measurements had each outcome."""
    counts = Counter(comparison.outcome)
    outcomes = ("identical", "within tolerance", "different", "new")
    return ", ".join(f"{counts[outcome]} {outcome}" for outcome in outcomes if counts[outcome])


def _conclude(comparison: pd.DataFrame, reference: Reference, seconds: float, plan: Plan) -> int:
    for row in comparison[comparison.outcome == "different"].itertuples():
        _say(f"  {row.run} {row.measure}: {row.detail}")
    before, after = reference.verdicts(), Reference(Path.cwd(), "now").verdicts()
    changed = [claim for claim, verdict in before.items() if after.get(claim) != verdict]
    for claim in changed:
        _say(f"  claim {claim}: {reference.name}: {before[claim]}, now: {after.get(claim)}")
    verdicts = (
        f"every verdict as {reference.name}"
        if before and not changed
        else f"{len(changed)} verdicts changed"
        if before
        else "first verdicts"
    )
    _say(
        f"reproduced {len(plan.runs)} runs in {_clock(seconds)}: measurements "
        f"{outcome_counts(comparison)}; {verdicts}. "
        f"Report: {os.path.relpath(REPORT.resolve(), paths.project())}, comparison: {COMPARISON}"
    )
    return 1 if changed else 0
