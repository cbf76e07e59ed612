"""Where a plan's results lie: in the project, or in the user's own folder.

Results under the user's own files do not belong to the project, nor do those of a trial at the scale `smoke`, which
decides no claim. They go to `own/<name of the file>/` and `own/smoke/`, which git ignores and which look like
the project's folder. They have the same `results/` with the committed measurements, so that nothing is made again, and
share tokens, checkpoints and work, which are named after their content.
"""

import os
from pathlib import Path

from allmlp import paths
from allmlp.errors import UserError
from allmlp.plan import Plan, load_plan
from allmlp.store import STORE

OWN, TRIAL = Path("own"), "smoke"
SHARED = ("results/checkpoints", "results/tokens", "work")


def folder(plan: Plan) -> Path | None:
    """The user's own folder for a plan's results; None for results of the project.

    Overlays that params.yaml records are the project's, unless their text here or their scale differs.
    """
    if not plan.overlays:
        return plan.root / OWN / TRIAL if plan.scale == TRIAL != plan.of_git.scale else None
    if _is_recorded(plan):
        return None
    name = "-".join(file.stem for file in plan.overlays)
    if name == TRIAL or name.startswith("."):
        raise UserError(f"{plan.overlays[0]}: {OWN / name} cannot be the folder of its results. Rename the file.")
    return plan.root / OWN / name


def _is_recorded(plan: Plan) -> bool:
    files = [file.resolve() for file in plan.overlays]
    ids = [run.id for runs in plan.chosen.values() for run in runs]
    same = [one for one in plan.of_git.recorded.values() if [file.resolve() for file in one.overlays] == files]
    return any([run.id for run in one.runs] == ids for one in same)


def reported(plan: Plan) -> Plan:
    """The plan of the report: a recorded overlay's results are in the project's report, beside its own."""
    return load_plan() if plan.overlays and folder(plan) is None else plan


def last_word(plan: Plan) -> str:
    """A last line for Snakemake with the place of the user's own results; empty for the project's."""
    place = folder(plan)
    return f"your own results, beside those of git: {place / 'results/report.html'}\n" if place else ""


def prepare(plan: Plan, place: Path) -> None:
    """Make a folder of the user's own look like the project's."""
    for name in SHARED:
        (plan.root / name).mkdir(parents=True, exist_ok=True)
        _link(place / name, plan.root / name)
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


def enter(plan: Plan) -> None:
    """Change to the folder of the plan's results, unless the caller has set another one."""
    if paths.DIRECTORY not in os.environ and (place := folder(plan)):
        prepare(plan, place)
        os.chdir(place)
