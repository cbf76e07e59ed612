"""Remotes for real: one clone pushes and another pulls, by a folder, SSH, S3 and HTTP, with servers here."""

import os
import shlex
import shutil
import socket
import subprocess
import time
from collections.abc import Callable, Iterator
from contextlib import AbstractContextManager, contextmanager
from functools import partial
from getpass import getuser
from http.server import SimpleHTTPRequestHandler, ThreadingHTTPServer
from pathlib import Path
from threading import Thread
from typing import NamedTuple

import pytest

from tests.conftest import PROJECT, call, git
from tests.workflow.asking import contents

pytestmark = pytest.mark.slow


class Remote(NamedTuple):
    """Options of DVC's remote, for who pushes and for who pulls."""

    push: dict[str, str]
    pull: dict[str, str]


@contextmanager
def folder(place: Path) -> Iterator[Remote]:
    """A folder elsewhere."""
    options = {"url": str(place / "remote")}
    yield Remote(options, options)


@contextmanager
def http(place: Path) -> Iterator[Remote]:
    """A pushed folder behind a web server that can only be read."""
    pushed = {"url": str(place / "remote")}
    Path(pushed["url"]).mkdir()
    with ThreadingHTTPServer(("127.0.0.1", 0), partial(SimpleHTTPRequestHandler, directory=pushed["url"])) as server:
        Thread(target=server.serve_forever, daemon=True).start()
        yield Remote(pushed, {"url": f"http://127.0.0.1:{server.server_port}"})
        server.shutdown()


@contextmanager
def s3(place: Path) -> Iterator[Remote]:
    """An S3 server with a bucket."""
    pytest.importorskip("dvc_s3", reason="dvc-s3 is not installed")
    boto3 = pytest.importorskip("boto3", reason="boto3 is not installed")
    moto = pytest.importorskip("moto.server", reason="moto is not installed")
    server = moto.ThreadedMotoServer("127.0.0.1", port=0)
    server.start()
    endpoint = "http://{}:{}".format(*server.get_host_and_port())
    keys = {"access_key_id": "me", "secret_access_key": "secret"}
    named = {f"aws_{name}": key for name, key in keys.items()}
    boto3.client("s3", endpoint_url=endpoint, region_name="us-east-1", **named).create_bucket(Bucket="bucket")
    options = {"url": "s3://bucket/allmlp", "endpointurl": endpoint, "region": "us-east-1", **keys}
    yield Remote(options, options)
    server.stop()


@contextmanager
def ssh(place: Path) -> Iterator[Remote]:
    """Debian's sshd, with keys of the test's own."""
    pytest.importorskip("dvc_ssh", reason="dvc-ssh is not installed")
    if not (program := shutil.which("sshd", path=f"{os.environ['PATH']}:/usr/sbin")):
        pytest.skip("no sshd here: `apt-get install openssh-server`")
    if os.getuid() == 0:
        Path("/run/sshd").mkdir(exist_ok=True)  # sshd wants this empty folder, which only the system's service makes
    for name in ("host", "user"):
        subprocess.run(["ssh-keygen", "-q", "-t", "ed25519", "-N", "", "-f", place / name], check=True)
    with socket.create_server(("127.0.0.1", 0)) as free:
        port = free.getsockname()[1]
    (place / "sshd_config").write_text(
        f"ListenAddress 127.0.0.1:{port}\nHostKey {place}/host\nAuthorizedKeysFile {place}/user.pub\nPidFile none\n"
        "PasswordAuthentication no\nKbdInteractiveAuthentication no\nStrictModes no\nSubsystem sftp internal-sftp\n"
    )
    with (place / "sshd.log").open("w") as log:
        server = subprocess.Popen([program, "-D", "-e", "-f", place / "sshd_config"], stderr=log)
    await_port(port, server, place / "sshd.log")
    options = {"url": f"ssh://{getuser()}@127.0.0.1:{port}{place}/remote", "keyfile": str(place / "user")}
    yield Remote(options, options)
    server.terminate()
    server.wait()


def await_port(port: int, server: subprocess.Popen[bytes], log: Path) -> None:
    """Return when a server answers."""
    deadline = time.monotonic() + 30
    while True:
        try:
            socket.create_connection(("127.0.0.1", port)).close()
            return
        except OSError:
            assert server.poll() is None, log.read_text()
            assert time.monotonic() < deadline
            time.sleep(0.1)


def set_up(clone: Path, options: dict[str, str]) -> None:
    """Name a clone's remote, in the file that `dvc remote modify --local` writes."""
    lines = ["['remote \"local\"']", *(f"{option} = {value}" for option, value in options.items())]
    (clone / ".dvc/config.local").write_text("\n".join(lines))


def folders(clone: Path) -> list[str]:
    """The runs and tokens of which a clone has the bytes."""
    places = [path for kind in ("checkpoints", "tokens") for path in sorted((clone / "results" / kind).iterdir())]
    return [str(path.relative_to(clone)) for path in places if path.is_dir()]


@pytest.mark.parametrize("kind", [folder, http, s3, ssh])
def test_one_clone_pulls_what_another_pushed(
    finished: Path, tmp_path: Path, kind: Callable[[Path], AbstractContextManager[Remote]]
) -> None:
    shutil.rmtree(finished.parent / "allmlp-remote")
    other = tmp_path / "elsewhere" / "other"
    git(finished, "clone", "--quiet", str(finished), str(other))
    run, tokens = folders(finished)[0], folders(finished)[-1]
    with kind(tmp_path) as remote:
        set_up(finished, remote.push)
        call(finished, "dvc", "push", run, tokens)
        set_up(other, remote.pull)
        call(other, "dvc", "pull", run)
        assert folders(other) == [run]
        call(other, "dvc", "pull", run, tokens)
    assert folders(other) == [run, tokens]
    for name in folders(other):
        assert contents(other / name) == contents(finished / name)
    for clone in (finished, other):
        assert git(clone, "status", "--porcelain") == "", "git has no part in what names the remote"


def test_no_set_up_of_the_pages_writes_what_git_has(clone: Path) -> None:
    page = (PROJECT / "docs/states.md").read_text(encoding="utf-8")
    lines = [[line.split("  ")[0] for line in way.splitlines()] for way in page.split("\n\n")]
    ways = [[line for line in way if line.startswith("dvc remote")] for way in lines]
    assert len(list(filter(None, ways))) == 4
    for way in ways:
        (clone / ".dvc/config.local").unlink(missing_ok=True)
        for command in way:
            call(clone, *shlex.split(command))
        assert git(clone, "status", "--porcelain") == "", "keys would be shown to whoever clones"
