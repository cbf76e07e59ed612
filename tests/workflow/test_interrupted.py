"""Ctrl-C on Snakemake: the jobs end, a line says how to go on, and the same command goes on."""

import os
import shutil
import signal
import subprocess
import time
from collections.abc import Callable
from pathlib import Path

import pytest

from tests.conftest import call, environment, only, small_clone
from tests.faults.pipelines import at_work

ADVANCE = ("--scale", "smoke", "--minutes", "5", "--cores", "1", "--dirty")


@pytest.mark.slow
@pytest.mark.parametrize("send", [os.killpg, os.kill], ids=["in a terminal", "to Snakemake alone"])
def test_an_interrupted_snakemake_ends_with_a_line_and_goes_on(clone: Path, send: Callable[[int, int], None]) -> None:
    only(clone, "quadrature")
    words = ("snakemake", "--cores", "1", "measurements")
    process = subprocess.Popen(
        words, cwd=clone, env=environment(clone), stdout=subprocess.PIPE, stderr=subprocess.STDOUT, text=True,
        start_new_session=True,
    )  # fmt: skip
    assert process.stdout
    before = []
    while not before or "Reason: " not in before[-1]:  # a job has begun
        before.append(process.stdout.readline())
        assert before[-1], "".join(before)
    send(process.pid, signal.SIGINT)
    said, _ = process.communicate(timeout=60)
    assert said.splitlines()[-1] == "stopping; the same command goes on where it was", "".join(before) + said
    assert "Traceback" not in said
    assert "rror" not in said
    assert process.returncode == 130
    left = [Path(f"/proc/{pid}/cmdline").read_bytes() for pid in at_work(clone)]
    assert not left, "nothing works on in the background"
    assert "going on where it was" in call(clone, *words).stderr


@pytest.mark.slow
@pytest.mark.parametrize(
    "words", [("snakemake", "--cores", "1", "measurements"), ("allmlp", "advance", *ADVANCE)],
    ids=lambda words: words[0],
)  # fmt: skip
@pytest.mark.parametrize("elsewhere", [False, True], ids=["here", "in another clone"])
def test_the_folder_of_a_killed_snakemake_is_removed_by_the_next(
    clone: Path, words: tuple[str, ...], elsewhere: bool
) -> None:
    only(clone, "quadrature")
    temporary = clone.parent / "temporary"
    temporary.mkdir()
    process = subprocess.Popen(
        words, cwd=clone, env={**environment(clone), "TMPDIR": str(temporary)}, stdout=subprocess.DEVNULL,
        stderr=subprocess.DEVNULL, start_new_session=True,
    )  # fmt: skip
    while not (left := [holder.parent for holder in temporary.glob("snakemake*/allmlp.lock")]):
        assert process.poll() is None
        time.sleep(0.05)
    process.kill()
    process.wait()
    if words[0] == "allmlp":  # its Snakemake has a session of its own
        os.kill(int((clone / "work/advance/snakemake.pid").read_text()), signal.SIGKILL)
    while at_work(clone):  # its jobs end by themselves; until then their runs are at work
        time.sleep(0.05)
    if elsewhere:
        other = small_clone(clone.parent / "other")
        only(other, "quadrature")
        call(other, "snakemake", "-n", "--quiet", "all", TMPDIR=str(temporary))
    else:
        call(clone, *words, TMPDIR=str(temporary))
    assert not [folder for folder in left if folder.exists()]


@pytest.mark.slow
@pytest.mark.parametrize("words", [("allmlp", "report"), ("dvc", "repro"), ("snakemake", "--cores", "2")], ids=" ".join)
def test_ctrl_c_while_figures_are_drawn_ends_soon_and_quietly(fresh: Path, words: tuple[str, ...]) -> None:
    call(fresh, "allmlp", "report")
    report = (fresh / "results/report.html").read_bytes()
    shutil.rmtree(fresh / "results/figures")
    (fresh / "results/claims.json").unlink()  # otherwise Snakemake finds nothing to do
    process = subprocess.Popen(
        words, cwd=fresh, env=environment(fresh), stdout=subprocess.PIPE, stderr=subprocess.STDOUT, text=True,
        start_new_session=True,
        preexec_fn=lambda: signal.signal(signal.SIGINT, signal.SIG_DFL),  # a shell's `&` has it ignored
    )  # fmt: skip
    drawn = fresh / "results/figures"
    until = time.monotonic() + 120
    while not list(drawn.rglob("*.svg")) and time.monotonic() < until and process.poll() is None:
        time.sleep(0.05)
    assert list(drawn.rglob("*.svg")), process.communicate()[0]
    os.killpg(process.pid, signal.SIGINT)
    before = time.monotonic()
    said, _ = process.communicate(timeout=60)
    assert time.monotonic() - before < 8
    assert process.returncode
    assert "Traceback" not in said
    assert "Exception" not in said
    assert not at_work(fresh)
    call(fresh, *words)
    assert (fresh / "results/report.html").read_bytes() == report
