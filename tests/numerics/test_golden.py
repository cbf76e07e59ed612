"""The first losses of every architecture are those of the day its RECIPE was set."""

from pathlib import Path

import pytest

from tests import tiny
from tests.numerics import golden


@pytest.mark.parametrize("architecture", tiny.ALL)
def test_first_losses(architecture: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.chdir(tmp_path)
    tiny.write_tokens(tmp_path)
    known = golden.read()
    assert architecture in known, "run `allmlp check --fix`"
    assert golden.first_losses(architecture) == pytest.approx(known[architecture], rel=1e-5)
