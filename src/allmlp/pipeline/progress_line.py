"""How far Snakemake is with the runs and measurements of a plan, in one line.

The seconds left come from this call alone. A job that trains counts by the planned seconds of its trainings, one that
only measures by its measurements; how long these take is read off the jobs that have ended, and so is how many jobs run
at a time. Nothing is said before a job of each kind that is asked for has ended.
"""

from collections.abc import Iterable, Mapping
from typing import NamedTuple

from allmlp.common.terminal import duration
from allmlp.measurements import store
from allmlp.plan import costs, status
from allmlp.plan.plan import Plan

KINDS = ("planned_s", "measurements")  # what the seconds of a job are in proportion to, if it trains, and if not


class Work(NamedTuple):
    """What a job makes. `planned_s`: the estimated seconds of its trainings."""

    runs: int = 0
    measurements: int = 0
    planned_s: float = 0.0

    @property
    def kind(self) -> str:
        """Which of KINDS it is."""
        return KINDS[0] if self.runs else KINDS[1]


class RunningJob(NamedTuple):
    """A job under way, since a moment in seconds."""

    at: float
    cores: int
    gpus: int


def find_work(plan: Plan, rule: str, name: str) -> Work:
    """The work of a batch's job. One that measures after the same process has trained finds it done."""
    batch = plan.batch(name)
    measurements = sum(len(store.missing_files(run)) for run in batch.to_measure)
    if rule != "train":
        return Work(measurements=0 if batch.to_train and plan.is_measured_in_training(batch) else measurements)
    return Work(
        runs=len(batch.to_train),
        measurements=measurements if plan.is_measured_in_training(batch) else 0,
        planned_s=sum(costs.cost(run)["estimated_s"] * status.remaining_share(run) for run in batch.to_train),
    )


class Pipeline:
    """Follows the jobs of one call. `works`: job -> its work; a job without work, such as tokens, is not counted."""

    def __init__(self, works: Mapping[int, Work]) -> None:
        self.works = works
        self.done: list[Work] = []
        self.under_way: dict[int, RunningJob] = {}
        self.first: float | None = None
        self.seconds = dict.fromkeys((*KINDS, "other"), 0.0)  # of ended jobs, by their kind

    def note_start(self, job: int, at: float, cores: int, gpus: int) -> None:
        """A job has begun, at a moment in seconds."""
        self.first = at if self.first is None else self.first
        self.under_way[job] = RunningJob(at, cores, gpus)

    def end_job(self, job: int, at: float, well: bool = True) -> None:
        """A job has ended, `well` or with an error."""
        if (started := self.under_way.pop(job, None)) is None:
            return
        work = self.works.get(job)
        self.seconds[work.kind if work else "other"] += at - started.at
        if work and well:
            self.done.append(work)

    def seconds_left(self, now: float) -> float | None:
        """Seconds until all is done; None before there is evidence."""
        asked, done = (
            {kind: sum(getattr(one, kind) for one in of if one.kind == kind) for kind in KINDS}
            for of in (self.works.values(), self.done)
        )
        kinds = [kind for kind in KINDS if asked[kind]]
        if self.first is None or now <= self.first or not kinds or not all(done[kind] for kind in kinds):
            return None
        work = sum((asked[kind] - done[kind]) * self.seconds[kind] / done[kind] for kind in kinds)
        begun = [now - of.at for of in self.under_way.values()]
        together = (sum(self.seconds.values()) + sum(begun)) / (now - self.first)
        return max(0.0, work - sum(begun)) / max(1.0, together)

    def line(self, now: float) -> str:
        """Runs trained, measurements taken, what is busy, and the time that is left."""
        asked, done = _sums(self.works.values()), _sums(self.done)
        said = []
        if asked.runs:
            said.append(f"{done.runs} of {asked.runs} runs trained")
        if asked.measurements:
            said.append(f"{done.measurements} of {asked.measurements} measurements taken")
        gpus, cores = (sum(getattr(of, kind) for of in self.under_way.values()) for kind in ("gpus", "cores"))
        if gpus:
            said.append(f"{gpus} GPU{'s' * (gpus > 1)} busy")
        elif cores:
            said.append(f"{cores} core{'s' * (cores > 1)} busy")
        if (left := self.seconds_left(now)) is not None and self.under_way:
            said.append(f"about {duration(left / 3600)} left")
        return ", ".join(said)


def _sums(of: Iterable[Work]) -> Work:
    return Work(*map(sum, zip(Work(), *of, strict=True)))
