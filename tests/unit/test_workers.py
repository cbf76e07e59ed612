"""Work side by side in processes."""

import os
import signal
import subprocess
import sys
import time
from pathlib import Path

SLEEP = """
import sys, time
from pathlib import Path
from allmlp.common.workers import Work, run_all

def wait():
    Path(f"begun-{time.time_ns()}").touch()
    time.sleep(60)

run_all([Work([wait, wait, wait, wait])])
"""


def test_ctrl_c_ends_at_once_with_all_processes(tmp_path: Path) -> None:
    (tmp_path / "sleep.py").write_text(SLEEP)
    process = subprocess.Popen(
        [sys.executable, "sleep.py"], cwd=tmp_path, start_new_session=True, stderr=subprocess.PIPE, text=True,
        preexec_fn=lambda: signal.signal(signal.SIGINT, signal.SIG_DFL),  # a shell's `&` has it ignored
    )  # fmt: skip
    until = time.monotonic() + 30
    while not list(tmp_path.glob("begun-*")) and time.monotonic() < until:
        time.sleep(0.05)
    os.killpg(process.pid, signal.SIGINT)  # as a terminal does
    pressed = time.monotonic()
    _, said = process.communicate(timeout=30)
    assert time.monotonic() - pressed < 10
    assert process.returncode
    assert said.count("Traceback") <= 1, "no worker speaks"
