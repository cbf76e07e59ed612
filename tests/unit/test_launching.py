"""The open runs on each type of device: hours from measured or nominal rates, until when, and on how much disk."""

import json
import re
from collections.abc import Callable, Iterator
from pathlib import Path

import pytest

from allmlp.common.errors import UserError
from allmlp.plan import costs, device_types, forecast, overview, params, priorities, status
from allmlp.plan.forecast import Launch
from allmlp.plan.plan import Plan


def plan(project: Path, **changes: str) -> Plan:
    """The tests' own plan."""
    return Plan(params.load(project / "params.yaml", changes=changes), project)


def launches(plan: Plan, on: str | None = None, devices: tuple[int, ...] = (1, 2)) -> list[Launch]:
    kind = forecast.choose_device_type(plan, on)
    records = {one["run"]: one for one in costs.costs(plan, kind)}
    return forecast.launches(plan, records, status.resolve(plan).order, devices, kind)


def done(plan: Plan) -> None:
    """Pretend that everything is measured."""
    for file in plan.measurements:
        Path(file).parent.mkdir(parents=True, exist_ok=True)
        Path(file).touch()


@pytest.mark.parametrize("device", ["cpu", "cuda"])
def test_hours_are_those_of_the_trainings_and_the_starts_of_a_batch(project: Path, device: str) -> None:
    current = plan(project, device=device)
    apart = [batch for batch in current.batches_to_measure if not current.is_measured_in_training(batch)]
    assert len(apart) == sum(batch.gpus > 0 for batch in current.batches_to_train), "no GPU waits for measures"
    found, *_ = launches(current)
    trained = sum(one["estimated_s"] for one in costs.costs(current) if one["state"] == "to do")
    starts = (len(current.batches_to_train) + len(apart)) * device_types.start_s()
    assert found.on.said.startswith("measured on ")
    assert found.hours == pytest.approx((trained + starts) / 3600, abs=1e-4)  # costs are rounded to 0.1 s
    assert found.until_done[1] == pytest.approx(found.hours)
    assert max(found.longest_chain, found.hours / 2) <= found.until_done[2] < found.hours


