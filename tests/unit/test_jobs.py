"""A job that trains and measures leaves what two jobs leave, and a failed one goes on where it was."""

from pathlib import Path

import pandas as pd
import pytest
import torch

from allmlp.measurements import measurement
from allmlp.pipeline import jobs
from allmlp.training import measuring
from tests import tiny

pytestmark = pytest.mark.usefixtures("here")


def rows(file: str) -> pd.DataFrame:
    return measurement.read(Path(file))[1].to_pandas().drop(columns="seconds")


def test_both_in_one_process_make_the_same_files(here: Path) -> None:
    run = tiny.run("causal-rn", threads=2)
    jobs.train_runs([run])
    jobs.measure_runs([run])
    weights, (file,) = Path(run.checkpoint).read_bytes(), run.measurements.values()
    apart = rows(file)
    Path(run.checkpoint).unlink()
    Path(file).unlink()
    jobs.train_runs([run], [run])
    assert Path(run.checkpoint).read_bytes() == weights
    pd.testing.assert_frame_equal(rows(file), apart)
    assert not list((here / "work/runs").glob("*"))


def test_a_measure_after_a_training_finds_the_process_as_it_would_be_alone(monkeypatch: pytest.MonkeyPatch) -> None:
    """Threads, PyTorch's demand for determinism and subnormal numbers: each could change the bits of a measure."""
    found = []

    def state(*_: object) -> Path:
        subnormal = bool(torch.full((4,), 1e-39).mul(1).all())
        found.append((torch.get_num_threads(), torch.get_deterministic_debug_mode(), subnormal))
        return Path("measured")

    monkeypatch.setattr(measuring, "take", state)
    run = tiny.run("causal-rn", threads=2)
    jobs.train_runs([run], [run])
    assert found == [(1, 0, True)]


def test_a_job_killed_before_its_measures_leaves_no_work_folder_once_they_are_taken(
    here: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    run = tiny.run("causal-rn")
    with monkeypatch.context() as killed:
        killed.setattr(jobs, "measure_runs", lambda *_: (_ for _ in ()).throw(KeyboardInterrupt))
        with pytest.raises(KeyboardInterrupt):
            jobs.train_runs([run], [run])
    assert list((here / "work/runs").glob("*"))
    jobs.measure_runs([run])
    assert not list((here / "work/runs").glob("*"))


def test_a_measure_that_fails_costs_no_training(here: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    run = tiny.run("causal-rn")
    with monkeypatch.context() as broken:
        broken.setattr(measuring, "take", lambda *_: (_ for _ in ()).throw(OSError("full")))
        with pytest.raises(OSError, match="full"):
            jobs.train_runs([run], [run])
    Path(run.checkpoint).unlink()  # as Snakemake does before it tries a job again
    monkeypatch.setattr("allmlp.training.loop.Training.update", lambda *_: pytest.fail("trained again"))
    jobs.train_runs([run], [run])
    assert Path(run.checkpoint).is_file()
    assert all(Path(file).is_file() for file in run.measurements.values())
