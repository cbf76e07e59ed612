"""The open runs of a plan as they would be launched: hours on each type of device, until all is done, and disk.

Left out: measuring, tokenizing, waiting in a queue. Measures run on CPUs, in the job that trains or beside it. A run of
several processes occupies as many devices at once, for their share of its hours: what they wait for one another was not
measured.
"""

import math
from collections.abc import Collection, Iterator, Mapping, Sequence
from dataclasses import dataclass, replace
from typing import Any

from allmlp.common.terminal import align_columns, format_si
from allmlp.measurements.search_losses import runs_it_reads
from allmlp.plan import costs, device_types, priorities, status
from allmlp.plan.device_types import DeviceType
from allmlp.plan.plan import Plan
from allmlp.plan.simulate import Job, chains, peak_bytes, simulate
from allmlp.spec.run import Run

Records = Mapping[str, Mapping[str, Any]]  # run -> its costs
TRAINING_BYTES = 16  # per parameter on the device: float32 weights, gradients, both moments of AdamW
NOTE = (
    "hours: of one device for all open runs. chain: the longest one of runs that need one another.\n"
    "on N: hours until all is done on N devices, in the order of `allmlp advance`; measures and tokens are not in it."
)


@dataclass(frozen=True)
class Launch:
    """The open runs on one type of device. `hours`: of one device, over all.

    `team`: the devices that the largest run occupies at once. `until_done`: devices -> hours, None if they are fewer.
    `peaks`: devices, at least `team` -> bytes on the disk at most, with weights released and kept.
    `too_large`: runs whose training state alone is more than the device's memory. `extrapolated`: how many runs have
    steps far larger than any that was measured, and their part of the hours.
    """

    on: DeviceType
    hours: float
    longest_chain: float
    team: int
    until_done: dict[int, float | None]
    peaks: dict[int, list[float]]
    too_large: int
    extrapolated: tuple[int, float]

    def as_json(self, price: float | None) -> dict[str, Any]:
        """For machines."""
        return {
            "device": self.on.name,
            "rate": self.on.said,
            "hours": self.hours,
            **({} if price is None else {"price": self.hours * price}),
            "longest_chain_hours": self.longest_chain,
            "devices_at_least": self.team,
            "hours_until_done": self.until_done,
            "peak_disk_bytes": {count: {"released": low, "kept": high} for count, (low, high) in self.peaks.items()},
            "runs_beyond_its_memory": self.too_large,
            "extrapolated": dict(zip(("runs", "hours"), self.extrapolated, strict=True)),
            "error": dict(self.on.error),
        }


def order(plan: Plan) -> list[str]:
    """The ids of the untrained runs in Snakemake's order.

    That of `allmlp advance` if it has started Snakemake. Else all of them are wanted: first the batches behind which
    the most hours wait, so that no core idles at the end.
    """
    if kept := priorities.read_order():
        return kept
    maker = {run.id: batch.name for batch in plan.batches_to_train for run in batch.to_train}
    hours = costs.hours(run for batch in plan.batches_to_train for run in batch.to_train)
    jobs = []
    for batch in plan.batches_to_train:
        waits = {maker[one] for one in _read(batch.to_train, batch.to_train) if one in maker} - {batch.name}
        jobs.append(Job(batch.name, sum(hours[run.id] for run in batch.to_train), tuple(waits)))
    behind = chains(jobs)
    first = sorted(plan.batches_to_train, key=lambda batch: -behind[batch.name])
    return [run.id for batch in first for run in batch.to_train]


def launches(
    plan: Plan, records: Records, order: Sequence[str], devices: Sequence[int], on: DeviceType, room: float = math.inf
) -> list[Launch]:
    """One per type of device, that of `on` first; none if nothing is open.

    `order`: the runs' priority. `room`: bytes on the disk that trainings under way may take together.
    """
    opened = _open_batches(plan, records, order)
    others = [one for one in device_types.list_types(plan.device) if one.name != on.name]
    return [_launch(opened, devices, one, room) for one in (on, *others)] if opened else []


def choose_device_type(plan: Plan, named: str | None) -> DeviceType:
    """The type of device with this name, or the first one for the plan."""
    return device_types.find_type(named, plan.device)


def _launch(opened: Sequence["_OpenBatch"], devices: Sequence[int], on: DeviceType, room: float) -> Launch:
    found = [one.job(on) for one in opened]
    team = max(job.devices for job in found)
    schedules = {count: simulate(found, count, room) for count in devices if count >= team}
    peaks = {n: [peak_bytes(found, of, released) for released in (True, False)] for n, of in schedules.items()}
    states = [TRAINING_BYTES * share for one in opened for share in one.on_gpu]
    return Launch(
        on,
        sum(job.device_hours for job in found),
        max(chains(found).values()),
        team,
        {count: schedules[count].hours if count in schedules else None for count in devices},
        peaks,
        sum(state > (on.memory_bytes or float("inf")) for state in states),
        _extrapolated([one for batch in opened for one in batch.trained], on),
    )


