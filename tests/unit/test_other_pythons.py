"""Other Python versions from 3.11 on of this machine: the same digests, ids of runs, stored numbers and verdicts."""

import json
import os
import re
import shutil
import subprocess
import sys
from pathlib import Path

import pytest

from allmlp.common import recipes
from allmlp.measurements.store import STORE
from allmlp.spec import catalogue
from tests.conftest import PROJECT

STUDIED = ["filelock", "numpy", "pandas", "psutil", "pyarrow", "pydantic", "pyyaml", "scipy"]  # what judging needs
MINORS = range(11, 21)
WANTED = "OTHER_PYTHONS"  # set, as in CI: an interpreter that is installed and cannot be used is a failure


def candidates(minor: int) -> list[str]:
    """Where interpreters of that version are, whether they start or not."""
    home = Path.home()
    pyenv = Path(os.environ.get("PYENV_ROOT", home / ".pyenv")) / "versions"
    folders = [*pyenv.glob(f"3.{minor}.*"), *(home / ".local/share/uv/python").glob(f"cpython-3.{minor}.*")]
    here = [shutil.which(f"python3.{minor}"), *(str(folder / "bin/python3") for folder in sorted(folders))]
    return [python for python in here if python and Path(python).exists()]


def others() -> dict[int, list[str]]:
    """Other versions that are installed, the newest last: those of their interpreters that start."""
    installed = {minor: candidates(minor) for minor in MINORS if (3, minor) != sys.version_info[:2]}
    return {
        minor: [python for python in pythons if _version(python) == (3, minor)][:1]
        for minor, pythons in installed.items()
        if pythons
    }


def _version(python: str) -> tuple[int, ...] | None:
    said = subprocess.run([python, "-c", "import sys; print(*sys.version_info[:2])"], capture_output=True, text=True)
    return tuple(map(int, said.stdout.split())) if said.returncode == 0 else None


@pytest.fixture
def pythons() -> list[str]:
    return usable(others())


def usable(found: dict[int, list[str]]) -> list[str]:
    """One of each version. Without any, a skip that says what was looked for."""
    idle = [f"3.{minor}: {', '.join(candidates(minor))}" for minor, pythons in found.items() if not pythons]
    if idle and WANTED in os.environ:
        pytest.fail(f"another Python is installed and does not start as what its name says: {'; '.join(idle)}")
    if not (pythons := [python for of_version in found.values() for python in of_version]):
        names = f"python3.{MINORS[0]} to python3.{MINORS[-1]}"
        pytest.skip(f"no other Python was found: {names} on PATH, in pyenv's versions and in uv's python folder")
    return pythons


def test_a_python_that_is_there_and_not_used_is_a_failure_where_others_are_wanted(
    monkeypatch: pytest.MonkeyPatch, tmp_path: Path
) -> None:
    broken = tmp_path / "python3.19"
    broken.write_text("#!/bin/sh\nexit 127\n")  # as pyenv's of a version that is not chosen
    broken.chmod(0o755)
    monkeypatch.setenv("PATH", str(tmp_path), prepend=os.pathsep)
    assert others()[19] == []
    monkeypatch.setenv(WANTED, "1")
    with pytest.raises(pytest.fail.Exception, match=f"3.19: {broken}"):
        usable({19: []})
    monkeypatch.delenv(WANTED)
    with pytest.raises(pytest.skip.Exception, match=r"python3\.11 to python3\.20 on PATH, in pyenv's versions"):
        usable({19: []})


def run(python: str | Path, script: str, folder: Path, given: str = "") -> str:
    """The output of a script that imports this project's sources, run in a folder."""
    environment = {**os.environ, "PYTHONPATH": str(PROJECT / "src"), "ALLMLP_PROJECT": str(PROJECT)}
    words = [str(python), "-c", script]
    done = subprocess.run(words, cwd=folder, input=given, env=environment, capture_output=True, text=True)
    assert done.returncode == 0, done.stderr[-3000:]
    return done.stdout


DIGESTS = """
import json, sys
from allmlp.common import recipes
from allmlp.judging import code_digest
asked = json.load(sys.stdin)
found = {name: recipes.fingerprint(name) for name in asked["modules"]}
print(json.dumps(found | {test: code_digest.digest(module, test) for module, test in asked["tests"]}))
"""


