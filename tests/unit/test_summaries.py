"""Summaries from an OpenAI-compatible endpoint, against a local server that speaks the protocol, and fails."""

import json
import threading
import time
from collections.abc import Iterator
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from pathlib import Path
from typing import Any

import pytest

from allmlp.common.errors import UserError
from allmlp.data.corpora.identity import describe_corpus
from allmlp.data.corpora.pairs import endpoint
from allmlp.data.corpora.pairs.summaries import FOLDER, PROMPT, SYSTEM
from allmlp.data.corpora.spec import CorpusSpec, link_corpora

KEY = "sk-nobody-may-read-this"
TEXTS = 7


class Server(ThreadingHTTPServer):
    """Answers a text with its first three words; before that, with the next of `faults`, whatever is asked."""

    def __init__(self) -> None:
        super().__init__(("127.0.0.1", 0), Handler)
        self.faults: list[Any] = []
        self.asked: list[dict] = []
        self.keys: list[str | None] = []
        self.times: list[float] = []
        self.lock = threading.Lock()


class Handler(BaseHTTPRequestHandler):
    """POST /v1/chat/completions."""

    server: Server

    def do_POST(self) -> None:
        body = json.loads(self.rfile.read(int(self.headers["Content-Length"])))
        with self.server.lock:
            self.server.times.append(time.monotonic())
            self.server.asked.append({"path": self.path, **body})
            self.server.keys.append(self.headers.get("Authorization"))
            fault = self.server.faults.pop(0) if self.server.faults else None
        if fault == "cut":
            self.close_connection = True
            return
        status, headers, said = fault or (200, {}, None)
        if said is None:
            text = body["messages"][1]["content"].removeprefix(PROMPT.removesuffix("{text}"))
            said = json.dumps({"choices": [{"message": {"content": f" {' '.join(text.split()[:3])}.\n"}}]})
        self.send_response(status)
        for name, value in {**headers, "Content-Length": str(len(said.encode()))}.items():
            self.send_header(name, value)
        self.end_headers()
        self.wfile.write(said.encode())

    def log_message(self, *_: object) -> None:
        """Nothing."""


@pytest.fixture
def server(monkeypatch: pytest.MonkeyPatch) -> Iterator[Server]:
    monkeypatch.setattr(endpoint, "FIRST_PAUSE_S", 0.01)
    monkeypatch.setenv("MY_KEY", KEY)
    monkeypatch.setenv("no_proxy", "127.0.0.1")
    made = Server()
    threading.Thread(target=made.serve_forever, kwargs={"poll_interval": 0.01}, daemon=True).start()
    yield made
    made.shutdown()
    made.server_close()


def spec(server: Server, **keys: object) -> CorpusSpec:
    entry = {
        "source": "summaries",
        "texts_of": "stories",
        "base_url": f"http://127.0.0.1:{server.server_address[1]}/v1/",
        "model": "tiny",
        "tokenizer_of": "stories",
        "requests_per_minute": 60_000.0,
        "key_variable": "MY_KEY",
        "parallel": 1,
        **keys,
    }
    stories = {"source": "stories", "documents": TEXTS, "tokenizer": {"kind": "bytes"}}
    return link_corpora({"stories": CorpusSpec.model_validate(stories), "mine": CorpusSpec.model_validate(entry)})[
        "mine"
    ]


def kept(root: Path) -> list[str]:
    (file,) = (root / FOLDER).glob("*.jsonl")
    return file.read_text(encoding="utf-8").splitlines()


def test_each_summary_is_requested_once_with_the_papers_prompt(server: Server, tmp_path: Path) -> None:
    pairs = list(spec(server).pairs(tmp_path))
    assert len(pairs) == TEXTS
    assert all(query == " ".join(text.split()[:3]) + "." for query, text in pairs)
    assert all(one["path"] == "/v1/chat/completions" and one["model"] == "tiny" for one in server.asked)
    first = server.asked[0]["messages"]
    assert first[0] == {"role": "system", "content": SYSTEM}
    assert first[1]["content"].endswith(pairs[0].text)
    assert list(spec(server).pairs(tmp_path)) == pairs
    assert len(server.asked) == TEXTS, "what is kept is not asked for again"


def test_a_killed_call_goes_on_where_it_was(server: Server, tmp_path: Path) -> None:
    stopped = spec(server).pairs(tmp_path)
    first = [next(stopped) for _ in range(3)]
    stopped.close()  # type: ignore[attr-defined]
    (file,) = (tmp_path / FOLDER).glob("*.jsonl")
    file.write_bytes(file.read_bytes()[:-10])  # the kill came in the middle of a line
    pairs = list(spec(server).pairs(tmp_path))
    assert pairs[:3] == first
    assert len(pairs) == len(kept(tmp_path)) == TEXTS
    assert len(server.asked) == TEXTS + 1
    file.write_text("{}\n")
    with pytest.raises(UserError, match=r"\.jsonl:1: damaged .* Remove this line"):
        list(spec(server).pairs(tmp_path))


