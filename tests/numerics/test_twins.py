"""A run that begins where its shorter twin ended has the bits of one from the beginning."""

import shutil
from dataclasses import replace
from pathlib import Path

import pytest
import torch

from allmlp import paths
from allmlp.artifacts import read_json
from allmlp.run import Run
from allmlp.training import checkpoint
from allmlp.training.twins import STATE
from tests import tiny
from tests.workflow.asking import contents

CONSTANT = {**tiny.OPTIMISER, "schedule": "constant"}
SHORT, LONG = 12, 30


@pytest.fixture
def here(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """An empty folder with the tokens of the tiny runs."""
    monkeypatch.chdir(tmp_path)
    monkeypatch.setenv(paths.DIRECTORY, str(tmp_path))
    torch.set_num_threads(1)
    tiny.write_tokens(tmp_path)
    return tmp_path


def twins(architecture: str, **changes: object) -> tuple[Run, Run]:
    """A short run that keeps its state, and the longer one that names it."""
    short = tiny.run(architecture, steps=SHORT, optimiser=CONSTANT, keep=(0, 6), keeps_state=True, **changes)
    return short, replace(short, steps=LONG, keep=(0, 6, 20), keeps_state=False, shorter=short.id)


def from_the_beginning(run: Run) -> dict[str, bytes]:
    """The files of a run that was trained alone, which are then removed."""
    checkpoint.produce(replace(run, shorter=None))
    found = contents(run.folder)
    shutil.rmtree(run.folder)
    shutil.rmtree("work")
    return found


@pytest.mark.parametrize("architecture", ["transformer", "mlp", "constant-attention", "masked-mixer"])
def test_a_longer_twin_has_the_bits_of_a_training_from_the_beginning(
    architecture: str, here: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    short, long = twins(architecture)
    expected = from_the_beginning(long)
    checkpoint.produce(short)
    checkpoint.forget(short)
    capsys.readouterr()
    checkpoint.produce(long)
    assert f"{long.id}: going on at step {SHORT} of {LONG}" in capsys.readouterr().out
    assert contents(long.folder) == expected


def test_its_seconds_are_those_of_both(here: Path) -> None:
    short, long = twins("transformer")
    checkpoint.produce(short)
    checkpoint.produce(long)
    spent = [read_json(checkpoint.TIMINGS / f"{run.id}.json")["seconds"] for run in (short, long)]
    assert spent[1] > spent[0]


@pytest.mark.parametrize("wrong", ["missing", "damaged", "other rate", "lacks kept weights", "other held-out steps"])
def test_without_a_usable_twin_it_begins_at_the_beginning(
    wrong: str, here: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    short, long = twins("mlp")
    if wrong == "other rate":
        short = replace(short, optimiser={**CONSTANT, "learning_rate": 1e-3})
    if wrong == "lacks kept weights":
        short = replace(short, keep=(0,), tested=(6,))
    if wrong == "other held-out steps":
        short = replace(short, tested=(3,))
    long = replace(long, shorter=short.id)
    expected = from_the_beginning(long)
    if wrong != "missing":
        checkpoint.produce(short)
    if wrong == "damaged":
        content = bytearray((short.folder / STATE).read_bytes())
        content[-1] ^= 1
        (short.folder / STATE).write_bytes(content)
    capsys.readouterr()
    checkpoint.produce(long)
    assert "begins at step 0, because its shorter twin cannot be used" in capsys.readouterr().out
    assert contents(long.folder) == expected


def test_only_runs_that_ask_for_it_publish_their_state(here: Path) -> None:
    short, _ = twins("transformer")
    plain = replace(short, keeps_state=False)
    for run in (short, plain):
        checkpoint.produce(run)
    assert STATE not in read_json(plain.folder / "manifest.json")
    assert STATE in read_json(short.folder / "manifest.json")
    assert (plain.folder / "final.safetensors").read_bytes() == (short.folder / "final.safetensors").read_bytes()
    assert plain.id != short.id


def test_the_name_of_a_twin_alters_no_id() -> None:
    _, long = twins("transformer")
    assert long.id == replace(long, shorter=None).id
    assert long == replace(long, shorter=None)


def test_a_decaying_rate_has_no_twins() -> None:
    with pytest.raises(ValueError, match="only a constant rate is the same whatever the steps"):
        tiny.run("transformer", keeps_state=True)
