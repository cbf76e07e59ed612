"""More GPUs are asked of Snakemake than this machine has."""

from itertools import pairwise
from pathlib import Path

import pytest

from tests.conftest import call, edit, only
from tests.workflow.asking import trained
from tests.workflow.standing_in import HOLDER, held, instead, most_at_once


@pytest.mark.slow
def test_what_is_there_is_used_and_one_line_says_how_much_that_is(clone: Path) -> None:
    only(clone, "quadrature")
    edit(clone, "config/quadrature/smoke.yaml", "seeds: [0]", "seeds: [0, 1, 2, 3]")
    files = trained(clone, device="cuda")[:4]
    words = ("snakemake", "--cores", "4", "--resources", "gpu=4", "--config", "device=cuda", "--", *files)
    fake = {"ALLMLP_FAKE_DEVICES": "2", "ALLMLP_DEVICES_FOLDER": str(clone.parent / "devices"), "TOGETHER": "2"}
    said = call(clone, *words, PATH=instead(clone, HOLDER), **fake)
    line = "gpu=4 was asked, but there are 2 CUDA devices here: 2 GPU jobs at a time"
    assert (said.stdout + said.stderr).count(line) == 1
    had = held(clone)
    assert len(had) == 4
    assert most_at_once([(began, ended) for _, began, ended, _ in had]) == 2
    for number in ("0", "1"):
        spans = sorted((began, ended) for device, began, ended, _ in had if device == f"here {number}")
        assert spans, "no device is idle"
        assert all(ended <= began for (_, ended), (began, _) in pairwise(spans))
    logs = [path.read_text(encoding="utf-8") for path in (clone / "logs/train").iterdir()]
    assert len(logs) == 4
    assert not any("waiting" in log for log in logs), "no job was started that holds a core without a device"
