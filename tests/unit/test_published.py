"""Published checkpoints: what is on the disk is what the manifest says, or it is made again, or refused."""

from pathlib import Path

import pytest

from allmlp.common.errors import UserError
from allmlp.spec.run import Run
from allmlp.training.checkpoint import produce
from allmlp.training.published import TrainedRun
from tests import tiny


@pytest.fixture
def run(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Run:
    """A tiny run, trained and published."""
    monkeypatch.chdir(tmp_path)
    made = tiny.run("transformer", steps=2)
    produce(made)
    return made


def flip(path: Path) -> bytes:
    """Change one bit of a file that keeps its size. Returns what it was."""
    whole = path.read_bytes()
    path.write_bytes(whole[:-1] + bytes([whole[-1] ^ 1]))
    return whole


@pytest.mark.parametrize("name", ["final.safetensors", "step-0.safetensors", "log.parquet", "run.json"])
def test_a_published_file_that_is_damaged_is_published_again(
    run: Run, name: str, capsys: pytest.CaptureFixture[str]
) -> None:
    capsys.readouterr()
    produce(run)
    assert "is trained already" in capsys.readouterr().out
    whole = flip(run.folder / name)
    produce(run)
    assert "is trained already" not in capsys.readouterr().out
    assert (run.folder / name).read_bytes() == whole


def test_damaged_weights_and_a_damaged_log_are_not_read(run: Run) -> None:
    for name in ("final.safetensors", "log.parquet"):
        flip(run.folder / name)
    with pytest.raises(UserError, match=r"final\.safetensors: sha256 is .* manifest\.json says"):
        TrainedRun(run).weights()
    with pytest.raises(UserError, match=r"log\.parquet: is missing or damaged"):
        _ = TrainedRun(run).log
