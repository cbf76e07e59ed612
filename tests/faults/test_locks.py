"""Locks against real processes: twins, kills, forks and a folder that is cleared away."""

import json
import os
import shutil
import signal
import socket
import subprocess
import sys
import threading
import time
from concurrent.futures import ThreadPoolExecutor
from datetime import UTC, datetime
from pathlib import Path

import pytest

from allmlp.common.errors import UserError
from allmlp.common.locks import hold, take
from allmlp.data.corpora import identity

HOLD = """
import sys
from pathlib import Path
from allmlp.common.errors import UserError
from allmlp.common.locks import hold
try:
    with hold(Path(sys.argv[1]), "run mlp"):
        print("held", flush=True)
        sys.stdin.read()
except UserError as error:
    print(error, flush=True)
"""


@pytest.fixture
def start(tmp_path):
    """Start holders of `tmp_path/work/lock` that keep it until their stdin closes; none outlives the test."""
    started: list[subprocess.Popen[str]] = []

    def start_one() -> subprocess.Popen[str]:
        command = [sys.executable, "-c", HOLD, str(tmp_path / "work" / "lock")]
        started.append(subprocess.Popen(command, stdin=subprocess.PIPE, stdout=subprocess.PIPE, text=True))
        return started[-1]

    yield start_one
    for process in started:
        process.kill()
        process.communicate()


@pytest.fixture
def path(tmp_path) -> Path:
    return tmp_path / "work" / "lock"


def test_a_second_process_gets_the_holder_its_host_and_its_time(start, path):
    holder = start()
    assert holder.stdout.readline() == "held\n"
    with pytest.raises(UserError) as error, hold(path, "run mlp"):
        pass
    told = json.loads(path.read_text())
    assert (told["pid"], told["host"]) == (holder.pid, socket.gethostname())
    assert abs((datetime.now(UTC) - datetime.fromisoformat(told["since"])).total_seconds()) < 60
    assert sys.executable in told["command"]
    assert str(error.value) == (
        f"run mlp is already being worked on by pid {holder.pid} on {told['host']} since {told['since']}: "
        "wait for it, or stop it."
    )


def test_of_many_at_once_exactly_one_wins(start):
    lines = [process.stdout.readline() for process in [start() for _ in range(12)]]
    assert lines.count("held\n") == 1
    told = [line for line in lines if line != "held\n"]
    assert all("is already being worked on by pid" in line for line in told)
    assert len(set(told)) == 1, "all name the one winner"


@pytest.mark.parametrize("end", [signal.SIGKILL, signal.SIGTERM])
def test_a_killed_holder_leaves_nothing_behind(start, path, end):
    holder = start()
    assert holder.stdout.readline() == "held\n"
    holder.send_signal(end)
    holder.wait()
    assert json.loads(path.read_text())["pid"] == holder.pid  # stale, and overwritten by the next
    with hold(path, "run mlp"):
        assert json.loads(path.read_text())["pid"] == os.getpid()
    assert path.read_text() == ""


def test_a_dead_holder_is_never_named(start, path):
    """Between the next holder's lock and its name in the file, the file still names the dead one."""
    dead = start()
    assert dead.stdout.readline() == "held\n"
    dead.kill()
    dead.wait()
    nameless = take(path)
    assert nameless
    with pytest.raises(UserError, match="worked on by another process"), hold(path, "run mlp"):
        pass
    nameless.release()


def test_a_holder_on_another_host_is_named(path):
    lock = take(path)
    assert lock
    path.write_text(json.dumps({"pid": os.getpid(), "host": "elsewhere", "since": "2026-01-01T00:00:00+00:00"}))
    with pytest.raises(UserError, match="on elsewhere since 2026"), hold(path, "run mlp"):
        pass
    lock.release()


@pytest.mark.parametrize("text", ["", "{", "[]", "7", '{"pid": 1}', '{"pid": "x", "host": 3, "since": 4'])
def test_any_content_is_overwritten(path, text):
    path.parent.mkdir()
    path.write_text(text * 400)
    with hold(path, "run mlp"):
        assert json.loads(path.read_text())["pid"] == os.getpid()


def test_the_lock_is_free_after_an_error_and_taken_by_an_outer_block(path):
    with pytest.raises(RuntimeError, match="training failed"), hold(path, "run mlp"):
        raise RuntimeError("training failed")
    with (
        hold(path, "run mlp"),
        pytest.raises(UserError, match=f"by pid {os.getpid()} on"),
        hold(path, "run mlp"),
    ):
        pass


def test_a_forked_child_does_not_keep_its_killed_parents_lock(path):
    """The data workers of a killed training may outlive it by seconds."""
    script = """
import os, sys, time
from pathlib import Path
from allmlp.common.locks import hold
with hold(Path(sys.argv[1]), "run mlp"):
    if os.fork() == 0:
        print(os.getpid(), flush=True)
    time.sleep(60)
"""
    command = [sys.executable, "-c", script, str(path)]
    with subprocess.Popen(command, stdout=subprocess.PIPE, text=True) as parent:
        child = int(parent.stdout.readline())
        parent.kill()
        parent.wait()
        try:
            assert take(path)
        finally:
            os.kill(child, signal.SIGKILL)


def test_a_forked_child_that_leaves_the_block_does_not_free_it(path):
    block = hold(path, "run mlp")
    block.__enter__()
    child = os.fork()
    if child == 0:
        block.__exit__(None, None, None)
        os._exit(0)
    assert os.waitpid(child, 0)[1] == 0
    assert json.loads(path.read_text())["pid"] == os.getpid()
    assert not take(path)
    block.__exit__(None, None, None)


def test_a_folder_cleared_away_while_it_is_locked_does_not_let_two_in(path):
    """A finished run's folder is removed: who had opened the old file must not believe to have the new."""
    inside, most = 0, 0
    guard = threading.Lock()

    def work() -> None:
        nonlocal inside, most
        for _ in range(60):
            if lock := take(path):
                with guard:
                    inside += 1
                    most = max(most, inside)
                time.sleep(0.0005)
                with guard:
                    inside -= 1
                shutil.rmtree(path.parent, ignore_errors=True)
                lock.release()

    with ThreadPoolExecutor(4) as pool:
        for worker in [pool.submit(work) for _ in range(4)]:
            worker.result()
    assert most == 1


def test_a_lock_that_cannot_be_made_names_its_file(tmp_path):
    (tmp_path / "work").write_text("a file where the folder should be")
    with (
        pytest.raises(UserError, match=r"work/lock: File exists: locks need"),
        hold(tmp_path / "work" / "lock", "run mlp"),
    ):
        pass


RECORD = """
import sys
from pathlib import Path
from allmlp.data.corpora import identity
from allmlp.data.corpora.spec import CorpusSpec
spec = CorpusSpec.model_validate({"source": "stories", "documents": 1, "seed": 0})
for number in range(40):
    identity.lock(f"{sys.argv[1]}-{number}", spec, Path.cwd(), {"sha256": {}})
"""


def test_corpora_that_are_tokenized_side_by_side_all_stay_in_their_lock(tmp_path):
    """Snakemake runs two at once: neither may write the file that the other has read."""
    workers = [subprocess.Popen([sys.executable, "-c", RECORD, name], cwd=tmp_path) for name in ("one", "two")]
    assert [worker.wait() for worker in workers] == [0, 0]
    expected = {f"{name}-{number}" for name in ("one", "two") for number in range(40)}
    assert set(identity.read_lock(tmp_path)) == expected
