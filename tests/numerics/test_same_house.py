"""What the project says stays the same while its code moves: runs, measurements, verdicts."""

import json
from pathlib import Path
from typing import Any

import pytest

from allmlp.plan.plan import load_plan
from tests.conftest import PROJECT
from tests.numerics import same_house


@pytest.fixture(scope="module")
def known() -> dict[str, Any]:
    found: dict[str, Any] = json.loads(same_house.FILE.read_text())
    return found


@pytest.mark.usefixtures("published")
def test_every_run_keeps_its_id(known: dict[str, Any]) -> None:
    lacking = _lacking(known["runs"], same_house.runs(load_plan()))
    assert not lacking, "runs that no plan names any more"


@pytest.mark.usefixtures("committed_results")
def test_every_measurement_keeps_its_rows(known: dict[str, Any], monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.chdir(PROJECT)
    lacking = _lacking(known["measurements"], same_house.measurements())
    assert not lacking, "measurements that are gone or have other rows"


@pytest.mark.slow
@pytest.mark.usefixtures("published", "committed_results")
def test_every_claim_keeps_its_verdict(known: dict[str, Any], tmp_path: Path) -> None:
    assert same_house.verdicts(load_plan(), tmp_path) == known["verdicts"]


def _lacking(known: dict[str, str], found: dict[str, list[str]]) -> dict[str, int]:
    """place -> how many of its digests are not there any more."""
    counts = {place: len(set(of.split()) - set(found.get(place, []))) for place, of in known.items()}
    return {place: count for place, count in counts.items() if count}