def test_without_an_order_of_advance_what_most_hours_wait_for_comes_first(
    project: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    current = plan(project)
    hours = costs.hours(current.runs)
    place = {run: number for number, run in enumerate(forecast.order(current))}
    assert place.keys() == {run.id for batch in current.batches_to_train for run in batch.runs}
    for run in current.runs:
        assert all(place[one] < place[run.id] for one in run.needs if one in place)
    alone = [batch for batch in current.batches_to_train if not any(run.needs or run.search for run in batch.runs)]
    needed = {one for run in current.runs for one in run.needs}
    free = [batch for batch in alone if needed.isdisjoint(run.id for run in batch.runs)]
    assert len(free) > 1
    longest = sorted(free, key=lambda batch: -sum(hours[run.id] for run in batch.runs))
    assert [batch.name for batch in longest] == [
        batch.name for batch in sorted(free, key=lambda batch: place[batch.runs[0].id])
    ]
    priorities.write(["of advance"])
    assert forecast.order(current) == list(place)
    monkeypatch.setenv(priorities.VARIABLE, str(priorities.ORDER))
    assert forecast.order(current) == ["of advance"]


def test_released_weights_take_less_room_than_kept_ones(project: Path) -> None:
    (found,) = launches(plan(project))
    published = sum(one["disk_bytes"] for one in costs.costs(plan(project)) if one["state"] == "to do")
    for released, kept in found.peaks.values():
        assert 0 < released <= kept
        assert kept >= published


def test_a_batch_takes_its_earlier_runs_twice_and_the_states_of_one(project: Path) -> None:
    """Weights of 10 and of 100 bytes, each one file: 2 states of 30 bytes, then 20 bytes and 2 states of 300."""
    runs = plan(project).runs[:2]
    records = {
        run.id: {"disk_bytes": size, "parameters": size / 4, "counted_flops": 1.0}
        for run, size in zip(runs, (10, 100), strict=True)
    }
    opened = forecast._make_open_batch("batch", runs, records, (), 1)
    assert (opened.batch.working_bytes, opened.batch.kept_bytes) == (20 + 100 + 600, 110)
    assert forecast._make_open_batch("batch", runs[:1], records, (), 1).batch.working_bytes == 70


Measured = Callable[[dict[str, object] | None], None]


@pytest.fixture
def measured_gpu(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Iterator[Measured]:
    """Sets what was measured of a GPU."""
    table = json.loads(device_types.RATES.read_text(encoding="utf-8"))

    def measured(gpu: dict[str, object] | None) -> None:
        found = {**table, "cuda": gpu} if gpu else {name: of for name, of in table.items() if name != "cuda"}
        (tmp_path / "rates.json").write_text(json.dumps(found))
        monkeypatch.setattr(device_types, "RATES", tmp_path / "rates.json")
        device_types.list_types.cache_clear()

    yield measured
    device_types.list_types.cache_clear()


def test_gpus_of_which_none_was_measured_say_so(project: Path, measured_gpu: Measured) -> None:
    measured_gpu(None)
    found = launches(plan(project, device="cuda"), on="rtx 3060")
    assert [one.on.name for one in found] == ["RTX 3060", "H100", "H200", "A100", "V100"]
    assert all(one.on.said.startswith("never measured: 5% of ") for one in found)
    h100, a100 = (next(one for one in found if one.on.name == name) for name in ("H100", "A100"))
    assert h100.on.step_seconds("transformer", 989e12, 1) == pytest.approx(20)
    assert a100.on.step_seconds("transformer", 989e12, 1) == pytest.approx(20 * 989 / 312)
    assert h100.on.is_extrapolated("transformer", 1), "nothing was measured"


def test_a_measured_gpu_comes_first_and_others_take_its_seconds_and_no_more_than_they_can(
    measured_gpu: Measured,
) -> None:
    step = {"step_s": 0.5, "s_per_flop": 1e-14, "s_per_parameter": 1e-9, "largest_flops": 1e13}
    error = {"median": 1.5, "p90": 3.0, "points": 7}
    measured_gpu({"hardware": "NVIDIA A100-SXM4-80GB", "error": error, "steps": {"transformer": step}})
    first, second, _, third, _ = device_types.list_types("cuda")
    assert (first.name, first.said) == ("A100", "measured on NVIDIA A100-SXM4-80GB")
    assert first.error == error
    assert first.step_seconds("transformer", 1e14, 1e8) == pytest.approx(0.5 + 1 + 0.1)
    assert first.step_seconds("of no rate", 312e12, 1) == pytest.approx(20)
    assert not first.is_extrapolated("transformer", 1e14)
    assert first.is_extrapolated("transformer", 1.1e14)
    assert (second.name, second.said) == ("H100", "never measured: A100's seconds, at most 35% of 989 TFLOP/s")
    assert second.step_seconds("transformer", 1e14, 1e8) == pytest.approx(0.5 + 1 + 0.1), "small steps do not gain"
    assert not second.error
    assert (third.name, third.said) == ("V100", "never measured: A100's seconds, at most 35% of 125 TFLOP/s")
    slower = 1e14 / (0.35 * 125e12) + 0.1 * 2.04 / 0.9
    assert third.step_seconds("transformer", 1e14, 1e8) == pytest.approx(0.5 + slower)


def test_an_unknown_type_is_refused_with_the_known_ones(project: Path) -> None:
    with pytest.raises(UserError, match=r"--on H1000: no such type .* There are: H100, H200, A100, V100, RTX 3060"):
        forecast.choose_device_type(plan(project, device="cuda"), "H1000")
    with pytest.raises(UserError, match="There are: CPU core"):
        forecast.choose_device_type(plan(project), "H100")


def test_the_plan_shows_devices_price_and_disk(project: Path, capsys: pytest.CaptureFixture[str]) -> None:
    overview.show(plan(project, device="cuda"), False, "table", devices=(3,), price=1000.0)
    said = capsys.readouterr().out
    head = next(line for line in said.splitlines() if line.startswith("device "))
    assert head.split() == ["device", "rate", "hours", "chain", "on", "3"]
    assert "price with H100: " in said
    assert "disk at most, with H100 and weights kept, as here: " in said
    overview.show(plan(project, device="cuda"), False, "json", devices=(3,), price=1000.0)
    first = json.loads(capsys.readouterr().out)["devices"][0]
    assert first["price"] == pytest.approx(1000 * first["hours"])
    assert first["hours_until_done"].keys() == first["peak_disk_bytes"].keys() == {"3"}


def test_models_that_a_device_cannot_hold_are_counted(project: Path) -> None:
    current = plan(project, device="cuda")
    trained = sum(run.device == "cuda" for batch in current.batches_to_train for run in batch.runs)
    small = forecast.choose_device_type(current, None)._replace(memory_bytes=1.0)
    (first, *_) = forecast.launches(
        current, {one["run"]: one for one in costs.costs(current)}, status.resolve(current).order, (1,), small
    )
    assert first.too_large == trained
    assert any("too little memory" in line for line in forecast.lines([first], releases=True))


def with_teams(project: Path, processes: int) -> Plan:
    """The tests' own plan on GPUs, with the trainings of one study by teams."""
    settings = project / "config/quadrature/smoke.yaml"
    settings.write_text(settings.read_text() + f"    processes: {processes}\n")
    return plan(project, device="cuda")


def test_a_team_takes_its_devices_at_once(project: Path) -> None:
    alone, (team, *_) = launches(plan(project, device="cuda"))[0], launches(with_teams(project, 4), devices=(2, 4, 8))
    more = team.hours - alone.hours
    assert 0 < more <= 2 * 3 * device_types.start_s() * len(plan(project).batches_to_train) / 3600, (
        "starts, of each process"
    )
    assert (alone.team, team.team) == (1, 4)
    assert team.until_done[2] is None
    assert team.peaks.keys() == {4, 8}
    assert team.until_done[4] is not None
    assert team.until_done[8] is not None
    assert team.longest_chain <= team.until_done[8] <= team.until_done[4] < team.hours


def test_too_few_devices_for_a_team_are_said_to_be_so(project: Path, capsys: pytest.CaptureFixture[str]) -> None:
    teams = with_teams(project, 8)
    overview.show(teams, False, "table", devices=(4, 8), price=1.0)
    said = capsys.readouterr().out
    row = next(line for line in said.splitlines() if line.startswith("H100 "))
    assert re.search(r" needs 8 +\d", row)
    assert "the largest run needs 8 devices at once" in said
    assert re.search(r"^disk at most, .*: [0-9.]+ \wB on 8$", said, re.MULTILINE)
    overview.show(teams, False, "table", devices=(4,))
    assert "weights kept, as here: needs 8 devices\n" in capsys.readouterr().out
    overview.show(teams, False, "json", devices=(4, 8))
    first = json.loads(capsys.readouterr().out)["devices"][0]
    assert first["devices_at_least"] == 8
    assert first["hours_until_done"]["4"] is None
    overview.show(teams, False, "table", budget=100)
    assert "the largest of them needs 8 devices at once" in capsys.readouterr().out


def test_nothing_open_needs_no_device(project: Path, capsys: pytest.CaptureFixture[str]) -> None:
    done(plan(project))
    assert launches(plan(project)) == []
    overview.show(plan(project), False, "table")
    assert "device" not in capsys.readouterr().out.split()
