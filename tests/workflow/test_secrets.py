"""Keys and passwords are in no output of a command and in no file of a run, whatever a remote answers."""

import re
from collections.abc import Iterator
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from pathlib import Path
from threading import Thread

import pytest

from tests.conftest import call
from tests.workflow.test_remotes import set_up

PASSWORD, KEY, TOKEN = (f"{kind}{'0123' * 5}" for kind in ("password", "key", "hf_"))  # not literally in this file
HELD = ".dvc/config.local"  # where the user puts them
KEYS = {"access_key_id": "me", "secret_access_key": KEY}


class Echo(BaseHTTPRequestHandler):
    """Refuses every method, and sends back all that it was sent."""

    def send_error(self, *_: object) -> None:
        said = f"refused: {self.path} {self.headers.items()}".encode()
        self.send_response(403)
        self.send_header("X-Error-Message", str(self.headers.get("Authorization")))
        self.send_header("Content-Length", str(len(said)))
        self.end_headers()
        self.wfile.write(said if self.command != "HEAD" else b"")

    def log_message(self, *_: object) -> None:
        """Nothing."""


@pytest.fixture
def echo() -> Iterator[str]:
    """The address of such a server, without its scheme."""
    with ThreadingHTTPServer(("127.0.0.1", 0), Echo) as server:
        Thread(target=server.serve_forever, daemon=True).start()
        yield f"127.0.0.1:{server.server_port}"
        server.shutdown()


def holding(clone: Path) -> list[str]:
    """The files that hold a secret, apart from the user's own."""
    files = [path for path in clone.rglob("*") if path.is_file()]
    found = [path for path in files if any(secret.encode() in path.read_bytes() for secret in (PASSWORD, KEY, TOKEN))]
    return [name for path in found if (name := str(path.relative_to(clone))) != HELD]


@pytest.fixture
def trained(clone: Path) -> Path:
    """A clone with something to keep, as a run leaves it."""
    run = clone / "results/checkpoints/a-run"
    run.mkdir(parents=True)
    (run / "final.safetensors").write_bytes(b"weights")
    return clone


@pytest.mark.parametrize(
    ("options", "reason"),
    [
        ({"url": f"http://me:{PASSWORD}@ECHO/x"}, "failed to transfer"),
        ({"url": "http://ECHO/x", "auth": "basic", "user": "me", "password": PASSWORD}, "failed to transfer"),
        ({"url": "s3://bucket/x", "endpointurl": "http://ECHO", **KEYS}, "unexpected error"),
        ({"url": "s3://bucket/x", "endpointurl": f"http://me:{PASSWORD}@ECHO", **KEYS}, "unexpected error"),
    ],
    ids=lambda one: one["url"].partition(":")[0] if isinstance(one, dict) else "",
)
@pytest.mark.slow
def test_a_remote_that_refuses_is_named_without_its_secrets(
    trained: Path, echo: str, options: dict[str, str], reason: str
) -> None:
    set_up(trained, {name: value.replace("ECHO", echo) for name, value in options.items()})
    for words in (("keep", "--push", "a-run"), ("pin", "first")):
        done = call(trained, "allmlp", *words, ok=False, HF_TOKEN=TOKEN, AWS_MAX_ATTEMPTS="1")
        said = done.stdout + done.stderr
        assert done.returncode == 2, said
        assert not re.search(f"{PASSWORD}|{KEY}|{TOKEN}|Traceback", said)
        if words[0] == "keep":
            assert f"dvc push failed:\nERROR: {reason}" in said
    assert holding(trained) == []


@pytest.mark.slow
def test_the_token_of_the_hub_is_in_no_log(clone: Path, echo: str) -> None:
    (clone / "my.yaml").write_text(
        f"corpora: {{mine: {{source: hub, name: owner/name, revision: {'0a' * 20}, tokenizer: {{kind: bytes}}}}}}\n"
        "studies: {language: {corpus: mine}}\n"
    )
    env = {"HF_TOKEN": TOKEN, "HF_ENDPOINT": f"http://{echo}", "HF_HOME": str(clone / "work/hub")}
    done = call(clone, "allmlp", "tokenize", "mine", "--params", "my.yaml", ok=False, **env)
    assert done.returncode == 2
    assert "hub corpus owner/name" in done.stderr
    assert TOKEN not in done.stdout + done.stderr, "all of it is in logs/tokenize"
    assert holding(clone) == []
