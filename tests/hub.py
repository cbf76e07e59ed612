"""A server that speaks the Hub's protocol over HTTP, as far as `datasets` asks for it, with faults on request.

Repository information, the tree, information on paths, and files by ranges with their ETag. HF_ENDPOINT points to it.
"""

import gzip
import hashlib
import io
import json
import threading
from collections.abc import Iterator
from typing import Any

import flask
import pyarrow as pa
import pyarrow.parquet as pq
from werkzeug.serving import WSGIRequestHandler, make_server

REVISION = "0123456789abcdef0123456789abcdef01234567"
KINDS = {"owner/gz": ".json.gz", "owner/pq": ".parquet"}  # data sets and their files
README = """---
configs:
- config_name: some
  data_files:
  - {split: train, path: "some/*"}
---
"""


def files(name: str, shards: list[list[str]]) -> dict[str, bytes]:
    """The files of a data set: a .json.gz or .parquet file per shard of texts, as its name says."""
    found = {"README.md": README.encode()}
    for number, texts in enumerate(shards):
        found[f"some/part-{number:05d}{KINDS[name]}"] = _file(name, texts)
    return found


def _file(name: str, texts: list[str]) -> bytes:
    if KINDS[name] == ".json.gz":
        lines = (json.dumps({"text": text, "url": f"u{place}"}) + "\n" for place, text in enumerate(texts))
        return gzip.compress("".join(lines).encode(), mtime=0)
    stream = io.BytesIO()
    pq.write_table(pa.table({"text": texts}), stream, row_group_size=500)
    return stream.getvalue()


class Hub:
    """One data set of one revision, served by a thread. `asked`: method, path and range of each request.

    `cut`: names of files whose next transfer ends in the middle. `held`: names of files that wait for `release`.
    `files` may be changed while it runs.
    """

    def __init__(self, name: str, files: dict[str, bytes]) -> None:
        self.name, self.files, self.cut, self.measurements_by_run = name, files, list[str](), list[str]()
        self.asked: list[tuple[str, str, str | None]] = []
        self.release = threading.Event()
        app = flask.Flask(__name__)
        app.before_request(self._note)
        api = f"/api/datasets/{name}"
        app.get(f"{api}/revision/{REVISION}")(self._information)
        app.get(f"{api}/tree/{REVISION}", defaults={"folder": ""})(self._tree)
        app.get(f"{api}/tree/{REVISION}/<path:folder>")(self._tree)
        app.post(f"{api}/paths-info/{REVISION}")(self._paths)
        app.get(f"/datasets/{name}/resolve/{REVISION}/<path:path>")(self._resolve)
        app.register_error_handler(404, self._missing)
        self._server = make_server("127.0.0.1", 0, app, threaded=True, request_handler=_Quiet)
        self.endpoint = f"http://127.0.0.1:{self._server.server_port}"

    def __enter__(self) -> "Hub":
        threading.Thread(target=self._server.serve_forever, daemon=True).start()
        return self

    def __exit__(self, *_: object) -> None:
        self.release.set()
        self._server.shutdown()

    def transfers(self, name: str) -> list[str | None]:
        """The ranges that were asked for of a file."""
        return [ranges for method, path, ranges in self.asked if method == "GET" and path.endswith(f"/{name}")]

    def _note(self) -> None:
        asked = flask.request
        self.asked.append((asked.method, asked.path, asked.headers.get("Range")))

    def _missing(self, _: Exception) -> Any:
        return {"error": "Entry not found"}, 404, {"X-Error-Code": "EntryNotFound"}

    def _information(self) -> Any:
        siblings = [{"rfilename": name} for name in self.files]
        return {"id": self.name, "sha": REVISION, "private": False, "siblings": siblings, "tags": []}

    def _entry(self, path: str) -> dict[str, Any] | None:
        if path in self.files:
            content = self.files[path]
            digest = hashlib.sha256(content).hexdigest()
            lfs = {"oid": digest, "size": len(content), "pointerSize": 134}
            return {"type": "file", "oid": digest[:40], "size": len(content), "path": path, "lfs": lfs}
        if any(name.startswith(f"{path}/") for name in self.files):
            return {"type": "directory", "oid": "0" * 40, "size": 0, "path": path}
        return None

    def _tree(self, folder: str) -> Any:
        begin = f"{folder}/" if folder else ""
        below = [name.removeprefix(begin).split("/") for name in self.files if name.startswith(begin)]
        if not below:
            flask.abort(404)
        deep = flask.request.args.get("recursive", "").lower() == "true"
        upto = [range(1, len(parts) + 1) if deep else [1] for parts in below]
        paths = dict.fromkeys(begin + "/".join(parts[:n]) for parts, ns in zip(below, upto, strict=True) for n in ns)
        return [self._entry(path) for path in paths]

    def _paths(self) -> Any:
        asked = flask.request.get_json(silent=True) or {"paths": flask.request.form.getlist("paths")}
        return [entry for path in asked["paths"] if (entry := self._entry(path))]

    def _resolve(self, path: str) -> Any:
        if path not in self.files:
            flask.abort(404)
        if path in self.measurements_by_run and flask.request.method == "GET":
            self.release.wait()
        content = self.files[path]
        answer = flask.Response(content, mimetype="application/octet-stream")
        answer.set_etag(hashlib.sha256(content).hexdigest())
        answer.headers["X-Repo-Commit"] = REVISION
        answer.accept_ranges = "bytes"
        answer.make_conditional(flask.request, accept_ranges=True, complete_length=len(content))
        if path in self.cut and flask.request.method == "GET":
            self.cut.remove(path)
            whole = answer.get_data()
            answer.headers["Content-Length"] = str(len(whole))
            answer.response = _half(whole)
        return answer


def _half(content: bytes) -> Iterator[bytes]:
    """The first half; then the connection ends."""
    yield content[: len(content) // 2]
    raise ConnectionResetError("cut on request")


class _Quiet(WSGIRequestHandler):
    def log(self, *_: object) -> None:
        """Nothing: neither requests nor the cuts."""
