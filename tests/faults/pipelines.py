"""The whole pipeline: Snakemake and DVC are killed, without a HOME, in a place with blanks and other letters."""

import os
import random
import re
import shutil
import signal
import subprocess
import tempfile
import time
from collections.abc import Iterator
from pathlib import Path

from tests.conftest import call, environment, git, small_clone
from tests.faults.subject import FILES
from tests.faults.trials import Row

STRANGE = "my föld€r 'of' $HOME; 部屋"
# a home that nobody can make; Snakemake wants a cache before it reads the Snakefile
HOMELESS = {"HOME": "/proc/nobody", "XDG_CACHE_HOME": tempfile.gettempdir()}
MAKE, REPORT = ("snakemake", "--cores", "2"), ("dvc", "repro")
TIMED = ("measurements/copying/cost/", "selected.json", "report.html", "tables/runs.csv")  # they hold durations
TIMED_DIGEST = re.compile(rb'^ *"(plan|digest)": .*$', re.MULTILINE)
KIND = "SIGKILL, no HOME, blanks and other letters in the path"


def sources(folder: Path) -> Path:
    """A clone with the subject's parameters and text."""
    clone = small_clone(folder)
    shutil.rmtree(clone / "config")
    for name, content in FILES.items():
        (clone / name).parent.mkdir(parents=True, exist_ok=True)
        (clone / name).write_text(content, encoding="utf-8")
    git(clone, "add", "--all")
    git(clone, "commit", "--quiet", "--message=the subject")
    return clone


def rows(folder: Path, kills: int) -> Iterator[Row]:
    """So many kills of Snakemake, then as many of DVC, each followed by the same command."""
    clone = sources(folder / STRANGE / "clone")
    began = time.monotonic()
    call(clone, *MAKE, **HOMELESS)
    took, made = time.monotonic() - began, results(clone)
    for seed in range(kills):
        for name in ("results", "work"):
            shutil.rmtree(clone / name)
        yield _killed(clone, MAKE, seed, took, {name: of for name, of in made.items() if not name.startswith(TIMED)})
    made = results(clone)
    for seed in range(kills):
        for name in ("claims.json", "figures", "tables", "report.html"):
            path = clone / "results" / name
            shutil.rmtree(path) if path.is_dir() else path.unlink()
        yield _killed(clone, REPORT, seed, took, made)


def results(clone: Path) -> dict[str, bytes]:
    """Every file of the results, by its name there, without digests that cover durations: the plan's, the exhibits'."""
    place = clone / "results"
    found = {str(path.relative_to(place)): path.read_bytes() for path in place.rglob("*") if path.is_file()}
    return {name: TIMED_DIGEST.sub(b"", of) if name.endswith(".json") else of for name, of in found.items()}


def _killed(clone: Path, words: tuple[str, ...], seed: int, most_s: float, expected: dict[str, bytes]) -> Row:
    """Kill the command, alone or with its jobs, at a moment of its work; then the same command must make everything."""
    draw = random.Random(f"{words} {seed}")
    process = subprocess.Popen(
        words, cwd=clone, env={**environment(clone), **HOMELESS}, stdout=subprocess.DEVNULL, stderr=subprocess.DEVNULL,
        start_new_session=True,
    )  # fmt: skip
    time.sleep(draw.uniform(0, most_s))
    how = "unharmed" if process.poll() is not None else "killed"
    (os.kill if draw.random() < 0.5 else os.killpg)(process.pid, signal.SIGKILL) if how == "killed" else None
    process.wait()
    while at_work(clone):  # jobs that outlived it; a twin of one of them would be refused
        time.sleep(0.1)
    if words == REPORT:  # DVC empties both before it writes them; the ways out are those of docs/graph.md
        if not (clone / "dvc.lock").read_text():
            git(clone, "checkout", "--", "dvc.lock")
        if (locks := clone / ".dvc/tmp/rwlock").exists() and not locks.read_text():
            locks.unlink()
    again = call(clone, *words, ok=False, **HOMELESS)
    now = results(clone)
    differs = [name for name in expected if now.get(name) != expected[name]]
    new = [name for name in now.keys() - expected.keys() if not name.startswith(TIMED)]
    lost = f"status {again.returncode}, other files: {differs}, new files: {new}\n{again.stdout}\n{again.stderr}"
    return Row(KIND, words[0], seed, how, lost if again.returncode or differs or new else "")


def at_work(clone: Path) -> list[int]:
    """Processes that work in a clone."""
    found = []
    for folder in Path("/proc").glob("[0-9]*"):
        try:
            state = (folder / "stat").read_text().rsplit(")", 1)[1].split()[0]
            if state != "Z" and (folder / "cwd").resolve().is_relative_to(clone):
                found.append(int(folder.name))
        except OSError:
            continue
    return found