BUSY = (429, {"Retry-After": "0.02"}, "busy")


@pytest.mark.parametrize(
    "faults",
    [
        [BUSY] * 5,
        [(500, {}, "oops"), (503, {"Retry-After": "Wed, 21 Oct 2026 07:28:00 GMT"}, ""), "cut"],
        [(200, {}, "no JSON"), (200, {}, '{"choices": []}'), (200, {}, "[]")],
    ],
)
def test_a_temporary_fault_is_retried(server: Server, tmp_path: Path, faults: list) -> None:
    server.faults = list(faults)
    assert len(list(spec(server).pairs(tmp_path))) == TEXTS
    assert len(server.asked) == TEXTS + len(faults)


def test_an_endpoint_that_stays_busy_is_said_and_what_was_answered_is_kept(server: Server, tmp_path: Path) -> None:
    asking = spec(server).pairs(tmp_path)
    next(asking)
    server.faults = [BUSY] * endpoint.ATTEMPTS
    with pytest.raises(UserError, match=r"status 429 \(busy\), 6 times .* What was answered so far is kept"):
        next(asking)
    assert len(kept(tmp_path)) == 1
    assert len(list(spec(server).pairs(tmp_path))) == TEXTS


def test_pauses_grow_and_keep_to_what_the_server_asks(server: Server, tmp_path: Path) -> None:
    server.faults = [(503, {}, ""), (429, {"Retry-After": "0.3"}, ""), (503, {}, "")]
    next(spec(server).pairs(tmp_path))
    pauses = [after - before for before, after in zip(server.times, server.times[1:], strict=False)]
    assert pauses[0] >= 0.01
    assert pauses[1] >= 0.3
    assert pauses[2] >= 0.04


def test_requests_keep_to_their_rate_whatever_is_under_way(server: Server, tmp_path: Path) -> None:
    began = time.monotonic()
    list(spec(server, requests_per_minute=1200.0, parallel=4).pairs(tmp_path))
    assert time.monotonic() - began >= (TEXTS - 1) * 0.05
    assert len(server.asked) == TEXTS


def test_the_key_is_sent_and_nowhere_else(server: Server, tmp_path: Path, capfd: pytest.CaptureFixture[str]) -> None:
    list(spec(server).pairs(tmp_path))
    assert set(server.keys) == {f"Bearer {KEY}"}
    refused = (401, {}, f"Incorrect API key provided: {KEY}")
    server.faults = [refused]
    with pytest.raises(UserError, match=r"status 401 \(Incorrect API key provided: \.\.\.\)\. Correct") as error:
        list(spec(server, max_tokens=9).pairs(tmp_path))
    assert len(server.asked) == TEXTS + 1, "a refusal is not asked again"
    written = b"".join(path.read_bytes() for path in tmp_path.rglob("*") if path.is_file())
    said = "".join(capfd.readouterr()) + repr(error.value) + str(error.getrepr(showlocals=False))
    assert KEY.encode() not in written
    assert KEY not in said
    assert KEY not in json.dumps(describe_corpus(spec(server)))
    server.faults = [(401, {}, "x" * 195 + KEY)]
    with pytest.raises(UserError, match=r"x\.\.\.\)\. Correct"):
        list(spec(server, max_tokens=8).pairs(tmp_path))


def test_a_redirect_does_not_carry_the_key_away(server: Server, tmp_path: Path) -> None:
    elsewhere = Server()
    threading.Thread(target=elsewhere.serve_forever, daemon=True).start()
    server.faults = [(302, {"Location": f"http://127.0.0.1:{elsewhere.server_address[1]}/"}, "")]
    with pytest.raises(UserError, match="status 302"):
        list(spec(server).pairs(tmp_path))
    assert elsewhere.keys == []
    elsewhere.shutdown()
    elsewhere.server_close()


def test_a_key_that_is_not_set_and_an_endpoint_that_is_not_there_are_reported(server: Server, tmp_path: Path) -> None:
    with pytest.raises(UserError, match="key_variable: the environment has no NO_KEY"):
        list(spec(server, key_variable="NO_KEY").pairs(tmp_path))
    with pytest.raises(UserError, match=r"no answer .* 6 times"):
        list(spec(server, base_url="http://127.0.0.1:9/v1").pairs(tmp_path))
    with pytest.raises(ValueError, match=r"lacks \{text\}"):
        spec(server, prompt="Summarise.")


def test_where_the_endpoint_is_and_how_fast_it_may_be_asked_is_no_identity(server: Server) -> None:
    here = describe_corpus(spec(server))
    assert here == describe_corpus(
        spec(server, base_url="https://other/v1", key_variable=None, requests_per_minute=1.0)
    )
    assert here != describe_corpus(spec(server, model="other"))
    assert here != describe_corpus(spec(server, prompt="Say in a word: {text}"))
