"""Other Python versions from 3.11 on of this machine: the same digests, ids of runs, stored numbers and verdicts."""

import json
import os
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


def others() -> list[str]:
    """Interpreters of other versions, the newest last."""
    found = []
    for minor in range(11, 16):
        pyenv = Path(os.environ.get("PYENV_ROOT", Path.home() / ".pyenv")) / "versions"
        names = [shutil.which(f"python3.{minor}"), *map(str, sorted(pyenv.glob(f"3.{minor}.*/bin/python")))]
        found += [python for python in names if python and _version(python) == (3, minor) != sys.version_info[:2]][:1]
    return found


def _version(python: str) -> tuple[int, ...] | None:
    said = subprocess.run([python, "-c", "import sys; print(*sys.version_info[:2])"], capture_output=True, text=True)
    return tuple(map(int, said.stdout.split())) if said.returncode == 0 else None


@pytest.fixture
def pythons() -> list[str]:
    if not (found := others()):
        pytest.skip("no other Python from 3.11 on is installed here")
    return found


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


@pytest.mark.slow
def test_ids_stored_numbers_and_verdicts_are_the_same(pythons: list[str], tmp_path: Path) -> None:
    environment, newest = tmp_path / "environment", pythons[-1]
    subprocess.run([newest, "-m", "venv", str(environment)], check=True)
    pip = [str(environment / "bin/pip"), "install", "-qq", "--disable-pip-version-check"]
    subprocess.run([*pip, "--constraint", str(PROJECT / "requirements.lock"), *STUDIED], check=True)
    found = []
    for python in (Path(sys.executable), environment / "bin/python"):
        folder = tmp_path / f"by {len(found)}"
        (folder / STORE.parent).mkdir(parents=True)
        (folder / STORE).symlink_to(PROJECT / STORE)
        shutil.copy(PROJECT / "results/selected.json", folder / "results")
        found.append(json.loads(run(python, JUDGED, folder)))
    here, there = found
    assert [name for name, of in here.items() if there[name] != of] == []
    assert here.keys() == there.keys()
    assert sum(len(of) for name, of in here.items() if " " in name) > 5000, "runs of all scales"
