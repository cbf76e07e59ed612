"""`allmlp` alone: the clone, its results, and the one next thing to do.

The counts are of results/selected.json, so that the answer takes a second. `allmlp plan` counts the store itself.
"""

from pathlib import Path
from typing import Any, NamedTuple

from allmlp.common import git
from allmlp.common.paths import REPORT, SELECTED
from allmlp.judging import selection
from allmlp.judging.selection import SelectedMeasurement
from allmlp.plan.merge import SCALES
from allmlp.plan.params import Scale
from allmlp.plan.plan import Plan
from allmlp.report import run_counts
from allmlp.spec.run import Run

SOURCES = "src/allmlp"
LONG = ("long", "gpu", "paper")  # scales of many hours, which are worked through piece by piece
BY_HOURS = SCALES[: SCALES.index("long") + 1]  # those that need no GPU


class ScaleStatus(NamedTuple):
    """The runs of a scale: `measured` by the recipes of this code, `stale` by older ones, the rest are open.

    `new`: measurements in work/ that the report does not have yet.
    """

    runs: int
    measured: int
    stale: int
    new: int

    @property
    def open_count(self) -> int:
        return self.runs - self.measured - self.stale


def show(plan: Plan) -> None:
    """Print at most eight lines."""
    found, changed = scale_status(plan), _changed_files(plan.root)
    command, why = next_command(plan, found, any(file.startswith(SOURCES) for file in changed))
    report = f", {found.new} measurements are not in the report yet" if found.new else ""
    print(f"clone     {Path.cwd()}, {_commit(plan.root)}{f', changed files: {len(changed)}' * bool(changed)}")
    print(f"scale     {plan.scale}, on {plan.device}")
    print(f"measured  {found.measured} of {found.runs} runs{report}")
    print(f"open      {found.open_count} runs")
    print(f"stale     {found.stale} runs, measured by older recipes")
    print(f"report    {REPORT}{'' if REPORT.is_file() else ', which is not made yet'}")
    print(f"next      {command}")
    print(f"          {why}; `allmlp --help` lists all commands")


def scale_status(plan: Plan) -> ScaleStatus:
    """Where the plan's scale stands."""
    selected = _selected_measurements()
    there = {str(file) for file in Path("work/measurements").glob("*/*/*.parquet")}
    states, new = [], 0
    for run in plan.runs:
        held = selected.get(run.study, {}).get(plan.scale, {}).get("measurements", {})
        of_measures = [
            _state(run, measure, file in there, held.get(measure, {}).get(run.id))
            for measure, file in run.measurements.items()
        ]
        new += of_measures.count("new")
        states.append(next((one for one in ("open", "stale") if one in of_measures), "measured"))
    return ScaleStatus(len(states), states.count("measured"), states.count("stale"), new)


def _state(run: Run, measure: str, there: bool, held: SelectedMeasurement | None) -> str:
    """measured, new, stale or open. `there`: does its own file lie in work/? `held`: what is selected."""
    if held is not None and not held.older and held.recipe == run.recipe(measure):
        return "measured"
    return "new" if there else "stale" if held else "open"


def _selected_measurements() -> dict[str, dict[str, Any]]:
    """study -> scale -> its selected measurements; empty before the first report."""
    return selection.read()["studies"] if SELECTED.is_file() else {}


def next_command(plan: Plan, found: ScaleStatus, edited: bool) -> tuple[str, str]:
    """The next command, and why."""
    if edited:
        return "allmlp check", f"{SOURCES} has changes that are not committed"
    if found.open_count or found.stale:
        left = f"{found.open_count + found.stale} runs of scale {plan.scale} are to be made"
        return _run_command(plan.scale), f"{left}; `allmlp plan` says what they cost"
    if found.new or not REPORT.is_file():
        return "allmlp report", "every run is measured"
    lacking = {
        scale: len(run_counts.missing_runs(_selected_measurements(), scale))
        for scale in SCALES[SCALES.index(plan.scale) + 1 :]
    }
    for scale in filter(lacking.get, BY_HOURS[SCALES.index(plan.scale) + 1 :]):
        why = f"all of scale {plan.scale} is measured; of {scale} {lacking[scale]:,} are open"
        return _run_command(scale, chosen=True), why
    larger = "".join(f"; of {scale} {count:,} are open" for scale, count in lacking.items() if count)
    done = f"every run that needs no GPU is measured{larger}"
    return "allmlp try my_mixer.py", f"{done}. A mixer of your own goes beside them"


def _run_command(scale: Scale, chosen: bool = False) -> str:
    """The command that makes the runs of a scale. `chosen`: by an option, because params.yaml has another one."""
    if scale in LONG:
        return "allmlp advance --minutes 60" + ("" if scale == "long" else f" --scale {scale}")
    return "snakemake --cores all" + (f" --config scale={scale}" if chosen else "")


def _commit(root: Path) -> str:
    said = git.output(root, "log", "-1", "--format=%h %s").decode()
    return f"at {said.strip()[:60]}" if said else "without git"


def _changed_files(root: Path) -> list[str]:
    """Files that differ from the commit."""
    words = ("status", "--porcelain", "-z", "--no-renames", "--untracked-files=all")
    return [line[3:] for line in git.output(root, *words).decode().split("\0") if line]
