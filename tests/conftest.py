"""What several kinds of tests share: the project's folder, temporary clones of it, and its commands run in them."""

import compileall
import functools
import os
import shutil
import subprocess
import sys
from collections.abc import Callable
from pathlib import Path

import hypothesis
import pytest
import torch

hypothesis.settings.load_profile("ci")  # the same examples each time, and no limits of time: machines are busy

if not torch.cuda.is_available():  # before anything imports triton, which reads it once
    os.environ["TRITON_INTERPRET"] = "1"
    # torch's build for CUDA would register a device for fake tensors. For it autograd starts a thread, after which no
    # fork of the process can train, and tests of kills fork.
    torch._C._ensureCUDADeviceGuardSet = lambda: None  # type: ignore[attr-defined]

PROJECT = Path(__file__).resolve().parents[1]
SHARED = PROJECT.parent / "shared" / "data"  # real text beside the project; tests of it skip where it is absent

PARAMETERS = PROJECT / "tests/params"  # the tests' own: a plan that trains in seconds


def lay(folder: Path, parameters: Path = PARAMETERS) -> Path:
    """Parameters in a folder of a test's own. Returns the file params.yaml."""
    shutil.rmtree(folder / "config", ignore_errors=True)
    shutil.copytree(parameters / "config", folder / "config")
    return Path(shutil.copy2(parameters / "params.yaml", folder / "params.yaml"))


def only(clone: Path, *studies: str) -> None:
    """Leave these studies in the plan of a clone."""
    for folder in (clone / "config").iterdir():
        if folder.is_dir() and folder.name not in studies:
            shutil.rmtree(folder)


def pytest_runtest_logreport(report: pytest.TestReport) -> None:
    """A failure's name and reason at once: a suite that is stopped at a limit of time still says what failed."""
    if report.failed and "PYTEST_XDIST_WORKER" not in os.environ:
        crash = getattr(report.longrepr, "reprcrash", None)
        reason = crash.message if crash else report.longreprtext
        print(f"\n{report.nodeid} failed: {reason.splitlines()[0]}", flush=True)


@pytest.fixture(autouse=True)
def _seeded() -> None:
    """A test draws the same numbers whichever tests ran before it."""
    torch.manual_seed(0)


