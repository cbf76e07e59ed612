"""A bundle with anything wrong in it is refused by name, and nothing of it is written."""

import io
import json
import os
import pickle
import tarfile
from collections.abc import Callable
from hashlib import sha256
from pathlib import Path

import pyarrow as pa
import pytest

from allmlp.common.errors import UserError
from allmlp.pipeline.bundles.members import FORMAT
from allmlp.pipeline.bundles.unpacking import unpack
from allmlp.plan.portable import PLAN


@pytest.fixture
def here(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """An empty project folder; bundles lie beside it."""
    (tmp_path / "here").mkdir()
    monkeypatch.chdir(tmp_path / "here")
    return tmp_path / "here"


Members = dict[str, bytes]


def true_manifest(members: Members) -> bytes:
    """The manifest that `allmlp pack` would write of these members."""
    entries = {name: {"bytes": len(c), "sha256": sha256(c).hexdigest()} for name, c in members.items()}
    return json.dumps({"format": FORMAT, "scale": "smoke", "members": entries}).encode()


def packed(manifest: bytes, members: Members, change: Callable[[tarfile.TarInfo], None] | None = None) -> bytes:
    """The bytes of a bundle; `change` alters the headers of its members."""
    buffer = pa.BufferOutputStream()
    with pa.CompressedOutputStream(buffer, "zstd") as stream, tarfile.open(fileobj=stream, mode="w|") as tar:
        for name, content in {"manifest.json": manifest, **members}.items():
            about = tarfile.TarInfo(name)
            about.size = len(content)
            if change and name != "manifest.json":
                change(about)
            if about.type == tarfile.REGTYPE:
                tar.addfile(about, io.BytesIO(content))
            else:  # a header alone, which Python 3.13's `addfile` refuses to write
                header = about.tobuf(tar.format)
                tar.fileobj.write(header)
                tar.offset += len(header)
    return buffer.getvalue().to_pybytes()


def bundle(members: Members, file: Path, change: Callable[[tarfile.TarInfo], None] | None = None) -> Path:
    """A file that is a bundle, with a true manifest."""
    file.write_bytes(packed(true_manifest(members), members, change))
    return file


GOOD = "work/timings/a-run.json"
PICKLED = pickle.dumps({"weights": [1.0]})


@pytest.mark.parametrize(
    "name",
    [
        "../outside.json",
        "/etc/outside.json",
        "results/../outside.json",
        "work/runs/../../outside.json",
        "work/runs/.hidden/log.jsonl",
        "src/allmlp/cli/app.py",
        "work/runs/a-run/lock",
        "results/claims.json",
        "work/plan.json/../x.json",
    ],
)
def test_a_place_outside_is_refused(here: Path, name: str) -> None:
    assert_refused(here, bundle({GOOD: b"{}", name: b"{}"}, here.parent / "bundle"))


@pytest.mark.parametrize(
    ("name", "content"),
    [
        ("results/checkpoints/a-run/final.safetensors", PICKLED),
        ("results/checkpoints/a-run/weights.pkl", PICKLED),
        ("work/measurements/copying/cost/a-run-r1.parquet", PICKLED),
        ("results/tokens/text-00000000/train-0.arrow", PICKLED),
        ("results/tokens/text-00000000/train.npy", PICKLED),
        ("work/runs/a-run/state-1.json", PICKLED),
        ("work/runs/a-run/complete", b"not empty"),
    ],
)
def test_a_pickle_is_refused_whatever_its_name(here: Path, name: str, content: bytes) -> None:
    assert_refused(here, bundle({GOOD: b"{}", name: content}, here.parent / "bundle"))


@pytest.mark.parametrize("kind", [tarfile.SYMTYPE, tarfile.LNKTYPE, tarfile.DIRTYPE, tarfile.FIFOTYPE])
def test_a_link_is_refused(here: Path, kind: bytes) -> None:
    def linked(about: tarfile.TarInfo) -> None:
        about.type, about.linkname, about.size = kind, "/etc/passwd", 0

    assert_refused(here, bundle({GOOD: b""}, here.parent / "bundle", linked))


def test_a_wrong_digest_is_refused(here: Path) -> None:
    good = {"work/timings/another.json": b"{}", GOOD: b'{"seconds": 1}'}
    whole = bundle(good, here.parent / "whole")
    with pa.input_stream(str(whole), compression="zstd") as stream:
        text = stream.read()
    assert text.count(b'{"seconds": 1}') == 1
    with pa.CompressedOutputStream(str(here.parent / "bundle"), "zstd") as out:
        out.write(text.replace(b'{"seconds": 1}', b'{"seconds": 2}'))
    assert_refused(here, here.parent / "bundle", "sha256 is ")


@pytest.mark.parametrize("share", [0.0, 0.2, 0.5, 0.9, 0.99])
def test_a_truncated_one_is_refused(here: Path, share: float) -> None:
    members = {f"work/timings/run-{n}.json": json.dumps(os.urandom(2000).hex()).encode() for n in range(20)}
    content = bundle(members, here.parent / "whole").read_bytes()
    (here.parent / "bundle").write_bytes(content[: int(share * len(content))])
    assert_refused(here, here.parent / "bundle")


def test_a_file_that_is_not_a_bundle_is_refused(here: Path) -> None:
    (here.parent / "bundle").write_bytes(PICKLED)
    assert_refused(here, here.parent / "bundle")
    assert_refused(here, here.parent / "missing", "no such file")


def test_a_member_that_is_not_in_the_manifest_is_refused(here: Path) -> None:
    def renamed(about: tarfile.TarInfo) -> None:
        about.name = "work/timings/other.json"

    assert_refused(here, bundle({GOOD: b"{}"}, here.parent / "bundle", renamed))


def test_a_good_one_is_taken(here: Path) -> None:
    """So that the refusals above are of what is wrong with each."""
    unpack(bundle({GOOD: b"{}"}, here.parent / "bundle"))
    assert Path(GOOD).read_bytes() == b"{}"
    assert not PLAN.exists()


def assert_refused(here: Path, file: Path, said: str | None = None) -> None:
    """The bundle is refused with a message, and nothing at all is written."""
    before = set(here.parent.rglob("*"))
    with pytest.raises(UserError, match=said):
        unpack(file)
    assert set(here.parent.rglob("*")) == before
