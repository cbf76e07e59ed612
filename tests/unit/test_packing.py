"""A bundle of one study brings the runs of that study alone."""

from pathlib import Path

import pytest

from allmlp.common import paths
from allmlp.pipeline.advancing import snakemake_words
from allmlp.pipeline.bundles.packing import gather
from allmlp.plan import status
from allmlp.plan.plan import load_plan
from allmlp.plan.portable import PLAN, parse_plan
from tests.conftest import PROJECT


def test_a_bundle_of_one_study(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.chdir(tmp_path)
    monkeypatch.setenv(paths.PROJECT, str(PROJECT))
    members = gather(status.resolve(load_plan(changes={"scale": "smoke", "study": "quadrature"})))
    (plan,) = (member for member in members if member.name == str(PLAN))
    brought = parse_plan(plan.read().decode())
    assert {run.study for run in brought.known} == {"quadrature"}
    assert brought.order


def test_snakemake_is_asked_for_the_same_study() -> None:
    words = snakemake_words([], "smoke", None, "quadrature")
    assert words[words.index("--config") + 1 :] == ["scale=smoke", "study=quadrature"]
