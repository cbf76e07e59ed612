"""Images in `.npz` archives, which lie here or are fetched from a server that fails in every way."""

import hashlib
import shutil
import threading
from collections.abc import Iterator
from functools import partial
from http.server import SimpleHTTPRequestHandler, ThreadingHTTPServer
from pathlib import Path

import numpy as np
import pytest

from allmlp.data.corpora.images import fetching
from allmlp.data.corpora.images.npz import NpzCorpus
from tests.pictures import SIZE, parquet, pictures, png, prepared, refused


def test_an_archive_that_lies_here_gives_the_images_of_a_parquet_file(tmp_path: Path) -> None:
    pixels, labels = pictures(60)
    for name, of in (("train", slice(40)), ("test", slice(40, 60))):
        np.savez(tmp_path / f"{name}.npz", pictures=pixels[of], classes=labels[of])
        parquet(tmp_path / f"{name}.parquet", [png(x) for x in pixels[of]], labels[of].tolist())
    named = {"image": "pictures", "label": "classes"}
    for test_files in (None, "test"):
        files = {
            ending: {"files": f"train.{ending}", **({"test_files": f"{test_files}.{ending}"} if test_files else {})}
            for ending in ("npz", "parquet")
        }
        found = []
        for ending, more in (("npz", named), ("parquet", {})):
            file = prepared(tmp_path, source="images", **files[ending], **more)
            found.append([*map(np.array, (*file.train, *file.test))])
            shutil.rmtree(tmp_path / "results")
        assert all(np.array_equal(a, b) for a, b in zip(*found, strict=True))
    said = refused(tmp_path, source="images", files="train.npz")
    assert "no array 'image'; it has 'pictures', 'classes'. Correct `image:`" in said


def test_grey_images_of_an_archive_may_have_no_axis_of_channels(tmp_path: Path) -> None:
    pixels, labels = pictures(40)
    found = []
    for name, grey in (("flat", pixels[..., 0]), ("whole", pixels[..., :1])):
        np.savez(tmp_path / f"{name}.npz", image=grey, label=labels)
        size = [*pixels.shape[1:3], 1]
        found.append(np.array(prepared(tmp_path, source="images", files=f"{name}.npz", size=size).train[0]))
        shutil.rmtree(tmp_path / "results")
    assert found[0].shape[1:] == (*pixels.shape[1:3], 1)
    assert np.array_equal(*found)


