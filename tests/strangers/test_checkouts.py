"""Other places than ours: another system's line ends and terminal, a package built in place, a user's own files."""

import sys
from pathlib import Path

import pytest

from allmlp import __version__
from tests.conftest import PROJECT, call, git


def test_a_system_that_turns_line_ends_gets_the_same_bytes(tmp_path: Path) -> None:
    words = ("-c", "core.autocrlf=true", "-c", "core.eol=crlf", "clone", "--quiet", "--depth=1")
    git(tmp_path, *words, f"file://{PROJECT}", "windows")
    clone = tmp_path / "windows"
    assert git(clone, "status", "--porcelain") == ""
    texts = [path for path in git(clone, "ls-files").splitlines() if path.endswith((".py", ".yaml", ".csv", ".lock"))]
    assert texts
    assert not [path for path in texts if b"\r\n" in (clone / path).read_bytes()]


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
