"""The first losses of every architecture are those of the day its RECIPE was set."""

from pathlib import Path

import pytest
import torch

from allmlp.training.loop import Training
from tests import tiny
from tests.numerics import golden


@pytest.mark.parametrize("architecture", tiny.ALL)
def test_first_losses(architecture: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.chdir(tmp_path)
    tiny.write_tokens(tmp_path)
    known = golden.read()
    assert architecture in known, "run `allmlp check --fix`"
    assert golden.first_losses(architecture) == pytest.approx(known[architecture], rel=1e-5)


@pytest.mark.parametrize("architecture", tiny.ALL)
def test_no_step_reads_memory_that_was_not_written(
    architecture: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """With new memory full of NaN, which the training loop does without, the bits are the same."""
    monkeypatch.chdir(tmp_path)
    tiny.write_tokens(tmp_path)
    found = []
    for filled in (False, True):
        training = Training(tiny.run(architecture), tmp_path / f"filled {filled}")
        monkeypatch.setattr(torch.utils.deterministic, "fill_uninitialized_memory", filled)
        rows = []
        for training.step in range(3):
            rows.append(training.update())
        found.append((rows, [value.tolist() for value in training.model.state_dict().values()]))
    assert found[0] == found[1]
