"""Where a plan's results lie: in the project, beside what git has, or in a folder of the user's own.

What files of the user's own ask for is no result of the project. It goes to `own/<name of the file>/`, which git
ignores and which looks like the project's folder: the same `results/` with the committed measurements in it, so that
nothing is made again, and the same tokens, checkpoints and work, for these have their content in their names.
"""

import os
from pathlib import Path

from allmlp import paths
from allmlp.plan import Plan, load_plan
from allmlp.store import STORE

OWN = Path("own")
SHARED = ("results/checkpoints", "results/tokens", "work")


def folder(plan: Plan) -> Path | None:
    """The folder of the user's own that a plan's results go to; None for those of the project.

    Overlays that params.yaml records are the project's, unless they speak of other text here, or of another scale.
    """
    if not plan.overlays or _is_recorded(plan):
        return None
    return plan.root / OWN / "-".join(file.stem for file in plan.overlays)


def _is_recorded(plan: Plan) -> bool:
    files = [file.resolve() for file in plan.overlays]
    ids = [run.id for runs in plan.chosen.values() for run in runs]
    same = [one for one in plan.of_git.recorded.values() if [file.resolve() for file in one.overlays] == files]
    return any([run.id for run in one.runs] == ids for one in same)


def reported(plan: Plan) -> Plan:
    """The plan that the report speaks of: a recorded overlay's results stand in the project's, beside its own."""
    return load_plan() if plan.overlays and folder(plan) is None else plan


def last_word(plan: Plan) -> str:
    """Where a user's own results lie, as a line to end a run of Snakemake with; empty for the project's own."""
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
    """A relative link, so that the clone may move; what is there already stays."""
    if not os.path.lexists(link):
        link.parent.mkdir(parents=True, exist_ok=True)
        link.symlink_to(os.path.relpath(target, link.parent))


def enter(plan: Plan) -> None:
    """Work where the plan's results lie from here on, unless the caller has been told where to."""
    if paths.DIRECTORY not in os.environ and (place := folder(plan)):
        prepare(plan, place)
        os.chdir(place)