def _extrapolated(trained: Sequence[tuple[Run, float]], on: DeviceType) -> tuple[int, float]:
    """How many of these runs have steps far larger than any that was measured, and their hours."""
    far = [(run, steps) for run, steps in trained if costs.is_extrapolated(run, on)]
    return len(far), sum(costs.seconds(run, steps, on) for run, steps in far) / 3600


@dataclass(frozen=True)
class _OpenBatch:
    """An open batch. `trained`: its untrained runs, with the steps that are left. `starts`: of processes."""

    batch: Job  # without hours
    trained: tuple[tuple[Run, float], ...]
    starts: int
    on_gpu: tuple[float, ...]  # parameters on a device

    def job(self, on: DeviceType) -> Job:
        seconds = sum(costs.seconds(run, steps, on) / run.processes for run, steps in self.trained)
        return replace(self.batch, hours=(seconds + self.starts * device_types.start_s()) / 3600)


def _open_batches(plan: Plan, records: Records, order: Sequence[str]) -> list[_OpenBatch]:
    """The open batches in the priority that `allmlp advance` gives them: that of their first run."""
    maker = {run.id: batch.name for batch in plan.batches_to_train for run in batch.to_train}
    place = {run: number for number, run in enumerate(order)}
    found = []
    for batch in plan.batches.values():
        if opened := (*batch.to_train, *batch.to_measure):
            waits = {maker[one] for one in _read(batch.to_train, batch.to_measure) if one in maker} - {batch.name}
            starts = bool(batch.to_train) + bool(
                batch.to_measure and not (batch.to_train and plan.is_measured_in_training(batch))
            )
            first = min(place[run.id] for run in opened)
            found.append((first, _make_open_batch(batch.name, batch.to_train, records, waits, starts)))
    return [one for _, one in sorted(found, key=lambda of: of[0])]


def _read(trained: Sequence[Run], measured: Sequence[Run]) -> Iterator[str]:
    """The runs whose weights are read."""
    for run in trained:
        yield from runs_it_reads(run)
    yield from (run.parent for run in measured if run.parent)


def _make_open_batch(
    name: str, trained: Sequence[Run], records: Records, waits: Collection[str], starts: int
) -> _OpenBatch:
    of = [(run, records[run.id]) for run in trained]
    working, published = costs.disk(one for _, one in of)
    return _OpenBatch(
        Job(name, 0, tuple(sorted(waits)), working, published, max((run.processes for run in trained), default=1)),
        tuple((run, run.steps * status.remaining_share(run)) for run in trained),
        starts,
        tuple(one["parameters"] / run.processes for run, one in of if run.device == "cuda"),
    )


def lines(found: Sequence[Launch], releases: bool, price: float | None = None) -> Iterator[str]:
    """A row per type of device, then the disk. `releases`: are weights released? `price`: of an hour of a device."""
    if not found:
        return
    counts = list(found[0].until_done)
    heads = ("device", "rate", "hours", "chain", *(f"on {n}" for n in counts))
    yield from align_columns([heads, *map(_row, found)], left=2)
    yield NOTE
    yield from _doubts(found[0])
    if (team := found[0].team) > 1:
        shares = f"each for 1/{team} of its hours: that they lose nothing is assumed"
        yield f"the largest run needs {team} devices at once (`processes`), {shares}."
    if price is not None:
        yield f"price with {found[0].on.name}: {price * found[0].hours:,.0f}, at {price:g} an hour"
    for one in (one for one in found if one.too_large):
        yield f"{one.on.name}: too little memory for weights, gradients and AdamW of {one.too_large:,} open runs."
    for place, word in enumerate(("released", "kept")):
        peaks = ", ".join(f"{format_si(of[place])}B on {n}" for n, of in found[0].peaks.items())
        here = ", as here" * (releases is (word == "released"))
        yield f"disk at most, with {found[0].on.name} and weights {word}{here}: {peaks or f'needs {team} devices'}"


def _doubts(one: Launch) -> Iterator[str]:
    """How far the hours may be off."""
    if error := one.on.error:
        known = (
            f"{one.on.name}: at sizes that were not fitted, seconds of a step are off by {error['median']:.2g} times in"
        )
        yield f"{known} the median, nine of ten by {error['p90']:.2g} at most ({error['points']:,} runs or sizes)."
    runs, hours = one.extrapolated
    if runs:
        yield (
            f"{runs:,} open runs, {hours:,.0f} of these hours, have steps over {device_types.FARTHEST} times larger "
            "than any that was measured: they are extrapolated."
        )


def _row(one: Launch) -> Iterator[str]:
    yield from (one.on.name, one.on.said)
    yield from (f"{hours:,.1f}" for hours in (one.hours, one.longest_chain))
    yield from (f"needs {one.team}" if hours is None else f"{hours:,.1f}" for hours in one.until_done.values())
