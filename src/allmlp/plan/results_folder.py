"""Where a plan's results lie: in the project, or in the user's own folder.

Results under the user's own files do not belong to the project, nor do those of a trial at the scale `smoke`, which
decides no claim. They go to `own/<name of the file>/` and `own/smoke/`, which git ignores and which look like
the project's folder. They have the committed measurements, so that nothing is made again, and share tokens, checkpoints
and trainings under way, which are named after their content. What is measured there stays there.
"""

import json
import os
import shutil
from contextlib import suppress
from pathlib import Path

from allmlp.common import formats, paths
from allmlp.common.errors import UserError
from allmlp.measurements.store import STORE
from allmlp.plan.own_runs import OWN, OWNER, TRIED
from allmlp.plan.plan import TRIAL, Plan, load_plan

NO_FILE = "a trial"  # whose results, where no file is laid over the parameters
SHARED = (
    "results/checkpoints",
    "results/tokens",
    "results/tokenizers",
    "work/entropy",
    "work/runs",
    "work/summaries",
    "work/timings",
)


def folder(plan: Plan) -> Path | None:
    """The user's own folder for a plan's results; None for results of the project.

    Overlays that params.yaml records are the project's, unless their text here or their scale differs.
    """
    if not plan.overlays:
        return plan.root / OWN / TRIAL if plan.scale == TRIAL != plan.git_plan.scale else None
    if _is_recorded(plan):
        return None
    name = "-".join(file.stem for file in plan.overlays)
    if name in (TRIAL, TRIED) or name.startswith("."):
        why = {TRIED: ": `allmlp try` has its own there", TRIAL: ": trials have theirs there"}.get(name, "")
        raise UserError(f"{plan.overlays[0]}: {OWN / name} cannot be the folder of its results{why}. Rename the file.")
    place = plan.root / OWN / name
    if (other := read_owner(place)) and other != owner(plan):
        raise UserError(
            f"{OWN / name}: has the results of {' and '.join(other)}, not of {' and '.join(owner(plan))}. "
            f"Rename the file, or move {OWN / name} away."
        )
    return place


def read_owner(place: Path) -> list[str]:
    """The files whose results a folder of the user's own has; none of a new one, or of a trial."""
    return formats.read_json(place / OWNER) if (place / OWNER).is_file() else []


def owner(plan: Plan) -> list[str]:
    """The files laid over the parameters, by their paths from the project."""
    return [os.path.relpath(file.resolve(), plan.root.resolve()) for file in plan.overlays]


def _is_recorded(plan: Plan) -> bool:
    files = [file.resolve() for file in plan.overlays]
    ids = [run.id for runs in plan.chosen_runs.values() for run in runs]
    same = [one for one in plan.git_plan.recorded_plans.values() if [file.resolve() for file in one.overlays] == files]
    return any([run.id for run in one.runs] == ids for one in same)


def report_plan(plan: Plan) -> Plan:
    """The plan of the report: a recorded overlay's results are in the project's report, beside its own."""
    return load_plan() if plan.overlays and folder(plan) is None else plan


def names_of_git() -> set[str]:
    """The names of the runs and tokens of git's plan, without those of trials alone."""
    plan = load_plan().git_plan
    scales = [of for scale, of in plan.runs_by_scale.items() if scale != TRIAL or plan.scale == TRIAL]
    runs = [run for of in scales for runs in of.values() for run in runs]
    return {run.id for run in runs} | {run.tokens for run in runs if run.tokens}


def closing_line(plan: Plan) -> str:
    """A last line for Snakemake with the place of the user's own results; empty for the project's."""
    place = folder(plan)
    return f"your own results, beside those of git: {place / 'results/report.html'}\n" if place else ""


def place_of_logs(plan: Plan) -> str:
    """A last line for a Snakemake that failed: where the logs lie whose paths it printed; empty if they are right."""
    place = folder(plan)
    return f"the logs named above lie in {place.relative_to(plan.root)}\n" if place else ""


def prepare(plan: Plan, place: Path) -> None:
    """Make a folder of the user's own look like the project's."""
    if (place / "work").is_symlink():  # made when all of work was shared
        (place / "work").unlink()
    for name in SHARED:
        (plan.root / name).mkdir(parents=True, exist_ok=True)
        _link(place / name, plan.root / name)
    if plan.overlays:
        paths.write_atomically(place / OWNER, json.dumps(owner(plan)) + "\n")
    for link in (place / STORE).glob("*/*/*"):
        if not link.exists():  # its part was merged with others
            link.unlink()
    for file in (plan.root / STORE).glob("*/*/*"):
        _link(place / file.relative_to(plan.root), file)


def _link(link: Path, target: Path) -> None:
    """A relative link, so that the clone may be moved; an existing file stays."""
    if not os.path.lexists(link):
        link.parent.mkdir(parents=True, exist_ok=True)
        link.symlink_to(os.path.relpath(target, link.parent))


_new: list[Path] = []  # folders that this process has made


def enter(plan: Plan) -> None:
    """Change to the folder of the plan's results, unless the caller has set another one."""
    if paths.DIRECTORY not in os.environ and (place := folder(plan)):
        _new.extend([] if place.exists() else [place])
        prepare(plan, place)
        os.chdir(place)


def remove_unused() -> None:
    """Remove the folders that this process has made and left without a file: for a call that was refused."""
    for place in _new:
        files = (path for path in place.rglob("*") if not path.is_symlink() and path.is_file())
        if all(path == place / OWNER for path in files):
            os.chdir(place.parent.parent)
            shutil.rmtree(place)
            with suppress(OSError):  # it has others
                place.parent.rmdir()
    _new.clear()