def test_digests_are_the_same(pythons: list[str], tmp_path: Path) -> None:
    claims = [
        (study, claim["test"]) for study in catalogue.STUDIES for claim in catalogue.ledger(study) if claim["test"]
    ]
    tests = [(catalogue.verdict_module(study, test), test) for study, test in claims]
    asked = json.dumps({"modules": recipes.modules(), "tests": tests})
    here, *there = (json.loads(run(python, DIGESTS, tmp_path, asked)) for python in (sys.executable, *pythons))
    assert len(here) > 200
    for python, found in zip(pythons, there, strict=True):
        assert found == here, python


JUDGED = """
import json
from pathlib import Path
from allmlp.common import workers
from allmlp.judging import judge
from allmlp.measurements import store
from allmlp.plan.plan import load_plan
from allmlp.report import stages
plans = load_plan().git_plan.runs_by_scale
found = {f"{scale} {study}": {run.id: run.settings_digest for run in runs}
         for scale, of in plans.items() for study, runs in of.items()}
stored = {names: store.read_measure(*names) for names in store.measures()}
found["store"] = {f"{study} {measure}": of.digest(sorted(of.places)) for (study, measure), of in stored.items()}
workers.run_all([judge.work()])
print(json.dumps(found | {"stages": stages.digests(), "claims": Path("results/claims.json").read_text()}))
"""


@pytest.fixture(scope="module")
def newest(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """The newest other Python, in an environment with the locked packages of judging and testing: compiled ones of this
    environment are for this Python alone, and torch would be a download of minutes.
    """
    environment = tmp_path_factory.mktemp("other") / "environment"
    subprocess.run([usable(others())[-1], "-m", "venv", str(environment)], check=True)
    pip = [str(environment / "bin/pip"), "install", "-qq", "--disable-pip-version-check"]
    locked = ["--constraint", str(PROJECT / "requirements.lock")]
    subprocess.run([*pip, *locked, *STUDIED, "hypothesis", "pytest"], check=True)
    return environment / "bin/python"


@pytest.mark.slow
def test_ids_stored_numbers_and_verdicts_are_the_same(newest: Path, tmp_path: Path) -> None:
    found = []
    for python in (Path(sys.executable), newest):
        folder = tmp_path / f"by {len(found)}"
        (folder / STORE.parent).mkdir(parents=True)
        (folder / STORE).symlink_to(PROJECT / STORE)
        shutil.copy(PROJECT / "results/selected.json", folder / "results")
        found.append(json.loads(run(python, JUDGED, folder)))
    here, there = found
    assert [name for name, of in here.items() if there[name] != of] == []
    assert here.keys() == there.keys()
    assert sum(len(of) for name, of in here.items() if " " in name) > 5000, "runs of all scales"


TORCH = """
import sys

class Kind(type):
    def __getattr__(cls, name):
        if name.startswith("__"):
            raise AttributeError(name)
        return cls

class Nothing(metaclass=Kind):
    __path__ = []
    def __init__(self, *given, **named): pass
    def __call__(self, function): return function
    def __class_getitem__(cls, key): return cls

for name in ("torch", "torch.nn", "torch.nn.functional", "torch.utils", "torch.utils.checkpoint"):
    sys.modules[name] = Nothing
"""
OF_DIGESTS = ("test_recipes", "test_store", "test_ages")  # and ids, and the store
OF_TORCH = "test_what_work_holds_of_a_plan_is_taken_in_once"  # imports the measures of a study


@pytest.mark.slow
def test_the_tests_of_digests_ids_and_the_store_pass(newest: Path, tmp_path: Path) -> None:
    """Without torch: of it the tests ask names alone."""
    (tmp_path / "torch.py").write_text(TORCH)
    environment = {key: of for key, of in os.environ.items() if not key.startswith(("PYTEST_", "ALLMLP_"))}
    environment |= {
        "PYTHONPATH": os.pathsep.join(map(str, (tmp_path, PROJECT / "src"))),
        "PYTHONDONTWRITEBYTECODE": "1",
    }
    words = [str(newest), "-m", "pytest", "-m", "not slow", "-p", "no:cacheprovider", f"--basetemp={tmp_path}/tests"]
    files = [f"tests/unit/{name}.py" for name in OF_DIGESTS]
    done = subprocess.run(
        [*words, "-k", f"not {OF_TORCH}", *files], cwd=PROJECT, env=environment, capture_output=True, text=True
    )
    assert done.returncode == 0, done.stdout[-5000:] + done.stderr[-1000:]
    (passed,) = re.findall(r"^(\d+) passed", done.stdout, re.MULTILINE)
    assert int(passed) > 20
