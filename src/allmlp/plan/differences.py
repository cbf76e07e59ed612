"""`allmlp plan --diff`: the effect of changed parameters, before anything runs.

The plans of all scales are compared: with the user's files against without them, or else with that of git's HEAD.
"""

import io
import shutil
import subprocess
import tarfile
import tempfile
from collections.abc import Iterator, Mapping
from contextlib import contextmanager
from dataclasses import dataclass, replace
from pathlib import Path

from allmlp.common.errors import UserError
from allmlp.common.terminal import align_columns, duration
from allmlp.measurements import store
from allmlp.plan import costs, params
from allmlp.plan.params import LOCAL
from allmlp.plan.plan import Plan
from allmlp.spec import catalogue
from allmlp.spec.run import Run

HEADS = ("study", "scale", "change", "new", "gone", "measured before", "time")
Runs = Mapping[str, Mapping[str, list[Run]]]  # scale -> study -> runs


@dataclass(frozen=True)
class Difference:
    """How one study differs at one scale.

    `new`, `gone`: runs that only one plan has. `leaving`: existing measurements that leave the plans of all scales.
    `hours`: of the new trainings. `replaced`: new runs that differ from gone ones in a rate that their search replaces.
    """

    study: str
    scale: str
    new: int
    gone: int
    leaving: frozenset[str]
    hours: float
    replaced: int = 0

    @property
    def change(self) -> int:
        """A removed run and a new one count as one changed run."""
        return min(self.new, self.gone)

    def row(self) -> tuple[str, ...]:
        """Its row of the table."""
        counts = (self.change, self.new - self.change, self.gone - self.change, len(self.leaving))
        return (self.study, self.scale, *map(str, counts), duration(self.hours))


def show(plan: Plan) -> None:
    """Print the changes at the chosen scale with their sum, then those at the other scales, a row per study."""
    refused: dict[str, str] = {}
    found, name = compare(plan, refused)
    if refused:
        print("\n".join(f"{scale} is left out: {message}" for scale, message in refused.items()))
    if not found:
        print(f"no parameter changes a run, against {name}; code is not compared")
        return
    now, others = ([one for one in found if (one.scale == plan.scale) == chosen] for chosen in (True, False))
    heads, *rows = align_columns([HEADS, *(one.row() for one in (*now, *others))], left=2)
    lines = [f"against {name}", f"at {plan.scale}, to run now: {_sum(now)}", heads, *rows[: len(now)]]
    if others:
        lines += ["would change too if you ran them:", *rows[len(now) :]]
    if replaced := sum(one.replaced for one in found):
        lines.append(
            f"{replaced:,} of these runs change in a learning rate that their search replaces: they come out the same. "
            "Take the change back, or change learning_rates of the search"
        )
    if leaving := len(frozenset().union(*(one.leaving for one in found))):
        fate = "the committed ones stay" if plan.overlays else "they leave the report"
        lines.append(f"{leaving:,} measurements are of runs before the change: {fate}")
    print("\n".join(lines))


def compare(plan: Plan, refused: dict[str, str] | None = None) -> tuple[list[Difference], str]:
    """The differences, and the name of what the plan is compared with. Only studies with other inputs are planned.

    `refused`: takes the messages of scales that cannot be planned, which are left out.
    """
    with previous_plan(plan) as (before, name):
        asked = [plan.study] if plan.study else catalogue.STUDIES
        changed = [study for study in asked if before.inputs(study) != plan.inputs(study)]
        after = plan.study_runs(changed, refused)
        then = {scale: of for scale, of in before.study_runs(changed).items() if scale not in (refused or ())}
        return differences(then, after), name


def _sum(found: list[Difference]) -> str:
    runs = sum(max(one.new, one.gone) for one in found)
    if not runs:
        return "no run changes"
    change = "1 run changes" if runs == 1 else f"{runs:,} runs change"
    return f"{change}, {duration(sum(one.hours for one in found))}"


def differences(before: Runs, after: Runs) -> list[Difference]:
    """One per scale and study whose runs or measurements differ."""
    kept = {file for of in after.values() for runs in of.values() for run in runs for file in run.measurements.values()}
    found, known = [], dict[str, str]()
    for scale in {**before, **after}:
        for study in {**before.get(scale, {}), **after.get(scale, {})}:
            old, new = ({run.id: run for run in plan.get(scale, {}).get(study, [])} for plan in (before, after))
            asked = {file for run in old.values() for file in run.measurements.values()}
            lacking = {file for run in old.values() for file in store.missing_files(run).values()}
            leaving = frozenset(asked - lacking - kept)
            added, gone = [new[run] for run in new.keys() - old.keys()], old.keys() - new.keys()
            if added or gone or leaving:
                hours = sum(costs.hours(run for run in added if not Path(run.checkpoint).is_file()).values())
                results = {result_name(old[run], known) for run in gone}
                replaced = sum(result_name(run, known) in results for run in added)
                found.append(Difference(study, scale, len(added), len(gone), leaving, hours, replaced))
    return found


def result_name(run: Run, known: dict[str, str]) -> str:
    """A name that runs share if only rates that a search replaces differ, here or in runs they read. `known`: by id."""
    if run.id not in known:
        read = {one: result_name(run.relatives[one], known) for one in run.needs}
        rate = {"learning_rate": None} if run.search or not run.steps else {}
        parent, search = run.parent and read[run.parent], tuple(read[one] for one in run.search)
        known[run.id] = replace(run, optimiser=run.optimiser | rate, parent=parent, search=search).id
    return known[run.id]


@contextmanager
def previous_plan(plan: Plan) -> Iterator[tuple[Plan, str]]:
    """The plan to compare with, and its name."""
    changes = {"scale": plan.scale} | ({"device": plan.parameters.device} if plan.parameters.device else {})
    if plan.overlays:
        without = Plan(params.read(None, changes), plan.root, like=plan)
        without.git_plan, without.recorded_plans = plan.git_plan, plan.recorded_plans  # of the same files
        yield without, f"the plan without {', '.join(file.name for file in plan.overlays)}"
        return
    with tempfile.TemporaryDirectory() as folder:
        _extract(plan.root, Path(folder))
        try:
            given = params.load(Path(folder, "params.yaml"), None, changes)
        except UserError as error:
            raise UserError(f"git's HEAD has parameters that this code cannot read: {error}") from error
        yield Plan(given, plan.root, source=Path(folder), like=plan), "git's HEAD"


def _extract(root: Path, folder: Path) -> None:
    """Put the parameters of git's HEAD, and this machine's corpora, into a folder."""
    words = ("git", "archive", "HEAD", "params.yaml", "config")
    done = subprocess.run(words, cwd=root, capture_output=True)
    if done.returncode:
        raise UserError(f"{root}: git has no parameters to compare with: {done.stderr.decode().strip()}")
    with tarfile.open(fileobj=io.BytesIO(done.stdout)) as archive:
        archive.extractall(folder, filter="data")
    if (root / LOCAL).is_file():
        shutil.copy2(root / LOCAL, folder)
