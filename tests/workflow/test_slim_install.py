"""`pip install .[train]`: its packages, and no others, are enough for all that a bundle brings."""

import shutil
from pathlib import Path

import pytest

from tests.conftest import PARAMETERS, PROJECT, call, edit, git
from tests.environments import with_only
from tests.faults import pipelines
from tests.packages import DECLARED, brought, named

pytestmark = pytest.mark.slow

ABSENT = ("datasets", "dvc", "pydantic", "snakemake", "typer")
EVERY_MEASURE = """
from allmlp.spec import catalogue
for study in catalogue.STUDIES:
    for name in catalogue.measures(study):
        catalogue.measure(study, name)
from allmlp.data.tokenizers import load
from pathlib import Path
load(*Path("results/tokens").glob("*"))
import sentencepiece  # of tokenizers whose files users give
"""
# a check of `doctor --gpu`, all of which tests/unit/test_gpu_check.py runs
CHECK = """
from allmlp.pipeline import doctor, gpu_check
from allmlp.pipeline.gpu_check import exact, survival, training
from allmlp.pipeline.gpu_check.outcome import outcome
for check in survival.check_kill("cpu"):
    found = outcome(check)
    assert found.passed, found
    print(found.check)
"""


@pytest.fixture(scope="module")
def python(tmp_path_factory: pytest.TempPathFactory) -> str:
    """The Python of an environment with the packages that training alone asks for, and those that they bring."""
    packages = brought(named("train"))
    return str(with_only(tmp_path_factory.mktemp("slim") / "environment", packages.values()) / "python")


@pytest.fixture
def home(tmp_path: Path) -> Path:
    """A clone with strings, a text in a BPE and modular addition, whose certificates need a library of their own."""
    clone = pipelines.sources(tmp_path / "home")
    edit(clone, "config/corpora.yaml", "{kind: bytes}", "{kind: bpe, vocabulary: 280}")
    shutil.copytree(PARAMETERS / "config/quadrature", clone / "config/quadrature")
    git(clone, "add", "--all")
    git(clone, "commit", "--quiet", "--message=two studies")
    call(clone, "allmlp", "tokenize", "words")
    return clone


@pytest.mark.parametrize("name", ABSENT)
def test_the_workflow_is_not_there(python: str, tmp_path: Path, name: str) -> None:
    done = call(tmp_path, python, "-c", f"import {name}", ok=False)
    assert f"ModuleNotFoundError: No module named '{name}'" in done.stderr


def test_a_bundle_is_worked_off_and_goes_back(python: str, home: Path) -> None:
    call(home, "allmlp", "pack", "../bundle", "--scale=smoke")
    other = home.parent / "other"
    git(home, "clone", "--quiet", str(home), str(other))
    shutil.rmtree(other / ".git")
    allmlp = (python, "-m", "allmlp")
    call(other, *allmlp, "unpack", "../bundle")
    call(other, python, "-c", EVERY_MEASURE)

    run = call(
        home, "python", "-c", "from allmlp.plan.plan import load_plan; print(load_plan().runs[0].id)"
    ).stdout.strip()
    call(other, *allmlp, "train", run)
    assert (other / "results/checkpoints" / run / "final.safetensors").is_file()
    call(other, *allmlp, "measure", run)
    assert list(other.glob(f"work/measurements/*/*/{run}*.parquet"))

    said = call(other, *allmlp, "advance", "--minutes=10").stdout
    assert "5 of 5 runs done" in said
    assert "failed" not in said
    assert "killed and resumed" in call(other, python, "-c", CHECK).stdout
    call(other, *allmlp, "pack", "../back")
    call(home, "allmlp", "unpack", "../back")
    assert "all 5 runs are done" in call(home, "allmlp", "advance", "--minutes=10", "--scale=smoke").stdout


def test_the_program_names_what_brings_the_other_commands(python: str, tmp_path: Path) -> None:
    module, function = DECLARED["scripts"]["allmlp"].split(":")
    program = f"import sys; sys.argv[0] = 'allmlp'; from {module} import {function}; {function}()"
    done = call(tmp_path, python, "-c", program, "report", ok=False, PYTHONPATH=str(PROJECT / "src"))
    assert done.returncode == 2
    assert "invalid choice: 'report'" in done.stderr
    assert "`pip install -e .[workflow]` brings the other commands" in done.stderr