@pytest.fixture
def project(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """The tests' own parameters as a git repository has them."""
    lay(tmp_path)
    git(tmp_path, "init", "--quiet", "--initial-branch=main")
    git(tmp_path, "add", "--all")
    git(tmp_path, "commit", "--quiet", "--message=parameters")
    monkeypatch.chdir(tmp_path)
    monkeypatch.setenv("ALLMLP_PROJECT", str(tmp_path))
    return tmp_path


@pytest.fixture
def here(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """An empty folder for results, with the project's own parameters."""
    monkeypatch.chdir(tmp_path)
    monkeypatch.setenv("ALLMLP_PROJECT", str(PROJECT))
    monkeypatch.setenv("ALLMLP_DIRECTORY", str(tmp_path))
    return tmp_path


@pytest.fixture
def in_project(monkeypatch: pytest.MonkeyPatch) -> None:
    """The project's own folder is the current one."""
    monkeypatch.chdir(PROJECT)


@pytest.fixture(scope="session")
def published() -> Path:
    """The project's params.yaml, for tests of the plans that it publishes; a user's own parameters are not tested."""
    _skip_unless_committed("params.yaml", "config")
    return PROJECT / "params.yaml"


@pytest.fixture(scope="session")
def committed_results() -> None:
    """For tests of the results in git. `make reproduce` and a user's own runs replace and add some."""
    _skip_unless_committed("results")


@pytest.fixture(scope="session")
def committed_last_mile() -> None:
    """For tests that what the last mile reads and writes agrees, in git; not while somebody changes it."""
    _skip_unless_committed("src", "paper", "params.yaml", "config", "results", "dvc.yaml", "dvc.lock")


def _skip_unless_committed(*places: str) -> None:
    words = ("git", "status", "--porcelain", "--", *places)
    changed = subprocess.run(words, cwd=PROJECT, capture_output=True, text=True)
    if changed.returncode or changed.stdout:
        pytest.skip(f"{' or '.join(places)} is not as git has it: commit a change to test it")


def environment(clone: Path) -> dict[str, str]:
    """The environment in which a clone's own sources are used, and its commands are found."""
    path = f"{Path(sys.executable).parent}{os.pathsep}{os.environ['PATH']}"
    others = ("ALLMLP_", "GIT_", "PYTEST_", "PYTHONDONTWRITEBYTECODE")
    clean = {key: value for key, value in os.environ.items() if not key.startswith(others)}
    return {
        **clean,
        "PATH": path,
        "PYTHONPATH": str(clone / "src"),
        "OMP_NUM_THREADS": "1",
    }


def call(clone: Path, *words: str, ok: bool = True, **more: str) -> subprocess.CompletedProcess[str]:
    """Run a command in a clone. `ok`: it must end with status 0. `more`: further environment."""
    done = subprocess.run(
        words, cwd=clone, env={**environment(clone), **more}, capture_output=True, text=True, timeout=900
    )
    if ok and done.returncode:
        raise AssertionError(
            f"{' '.join(words)} ended with {done.returncode}:\n{done.stdout[-3000:]}\n{done.stderr[-3000:]}"
        )
    return done


def git(clone: Path, *words: str) -> str:
    """Run git in a clone. Returns what it prints."""
    identity = (
        "-c",
        "user.name=test",
        "-c",
        "user.email=test@example.org",
        "-c",
        "protocol.file.allow=always",
    )
    return call(clone, "git", *identity, *words).stdout


def edit(clone: Path, file: str, old: str, new: str) -> None:
    """Replace the one place where `old` stands in a file of a clone."""
    path = clone / file
    text = path.read_text(encoding="utf-8")
    assert text.count(old) == 1, f"{file}: {old!r} stands {text.count(old)} times"
    path.write_text(text.replace(old, new), encoding="utf-8")


def small_clone(folder: Path, parameters: Path = PARAMETERS) -> Path:
    """A git repository with this project's sources and no results, under the tests' own parameters.

    Compiled sources come along, with the times of their sources: else the first process of each clone compiles them.
    """
    listed = subprocess.run(
        ["git", "ls-files", "--cached", "--others", "--exclude-standard"],
        cwd=PROJECT,
        capture_output=True,
        text=True,
        check=True,
    )
    for name in listed.stdout.splitlines():
        if not name.startswith("results/") and (PROJECT / name).is_file():
            (folder / name).parent.mkdir(parents=True, exist_ok=True)
            shutil.copy2(PROJECT / name, folder / name)
    for compiled in _compiled_sources():
        place = folder / compiled.relative_to(PROJECT)
        place.parent.mkdir(parents=True, exist_ok=True)
        shutil.copy2(compiled, place)
    if parameters != PROJECT:
        lay(folder, parameters)
        (folder / "corpora.lock").write_text("{}")
    git(folder, "init", "--quiet", "--initial-branch=main")
    git(folder, "add", "--all")
    git(folder, "commit", "--quiet", "--message=sources")
    return folder


@functools.cache
def _compiled_sources() -> list[Path]:
    compileall.compile_dir(PROJECT / "src", quiet=2)
    return list((PROJECT / "src").rglob(f"*.{sys.implementation.cache_tag}.pyc"))


@pytest.fixture
def clone(tmp_path: Path) -> Path:
    """A small clone of one test's own, nothing run in it."""
    return small_clone(tmp_path / "clone")


@pytest.fixture(scope="session")
def shared_data() -> Callable[[str], Path]:
    """The path of a file of real data, or a skip that says why."""

    def find(name: str) -> Path:
        if not (SHARED / name).is_file():
            pytest.skip(f"real data {name} is not beside the project")
        return SHARED / name

    return find
