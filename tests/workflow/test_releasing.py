"""Weights released in a real pipeline: gone after their last measure, measurements the same, nothing to do again."""

import re
from pathlib import Path

import pytest

from allmlp.measurements import measurement
from tests.conftest import call, edit
from tests.workflow.asking import planned, trained
from tests.workflow.test_parents import CHILD, PARENT, SEARCH, ids
from tests.workflow.test_parents import family as family

WEIGHTS = "results/checkpoints/*/*.safetensors"
MEASURES = '"measures": ("cost", "learning_curve")'


@pytest.fixture
def releasing(family: Path) -> Path:
    """The family, with weights released and two measures a run."""
    (family / "params.yaml").write_text((family / "params.yaml").read_text() + "weights: released\n")
    edit(family, "src/allmlp/studies/copying/runs.py", '"measures": ("cost",)', MEASURES)
    return family


def measurements(clone: Path) -> dict[str, bytes]:
    """The measurements without timings, by file; the store takes none of them in here."""
    files = sorted((clone / "work/measurements/copying/learning_curve").glob("*.parquet"))
    return {file.name: file.read_bytes() for file in files}


def holders(clone: Path) -> set[str]:
    """The runs that have weights."""
    return {path.parent.name for path in clone.glob(WEIGHTS)}


@pytest.mark.slow
def test_weights_go_after_their_last_measure_and_nothing_is_trained_again(releasing: Path) -> None:
    names = ids(releasing)
    (child,), (parent,) = names["child"], names["parent"]

    first, *_, last = trained(releasing)
    call(releasing, "snakemake", first.replace("trained", "measured"), "--cores", "2")
    assert holders(releasing) == {parent}, "its child is open"
    assert len(measurements(releasing)) == 1

    said = call(releasing, "snakemake", "measurements", "--cores", "2")
    assert "Traceback" not in said.stderr
    assert holders(releasing) == set()
    for run in (child, parent, *names["search"]):
        assert (releasing / "results/checkpoints" / run / "run.json").is_file()
    assert f"{child}: weights released" in (releasing / "logs/measure" / f"{Path(last).stem}.log").read_text()
    assert planned(releasing, "measurements") == []

    found = measurements(releasing)
    said = call(releasing, "snakemake", "measurements", "--cores", "2")
    assert "Nothing to be done" in said.stdout + said.stderr
    assert holders(releasing) == set()

    edit(releasing, "params.yaml", "weights: released", "weights: kept")
    for file in (releasing / "work/measurements").rglob("*.parquet"):
        file.unlink()
    call(releasing, "snakemake", "measurements", "--cores", "2")
    assert holders(releasing) == {child, parent, *names["search"]}
    assert measurements(releasing) == found
    assert {
        measurement.read(releasing / "work/measurements/copying/learning_curve" / name)[0].run for name in found
    } == {
        child,
        parent,
    }


@pytest.mark.slow
def test_a_family_in_one_process_is_released_when_all_of_it_is_measured(releasing: Path) -> None:
    edit(releasing, "config/copying/smoke.yaml", "seeds: [0]", "seeds: [0], runs_per_process: 9")
    call(releasing, "snakemake", "measurements", "--cores", "1")
    assert holders(releasing) == set()
    assert planned(releasing, "measurements") == []
    weightless = call(releasing, "allmlp", "export", ids(releasing)["child"][0], "--to", "there", ok=False)
    assert weightless.returncode == 2


@pytest.mark.slow
def test_advance_releases_too(releasing: Path) -> None:
    call(releasing, "allmlp", "advance", "--minutes", "5", "--scale", "smoke", "--cores", "2", "--dirty")
    assert holders(releasing) == set()
    assert planned(releasing, "measurements") == []


@pytest.mark.slow
def test_trainings_wait_for_room_on_the_disk(releasing: Path) -> None:
    """Each of these small models counts as 1 MB."""
    said = call(releasing, "snakemake", "measurements", "--cores", "4", "--resources", "disk_mb=1")
    training: set[str] = set()
    together = []
    for started, ended in re.findall(r"^Job (\d+): train |^Finished jobid: (\d+) ", said.stdout + said.stderr, re.M):
        training = training | {started} if started else training - {ended}
        together += [len(training)] * bool(started)
    assert together == [1] * len(PARENT + SEARCH + CHILD)
