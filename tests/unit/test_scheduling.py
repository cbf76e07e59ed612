"""Schedules computed by hand, and the bounds of list scheduling: no device rests while a job could start."""

import pytest
from hypothesis import given
from hypothesis import strategies as st

from allmlp.plan.simulate import Job, chains, peak_bytes, simulate

PARENT, CHILD = Job("parent", 2), Job("child", 3, ("parent",))
ALONE, LAST = Job("alone", 4), Job("last", 1)
FAMILY = [PARENT, CHILD, ALONE, LAST]


def longest(jobs: list[Job]) -> float:
    return max(chains(jobs).values(), default=0.0)


def test_one_device_works_in_order() -> None:
    assert simulate(FAMILY, 1).ends == {"parent": 2, "child": 5, "alone": 9, "last": 10}


def test_a_free_device_takes_the_first_job_whose_inputs_are_there() -> None:
    schedule = simulate(FAMILY, 2)
    assert schedule.starts == {"parent": 0, "alone": 0, "child": 2, "last": 4}
    assert schedule.ends == {"parent": 2, "child": 5, "alone": 4, "last": 5}
    assert simulate([CHILD, ALONE, LAST, PARENT], 2).starts == {"alone": 0, "last": 0, "parent": 1, "child": 3}


def test_more_devices_than_jobs_leave_the_longest_chain() -> None:
    assert simulate(FAMILY, 9).hours == longest(FAMILY) == 5
    assert simulate([], 3).hours == longest([]) == 0


def test_a_job_does_not_wait_for_what_is_done() -> None:
    assert simulate([CHILD], 1).ends == {"child": 3}
    assert chains([CHILD]) == {"child": 3}


def test_a_chain_counts_from_the_job_that_begins_it() -> None:
    both = Job("both", 1, ("child", "alone"))
    assert chains([*FAMILY, both]) == {"parent": 6, "child": 4, "alone": 5, "last": 1, "both": 1}


def test_a_team_occupies_its_devices_at_once_and_waits_for_them() -> None:
    team = Job("team", 2, devices=3)
    assert team.device_hours == 6
    schedule = simulate([Job("first", 1), team, Job("small", 2), Job("last", 1)], 3)
    # `small` fits beside `first`, so the team waits for both, and `last` takes the third device before it
    assert schedule.starts == {"first": 0, "small": 0, "last": 0, "team": 2}
    assert schedule.hours == 4
    assert simulate([team, Job("small", 2)], 4).hours == 2
    assert longest([team, Job("child", 1, ("team",))]) == 3


def test_jobs_wait_for_room_on_the_disk_and_one_that_needs_more_than_all_runs_alone() -> None:
    jobs = [Job("first", 2, working_bytes=60), Job("large", 1, working_bytes=50), Job("small", 1, working_bytes=40)]
    assert simulate(jobs, 3, room=100).starts == {"first": 0, "small": 0, "large": 2}
    assert simulate(jobs, 3, room=45).starts == {"first": 0, "large": 2, "small": 3}


def test_a_team_larger_than_all_devices_is_refused() -> None:
    with pytest.raises(ValueError, match="team needs 8 devices"):
        simulate([ALONE, Job("team", 2, devices=8)], 4)


def test_a_circle_is_refused() -> None:
    with pytest.raises(ValueError, match="a waits for itself"):
        simulate([Job("a", 1, ("b",)), Job("b", 1, ("a",))], 2)


def test_weights_are_released_after_their_last_reader() -> None:
    jobs = [
        Job("parent", 2, working_bytes=30, kept_bytes=10),
        Job("other", 1, working_bytes=20, kept_bytes=7),
        Job("child", 1, ("parent",), working_bytes=25, kept_bytes=5),
        Job("last", 1, working_bytes=28, kept_bytes=1),
    ]
    schedule = simulate(jobs, 1)
    # parent 30; its 10 and other's 20; 10, other's 7 while they are measured, and child's 25; 10, child's 5, last's 28
    assert peak_bytes(jobs, schedule, released=True) == 43
    # and other's 7 stay
    assert peak_bytes(jobs, schedule, released=False) == 50
    # parent's 30 and other's 20; then last's 28 beside parent's 30, with other's 7 while they are measured
    assert peak_bytes(jobs, simulate(jobs, 2), released=True) == 65


@st.composite
def plans(draw: st.DrawFn, team: int = 1) -> list[Job]:
    """Jobs in any order, each waiting for some of those that were made before it. `team`: the largest one's devices."""
    jobs: list[Job] = []
    for number in range(draw(st.integers(1, 15))):
        names = [job.name for job in jobs]
        waits = draw(st.sets(st.sampled_from(names), max_size=3)) if names else ()
        size = draw(st.integers(0, 20))
        hours, devices = draw(st.integers(1, 50)), draw(st.integers(1, team))
        jobs.append(Job(f"job{number}", hours, tuple(waits), 2 * size, size, devices))
    return draw(st.permutations(jobs))


@given(plans(), st.integers(1, 6))
def test_the_end_lies_between_the_bounds_of_list_scheduling(jobs: list[Job], devices: int) -> None:
    schedule, total, chain = simulate(jobs, devices), sum(job.hours for job in jobs), longest(jobs)
    assert schedule.hours >= max(chain, total / devices)
    assert schedule.hours <= total / devices + (1 - 1 / devices) * chain + 1e-9  # Graham 1969
    for job in jobs:
        start = schedule.starts[job.name]
        assert schedule.ends[job.name] == start + job.hours
        assert all(schedule.ends[one] <= start for one in job.waits)
        running = [one for one in jobs if schedule.starts[one.name] <= start < schedule.ends[one.name]]
        assert len(running) <= devices


@given(plans(team=4), st.integers(4, 6))
def test_teams_never_take_more_devices_than_there_are_and_none_waits_that_fits(jobs: list[Job], devices: int) -> None:
    schedule = simulate(jobs, devices)
    assert schedule.hours >= max(longest(jobs), sum(job.device_hours for job in jobs) / devices)
    for moment in {0.0, *schedule.ends.values()}:
        running = [one for one in jobs if schedule.starts[one.name] <= moment < schedule.ends[one.name]]
        free = devices - sum(one.devices for one in running)
        assert free >= 0
        waiting = [one for one in jobs if schedule.starts[one.name] > moment]
        ready = [one for one in waiting if all(schedule.ends[name] <= moment for name in one.waits)]
        assert all(one.devices > free for one in ready)


@given(plans(), st.integers(1, 6), st.integers(1, 60))
def test_running_jobs_never_take_more_than_their_room(jobs: list[Job], devices: int, room: int) -> None:
    schedule = simulate(jobs, devices, room)
    for start in schedule.starts.values():
        running = [one for one in jobs if schedule.starts[one.name] <= start < schedule.ends[one.name]]
        working = [one.working_bytes for one in running if one.working_bytes]
        assert sum(working) <= room or len(working) == 1
    assert schedule.ends.keys() == {job.name for job in jobs}
    assert simulate(jobs, devices, room=10**9) == simulate(jobs, devices)


@given(plans(), st.integers(1, 6))
def test_releasing_never_takes_more_room_than_keeping(jobs: list[Job], devices: int) -> None:
    schedule = simulate(jobs, devices)
    released, kept = (peak_bytes(jobs, schedule, released=of) for of in (True, False))
    assert max(job.working_bytes for job in jobs) <= released <= kept
    assert kept >= sum(job.kept_bytes for job in jobs)
