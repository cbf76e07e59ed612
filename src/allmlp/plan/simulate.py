"""When jobs that wait for one another end on some devices, and the disk that they take meanwhile.

List scheduling, as Snakemake works under `allmlp advance`: whenever devices are free, the first job in order that fits
them and the disk, and whose inputs are there, starts. A large job can wait long for them.
"""

import heapq
import math
from collections import defaultdict
from collections.abc import Sequence
from dataclasses import dataclass
from graphlib import TopologicalSorter


@dataclass(frozen=True)
class Job:
    """Runs trained and measured in one go.

    `waits`: the jobs whose weights it reads. `working_bytes`: on the disk while it runs; `kept_bytes`: from its end on.
    `devices`: that it occupies for all of its hours.
    """

    name: str
    hours: float
    waits: tuple[str, ...] = ()
    working_bytes: float = 0
    kept_bytes: float = 0
    devices: int = 1

    @property
    def device_hours(self) -> float:
        """Hours of one device that it costs."""
        return self.hours * self.devices


@dataclass(frozen=True)
class Schedule:
    """Hours from the first start: job -> its start and its end."""

    starts: dict[str, float]
    ends: dict[str, float]

    @property
    def hours(self) -> float:
        """Until the last job has ended."""
        return max(self.ends.values(), default=0.0)


def simulate(jobs: Sequence[Job], devices: int, room: float = math.inf) -> Schedule:
    """Jobs in order of priority on equal devices.

    `room`: bytes that running jobs may take together; one that needs more runs alone, as under Snakemake.

    ValueError for a job that needs more devices, and for jobs that wait for one another in a circle.

    >>> simulate([Job("parent", 2), Job("child", 1, ("parent",)), Job("other", 4)], devices=2).ends
    {'parent': 2.0, 'child': 3.0, 'other': 4.0}
    """
    if (team := max(jobs, key=lambda job: job.devices, default=Job("", 0))).devices > devices:
        raise ValueError(f"{team.name} needs {team.devices} devices")
    names = {job.name for job in jobs}
    waits = [set(job.waits) & names for job in jobs]
    ready = [number for number, of in enumerate(waits) if not of]  # sorted, so it is a heap
    running: list[tuple[float, int]] = []
    starts, ends, now, free, left = {}, {}, 0.0, devices, room
    taken = [min(job.working_bytes, room) for job in jobs]
    readers = _readers(jobs)
    while ready or running:
        large = []
        while ready and free:
            number = heapq.heappop(ready)
            if jobs[number].devices > free or taken[number] > left:
                large.append(number)
                continue
            free -= jobs[number].devices
            left -= taken[number]
            starts[jobs[number].name] = now
            heapq.heappush(running, (now + jobs[number].hours, number))
        ready = sorted(ready + large)
        now = running[0][0]
        while running and running[0][0] == now:
            place = heapq.heappop(running)[1]
            ended = jobs[place].name
            free += jobs[place].devices
            left += taken[place]
            ends[ended] = now
            for number in readers[ended]:
                waits[number].discard(ended)
                if not waits[number]:
                    heapq.heappush(ready, number)
    if len(ends) < len(jobs):
        raise ValueError(f"{min(names - ends.keys())} waits for itself, over other jobs")
    return Schedule(starts, ends)


def _readers(jobs: Sequence[Job]) -> dict[str, list[int]]:
    """job -> the places of the jobs that read its weights."""
    found: dict[str, list[int]] = defaultdict(list)
    for number, job in enumerate(jobs):
        for name in set(job.waits):
            found[name].append(number)
    return found


def chains(jobs: Sequence[Job]) -> dict[str, float]:
    """job -> hours of the longest chain of jobs that begins with it, each waiting for the one before.

    No number of devices is faster than the longest one.

    >>> chains([Job("parent", 2), Job("child", 1, ("parent",)), Job("other", 2)])
    {'parent': 3.0, 'child': 1.0, 'other': 2.0}
    """
    readers = _readers(jobs)
    found: dict[str, float] = {}
    order = TopologicalSorter({job.name: job.waits for job in jobs}).static_order()
    by_name = {job.name: job for job in jobs}
    for name in reversed([name for name in order if name in by_name]):  # others are done
        found[name] = by_name[name].hours + max((found[jobs[n].name] for n in readers[name]), default=0.0)
    return {job.name: found[job.name] for job in jobs}


def peak_bytes(jobs: Sequence[Job], schedule: Schedule, released: bool) -> float:
    """The most bytes on the disk at any time. `released`: weights go when every job that reads them has ended.

    A job's weights are still there when the next one starts on its device: they are being measured.
    """
    changes = []
    readers = _readers(jobs)
    for job in jobs:
        end = schedule.ends[job.name]
        changes.append((end, 0, job.kept_bytes - job.working_bytes))
        changes.append((schedule.starts[job.name], 1, job.working_bytes))
        if released:
            read_until = max((schedule.ends[jobs[number].name] for number in readers[job.name]), default=end)
            changes.append((max(end, read_until), 2, -job.kept_bytes))
    used = most = 0.0
    for _, _, change in sorted(changes):
        used += change
        most = max(most, used)
    return most
