"""Other places than ours: another system's line ends and terminal, a package built in place, a user's own files."""

import json
import subprocess
import sys
from pathlib import Path

import pytest

from allmlp import __version__
from tests.conftest import PROJECT, call, git


def test_a_system_that_turns_line_ends_gets_the_same_bytes(tmp_path: Path) -> None:
    words = ("clone", "--quiet", "--depth=1", f"file://{PROJECT}")
    git(tmp_path, "-c", "core.autocrlf=true", "-c", "core.eol=crlf", *words, "windows")
    git(tmp_path, *words, "linux")
    clone = tmp_path / "windows"
    assert git(clone, "status", "--porcelain") == ""
    tracked = [line.split("\t")[0].split()[:2] for line in git(clone, "ls-files", "--stage").splitlines()]
    paths = git(clone, "ls-files").splitlines()
    now = subprocess.run(
        ["git", "hash-object", "--no-filters", "--stdin-paths"], cwd=clone, input="\n".join(paths), text=True,
        capture_output=True, check=True,
    ).stdout.splitlines()  # fmt: skip
    changed = [path for path, (_, blob), found in zip(paths, tracked, now, strict=True) if blob != found]
    assert changed == []
    assert {".py", ".yaml", ".csv", ".lock", ".svg", ".json", ".html", ".j2", ".smk", ".md"} <= {
        Path(path).suffix for path in paths
    }
    on_linux, on_windows = (
        call(tmp_path / place, "dvc", "status", "--json", "dvc.yaml").stdout for place in ("linux", "windows")
    )
    assert json.loads(on_windows) == json.loads(on_linux), "no stage is to be made again for the sake of line ends"


@pytest.mark.parametrize(
    "path", ["build/lib/allmlp/spec/run.py", "my.yaml", "my2.yaml", "my-words.yaml", "own/my/results"]
)
def test_what_is_a_users_own_is_none_of_gits_business(path: str) -> None:
    assert call(PROJECT, "git", "check-ignore", "--quiet", path, ok=False).returncode == 0


def test_the_version_is_said_wherever_it_is_asked(tmp_path: Path) -> None:
    assert call(tmp_path, "allmlp", "--version").stdout == f"allmlp {__version__}\n"


def test_a_terminal_without_the_letter_gets_its_number() -> None:
    says = "from allmlp.cli import main; main.app = lambda: print('caf\u00e9'); main.main()"
    said = call(PROJECT, sys.executable, "-c", says, PYTHONIOENCODING="ascii").stdout
    assert said == "caf\\xe9\n"
