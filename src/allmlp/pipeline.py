"""How far Snakemake is with the runs and measurements of a plan, in one line.

The seconds left come from this call alone. A job that trains counts by the planned seconds of its trainings, one that
only measures by its measurements; how long these take is read off the jobs that have ended, and so is how many jobs run
at a time. Nothing is said before a job of each kind that is asked for has ended.
"""

from collections.abc import Iterable, Mapping
from dataclasses import dataclass

from allmlp import costs, outlook
from allmlp.plan import Plan

KINDS = ("planned_s", "measurements")  # what the seconds of a job are in proportion to, if it trains, and if not


@dataclass(frozen=True)
class Work:
    """What a job makes. `planned_s`: the estimated seconds of its trainings."""

    runs: int = 0
    measurements: int = 0
    planned_s: float = 0.0

    @property
    def kind(self) -> str:
        """Which of KINDS it is."""
        return KINDS[0] if self.runs else KINDS[1]


@dataclass(frozen=True)
class Started:
    """A job under way, since a moment in seconds."""

    rule: str
    at: float
    cores: int
    gpus: int


def of_plan(plan: Plan) -> dict[str, Work]:
    """Rule -> the work of its job."""
    training = {
        f"train_{batch.name}": Work(
            runs=len(batch.runs),
            measurements=len(batch.measurements) if batch.together else 0,
            planned_s=sum(costs.cost(run)["estimated_s"] * outlook.share_left(run) for run in batch.runs),
        )
        for batch in plan.untrained
    }
    measuring = {f"measure_{batch.name}": Work(measurements=len(batch.measurements)) for batch in plan.unmeasured}
    return training | measuring


class Pipeline:
    """Follows the jobs of one call. `works`: rule -> its work; a rule without work, such as tokens, is not counted."""

    def __init__(self, works: Mapping[str, Work]) -> None:
        self.works = works
        self.asked: list[Work] = []
        self.done: list[Work] = []
        self.under_way: dict[int, Started] = {}
        self.first: float | None = None
        self.seconds = dict.fromkeys((*KINDS, "other"), 0.0)  # of ended jobs, by their kind

    def expect(self, rules: Iterable[str]) -> None:
        """The rules that this call will run."""
        self.asked = [self.works[rule] for rule in rules if rule in self.works]

    def started(self, job: int, rule: str, at: float, cores: int, gpus: int) -> None:
        """A job has begun, at a moment in seconds."""
        self.first = at if self.first is None else self.first
        self.under_way[job] = Started(rule, at, cores, gpus)

    def ended(self, job: int, at: float, well: bool = True) -> None:
        """A job has ended, `well` or with an error."""
        if (started := self.under_way.pop(job, None)) is None:
            return
        work = self.works.get(started.rule)
        self.seconds[work.kind if work else "other"] += at - started.at
        if work and well:
            self.done.append(work)

    def left(self, now: float) -> float | None:
        """Seconds until all is done; None before there is evidence."""
        asked, done = (
            {kind: sum(getattr(one, kind) for one in of if one.kind == kind) for kind in KINDS}
            for of in (self.asked, self.done)
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
        asked, done = _sums(self.asked), _sums(self.done)
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
        if (left := self.left(now)) is not None and self.under_way:
            said.append(f"about {_rounded(left)} left")
        return ", ".join(said)


def _sums(of: Iterable[Work]) -> Work:
    found = list(of)
    return Work(
        sum(work.runs for work in found),
        sum(work.measurements for work in found),
        sum(work.planned_s for work in found),
    )


def _rounded(seconds: float) -> str:
    """As exactly as it is known.

    >>> [_rounded(seconds) for seconds in (20, 200, 20_000, 500_000)]
    ['1 min', '3 min', '5.6 h', '139 h']
    """
    if seconds < 5400:
        return f"{max(1, round(seconds / 60))} min"
    hours = seconds / 3600
    return f"{hours:.1f} h" if hours < 10 else f"{hours:.0f} h"
