"""`snakemake --logger allmlp` in a log, in a terminal, where a job fails, and where nothing runs."""

import errno
import os
import pty
import re
import subprocess
import sys
from pathlib import Path

import pytest

from tests.conftest import call, edit, environment
from tests.workflow.test_parents import family as family

LINE = r"\d+:\d\d  \d of 4 runs trained, \d of 2 measurements taken"
CALL = ("snakemake", "measurements", "--cores", "2", "--logger", "allmlp")


def in_a_terminal(clone: Path, *words: str) -> str:
    """All that the command writes, with carriage returns."""
    ours, theirs = pty.openpty()
    process = subprocess.Popen(words, cwd=clone, env=environment(clone), stdout=theirs, stderr=theirs)
    os.close(theirs)
    said = b""
    try:
        while part := os.read(ours, 4096):
            said += part
    except OSError as error:
        if error.errno != errno.EIO:  # so Linux says that nobody holds the other end any more
            raise
    os.close(ours)
    assert process.wait() == 0
    return said.decode()


@pytest.mark.slow
def test_a_dry_run_shows_what_snakemake_shows(family: Path) -> None:
    plain, ours = (call(family, *words, "-n").stdout for words in (CALL[:-2], CALL))
    assert "Job stats:" in ours
    assert _words(plain) == _words(ours)  # Snakemake lists files in any order


def test_the_plugin_starts_beside_another_state_of_the_package() -> None:
    modules = "[name for name in sys.modules if name.partition('.')[0] == 'allmlp']"
    words = [sys.executable, "-c", f"import sys, snakemake_logger_plugin_allmlp; print({modules})"]
    assert subprocess.run(words, capture_output=True, text=True, check=True).stdout == "[]\n"


def _words(said: str) -> list[str]:
    return sorted(
        re.sub(r"\[.* \d{4}\]", "", said[said.index("Job stats:") :]).replace(",", "").replace(";", "").split()
    )


@pytest.mark.slow
def test_a_log_has_few_lines_and_a_terminal_one_that_is_drawn_again(family: Path) -> None:
    said = call(family, *CALL).stderr
    lines = [line for line in said.splitlines() if re.match(LINE, line)]
    assert lines[-1].endswith("4 of 4 runs trained, 2 of 2 measurements taken")
    assert len(lines) < 10
    assert "Finished jobid" not in said
    assert "Nothing to be done" in call(family, *CALL).stderr

    for folder in ("work/measurements", "results/checkpoints"):
        for file in (family / folder).rglob("*.*"):
            file.unlink()
    drawn = in_a_terminal(family, *CALL).split("\r")
    assert len(drawn) > 5
    assert all(re.fullmatch(rf"\x1b\[K{LINE}.*\s*|\s*", one) for one in drawn if "runs trained" in one)
    assert "4 of 4 runs trained, 2 of 2 measurements taken" in drawn[-2] + drawn[-1]


@pytest.mark.slow
def test_a_failed_job_is_named_with_its_log(family: Path) -> None:
    edit(
        family,
        "src/allmlp/training/loop.py",
        "def learn(",
        "def learn(*_):\n    raise OSError('broken')\n\n\ndef _learn(",
    )
    failed = call(family, *CALL, ok=False)
    assert failed.returncode == 1
    assert "Error in rule train:" in failed.stderr
    assert "logs/train/copying-" in failed.stderr
    assert re.findall(LINE, failed.stderr)[-1].endswith("0 of 4 runs trained, 0 of 2 measurements taken")
