"""The first losses of every architecture are those of the day its RECIPE was set."""

import json
from pathlib import Path

import pytest

from tests import tiny
from tests.numerics import golden


@pytest.mark.parametrize("architecture", tiny.ALL)
def test_first_losses(architecture: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.chdir(tmp_path)
    tiny.write_tokens(tmp_path)
    known = json.loads(golden.FILE.read_text())
    if architecture not in known:
        pytest.skip(f"{architecture} has no golden losses yet: `python -m tests.numerics.golden` writes them")
    assert golden.first_losses(architecture) == pytest.approx(known[architecture], rel=1e-5)
