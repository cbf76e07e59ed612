"""The packages of pyproject.toml: training alone needs few, and requirements.lock has all."""

from packaging.utils import canonicalize_name

from tests.conftest import PROJECT
from tests.packages import DECLARED, brought, named

LOCKED = dict(line.split("==") for line in (PROJECT / "requirements.lock").read_text(encoding="utf-8").split())
ELSEWHERE = {"gpu"}  # the locked torch is for any machine, and brings its own triton where that can be used


def test_the_lock_has_every_package_that_is_asked_for() -> None:
    versions = {canonicalize_name(name): version for name, version in LOCKED.items()}
    asked = named(*DECLARED["optional-dependencies"].keys() - ELSEWHERE)
    wrong = [str(one) for one in asked if not one.specifier.contains(versions.get(canonicalize_name(one.name), "0"))]
    assert wrong == []
    assert not [one.name for one in asked if canonicalize_name(one.name) not in versions]


def test_training_alone_brings_nothing_of_the_workflow() -> None:
    slim = {canonicalize_name(name) for name in brought(named("train"))}
    assert "torch" in slim
    assert not slim & {"datasets", "dvc", "matplotlib", "pydantic", "snakemake", "typer"}
    assert len(named("train")) < len(named("workflow")) < len(named("dev"))