class Server(SimpleHTTPRequestHandler):
    """Serves files with ranges; the first answers of `broken` end after half of what they promise."""

    broken, ranges, asked = 0, True, []  # type: ignore[var-annotated]

    def do_GET(self) -> None:
        data = Path(self.translate_path(self.path))
        if not data.is_file():
            return self.send_error(404)
        content, wanted = data.read_bytes(), self.headers.get("Range")
        type(self).asked.append(wanted)
        start = int(wanted.removeprefix("bytes=").rstrip("-")) if wanted and self.ranges else 0
        if start >= len(content):
            return self.send_error(416)
        self.send_response(206 if start else 200)
        self.send_header("Content-Length", str(len(content) - start))
        self.end_headers()
        rest = content[start:]
        if type(self).broken:
            type(self).broken -= 1
            rest = rest[: len(rest) // 2]
        self.wfile.write(rest)
        return None

    def log_message(self, *words: object) -> None:
        """Say nothing: the requests are not the test's own output."""


@pytest.fixture
def server(tmp_path: Path) -> Iterator[str]:
    Server.broken, Server.ranges, Server.asked = 0, True, []
    (tmp_path / "web").mkdir()
    with ThreadingHTTPServer(("127.0.0.1", 0), partial(Server, directory=str(tmp_path / "web"))) as http:
        thread = threading.Thread(target=http.serve_forever, daemon=True)
        thread.start()
        yield f"http://127.0.0.1:{http.server_address[1]}"
        http.shutdown()


def archive(folder: Path, name: str, pixels: np.ndarray, labels: np.ndarray, compress: bool = False) -> str:
    """Write an .npz archive as CIFAR-5m has them. Returns its sha256."""
    path = folder / "web" / name
    (np.savez_compressed if compress else np.savez)(path, X=pixels, Y=labels)
    return hashlib.sha256(path.read_bytes()).hexdigest()


def test_archives_are_fetched_once_resumed_and_streamed(
    server: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr("allmlp.data.corpora.images.npz.ROWS", 7)  # a part holds no whole number of pieces
    pixels, labels = pictures(50)
    parts = [
        {"url": f"{server}/a.npz", "sha256": archive(tmp_path, "a.npz", pixels[:30], labels[:30])},
        {"url": f"{server}/b.npz", "sha256": archive(tmp_path, "b.npz", pixels[30:], labels[30:], compress=True)},
    ]
    Server.broken = 2
    file = prepared(tmp_path, source="npz", parts=parts)
    assert Server.asked[0] is None
    assert all(asked.startswith("bytes=") for asked in Server.asked[1:3])  # went on where it broke
    joined = {x.tobytes() for split in (file.train, file.test) for x in split[0]}
    assert joined == {x.tobytes() for x in pixels}
    asked = len(Server.asked)
    pieces = list(NpzCorpus(size=SIZE, classes=10, parts=parts, limit=33).pieces(tmp_path))  # type: ignore[arg-type]
    assert len(Server.asked) == asked
    assert np.array_equal(np.concatenate([piece.pixels for piece in pieces]), pixels[:33])
    assert np.array_equal(np.concatenate([piece.labels for piece in pieces]), labels[:33])


def test_a_server_without_ranges_sends_the_whole_file_again(server: str, tmp_path: Path) -> None:
    (tmp_path / "web/a").write_bytes(bytes(range(200)))
    Server.broken, Server.ranges = 1, False
    assert fetching.fetch(f"{server}/a", None, tmp_path).read_bytes() == bytes(range(200))


def test_a_file_that_was_whole_when_it_stopped_is_taken(server: str, tmp_path: Path) -> None:
    (tmp_path / "web/a").write_bytes(b"whole")
    path = fetching.fetch(f"{server}/a", None, tmp_path)
    path.rename(path.with_name(f"{path.name}.part"))
    assert fetching.fetch(f"{server}/a", None, tmp_path).read_bytes() == b"whole"
    assert Server.asked[-1] == "bytes=5-"


def test_wrong_bytes_are_refused_and_removed(server: str, tmp_path: Path) -> None:
    found = archive(tmp_path, "a.npz", *pictures(9))
    parts = [{"url": f"{server}/a.npz", "sha256": "0" * 64}]
    message = refused(tmp_path, source="npz", parts=parts)
    assert f"a.npz: has sha256 {found}, its entry in config/corpora.yaml says {'0' * 64}" in message
    assert not [path for path in (tmp_path / "work/downloads").iterdir() if path.suffix != ".lock"]
    parts[0]["sha256"] = found
    path = fetching.fetch(parts[0]["url"], found, tmp_path)
    path.write_bytes(b"changed since")
    assert "a.npz: has sha256" in refused(tmp_path, source="npz", parts=parts)
    assert fetching.fetch(parts[0]["url"], found, tmp_path).stat().st_size > 100


def test_missing_parts_of_a_server_or_an_archive_are_reported(
    server: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(fetching, "TRIES", 2)
    pixels, labels = pictures(9)
    archive(tmp_path, "a.npz", pixels, labels)
    parts = [{"url": f"{server}/a.npz"}]
    assert "none.npz: the server says 404" in refused(tmp_path, source="npz", parts=[{"url": f"{server}/none.npz"}])
    assert "cannot be fetched" in refused(tmp_path, source="npz", parts=[{"url": "http://127.0.0.1:9/a.npz"}])
    assert "no array 'images'; it has 'X', 'Y'" in refused(tmp_path, source="npz", parts=parts, images="images")
    assert "not images of 8 x 8 x 3" in refused(tmp_path, source="npz", parts=parts, size=[8, 8, 3])
    archive(tmp_path, "b.npz", pixels, labels[:5])
    assert "9 images in 'X' and 5 labels" in refused(tmp_path, source="npz", parts=[{"url": f"{server}/b.npz"}])
    (tmp_path / "web/c.npz").write_bytes((tmp_path / "web/a.npz").read_bytes()[:300])
    assert "not a whole .npz archive" in refused(tmp_path, source="npz", parts=[{"url": f"{server}/c.npz"}])
    Server.broken = 99
    (tmp_path / "web/d.npz").write_bytes(bytes(1000))
    assert "the connection ended early" in refused(tmp_path, source="npz", parts=[{"url": f"{server}/d.npz"}])
