"""The packages of pyproject.toml: training alone needs few, and requirements.lock has all."""

import ast
import subprocess
import sys
from pathlib import Path

from packaging.utils import canonicalize_name

from tests.conftest import PROJECT, environment
from tests.packages import DECLARED, brought, named

LOCKED = dict(line.split("==") for line in (PROJECT / "requirements.lock").read_text(encoding="utf-8").split())
ELSEWHERE = {"gpu"}  # the locked torch is for any machine, and brings its own triton where that can be used


def test_the_lock_has_every_package_that_is_asked_for() -> None:
    versions = {canonicalize_name(name): version for name, version in LOCKED.items()}
    asked = named(*DECLARED["optional-dependencies"].keys() - ELSEWHERE)
    wrong = [str(one) for one in asked if not one.specifier.contains(versions.get(canonicalize_name(one.name), "0"))]
    assert wrong == []
    assert not [one.name for one in asked if canonicalize_name(one.name) not in versions]


def test_the_least_versions_that_are_declared_are_those_that_the_tests_run_with() -> None:
    """Of torch `make lowest` runs an older one, that of the GPU in docs/cluster.md."""
    versions = {canonicalize_name(name): version for name, version in LOCKED.items()}
    untested = [
        str(one)
        for one in named("train", "workflow")
        if not any(
            bound.operator == ">=" and versions[canonicalize_name(one.name)].startswith(f"{bound.version}.")
            for bound in one.specifier
        )
    ]
    assert untested == ["torch>=2.11"]


def test_training_alone_brings_nothing_of_the_workflow() -> None:
    slim = {canonicalize_name(name) for name in brought(named("train"))}
    assert "torch" in slim
    assert not slim & {"datasets", "dvc", "matplotlib", "pydantic", "snakemake", "typer"}
    assert DECLARED["optional-dependencies"]["train"] == []


BARE = """
import sys
from allmlp.cli import minimal
from allmlp.pipeline import doctor, gpu_check, jobs, sequential
from allmlp.pipeline.bundles import packing, unpacking
from allmlp.pipeline.gpu_check import exact, survival, training
from allmlp.spec import catalogue
for study in catalogue.STUDIES:
    for name in catalogue.measures(study):
        catalogue.measure(study, name)
print(*(module.__file__ for name, module in sys.modules.items() if name.startswith("allmlp.") and module.__file__))
"""
PROVIDED_BY = {"flint": "python-flint", "yaml": "pyyaml"}


def test_what_the_bare_commands_import_is_asked_for_by_name() -> None:
    """Also what another package would bring: numpy with pandas, filelock with torch."""
    words = [sys.executable, "-c", BARE]
    done = subprocess.run(words, cwd=PROJECT, env=environment(PROJECT), capture_output=True, text=True, check=True)
    imported = set().union(*(_at_the_top(Path(file)) for file in done.stdout.split()))
    found = {PROVIDED_BY.get(name, name) for name in imported - sys.stdlib_module_names - {"allmlp"}}
    assert {"numpy", "torch", "filelock"} <= found
    assert found <= {one.name for one in named("train")}


def _at_the_top(file: Path) -> set[str]:
    """The first names of what a module imports whenever it is imported."""
    nodes = ast.parse(file.read_text(encoding="utf-8")).body
    direct = {alias.name for node in nodes if isinstance(node, ast.Import) for alias in node.names}
    return {name.split(".")[0] for name in direct | {str(n.module) for n in nodes if isinstance(n, ast.ImportFrom)}}
