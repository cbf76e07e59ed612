"""The catalogue of faults, with one seed each: the steps up to measurements are quick. `make faults` has more seeds."""

from collections.abc import Iterator
from pathlib import Path

import pytest

from allmlp.data.tokens import encoding, write_tokens
from tests.faults import catalogue, pipelines, subject, trials

QUICK = ("tokenize", "train", "measure")


@pytest.fixture(scope="module")
def quick(tmp_path_factory: pytest.TempPathFactory) -> subject.Subject:
    """The subject up to its measurements."""
    return subject.make(tmp_path_factory.mktemp("faults"), QUICK)


@pytest.fixture(scope="module")
def whole(tmp_path_factory: pytest.TempPathFactory) -> subject.Subject:
    """The subject up to its report."""
    return subject.make(tmp_path_factory.mktemp("faults"))


def trials_of(steps: tuple[str, ...]) -> Iterator[object]:
    """Every fault at one of these steps, another one for each kind."""
    for number, fault in enumerate(catalogue.CATALOGUE):
        if of := [step for step in fault.steps if step in steps]:
            step = of[number % len(of)]
            yield pytest.param(fault, step, id=f"{fault.kind}-{step}".replace(" ", "_"))


def lost(row: trials.Row) -> str:
    """What a trial lost; skips where this machine does not let the fault happen."""
    if row.how.startswith(trials.NOT_POSSIBLE):
        pytest.skip(row.how)
    return row.lost


@pytest.mark.parametrize(("fault", "step"), trials_of(QUICK))
def test_a_step_survives(quick: subject.Subject, fault: catalogue.Fault, step: str, tmp_path: Path) -> None:
    assert lost(trials.carry_out(quick, fault.kind, fault.put, step, seed=0, folder=tmp_path)) == ""


@pytest.mark.slow
def test_tokens_in_many_shards_survive(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setitem(write_tokens.__kwdefaults__, "shard_tokens", 500)  # 13 shards
    monkeypatch.setattr(encoding, "BATCH_DOCUMENTS", 20)
    in_shards = subject.make(tmp_path / "subject", ("tokenize",))
    rows: dict[str, trials.Row] = {}
    for fault in (fault for fault in catalogue.CATALOGUE if "tokenize" in fault.steps):
        for seed in range(2):
            folder = tmp_path / f"{fault.kind} {seed}"
            folder.mkdir()
            rows[folder.name] = trials.carry_out(in_shards, fault.kind, fault.put, "tokenize", seed, folder)
    assert len(rows) >= 18
    assert sum(not row.how.startswith(trials.NOT_POSSIBLE) for row in rows.values()) >= 12
    assert {name: row.lost for name, row in rows.items() if row.lost} == {}


@pytest.mark.slow
@pytest.mark.parametrize(("fault", "step"), trials_of(subject.STEPS[len(QUICK) :]))
def test_the_last_mile_survives(whole: subject.Subject, fault: catalogue.Fault, step: str, tmp_path: Path) -> None:
    assert lost(trials.carry_out(whole, fault.kind, fault.put, step, seed=1, folder=tmp_path)) == ""


@pytest.mark.slow
def test_a_pipeline_survives(tmp_path: Path) -> None:
    assert [row.lost for row in pipelines.rows(tmp_path, kills=1)] == ["", ""]
