"""The parsers of files from outside, each with good inputs: whatever such a file becomes, it is read or refused.

`tried` reads one input. A UserError is a refusal; any other exception, or the end of the process, is a fault.
"""

import gzip
import io
import json
import lzma
import shutil
from collections.abc import Callable, Iterator
from itertools import islice
from pathlib import Path
from typing import NamedTuple

import numpy as np
import pyarrow as pa
import pyarrow.parquet as pq
import torch
import zstandard
from PIL import Image
from safetensors.torch import save

from allmlp.common import yaml_file
from allmlp.common.errors import UserError
from allmlp.data.corpora.images.files import ImageFilesCorpus
from allmlp.data.corpora.images.npz import NpzCorpus, Part
from allmlp.data.corpora.local import LocalCorpus
from allmlp.data.corpora.pairs.local import LocalPairs
from allmlp.data.tokens import TokenFile
from allmlp.measurements import measurement, store
from allmlp.measurements.measurement import Measurement
from allmlp.pipeline.bundles.unpacking import check_members
from allmlp.plan import params
from allmlp.studies.quadrature import certify
from allmlp.studies.quadrature.certificate.network import check
from allmlp.studies.quadrature.circuits import LAYOUT
from allmlp.training.storage import read_manifest
from tests.conftest import PROJECT, lay

KEPT = PROJECT / "tests/artifacts"
ROWS = 10_000  # documents, pairs or images read of one input
SIDE = 4  # of an image, in pixels


class Parser(NamedTuple):
    """`read` is given a folder, and the input in it as `file`; `seeds` makes good inputs."""

    name: str
    file: str
    seeds: Callable[[], list[bytes]]
    read: Callable[[Path], object]


def tried(parser: Parser, content: bytes, folder: Path) -> bool:
    """Was the input read? False if it was refused, by one line that is not too long for it."""
    path = folder / parser.file
    path.write_bytes(content)
    try:
        parser.read(path)
    except UserError as error:
        if any(not line.startswith(parser.file) for line in str(error).splitlines()[1:]):
            raise ValueError(f"a message of several lines, not one for each place: {error!r}") from error
        return False
    return True


def _all(rows: Iterator[object]) -> None:
    for _ in islice(rows, ROWS):
        pass


def _corpus(name: str, file: str, seeds: Callable[[], list[bytes]], **keys: str) -> Parser:
    def read(path: Path) -> None:
        _all(LocalCorpus(files=[str(path)], **keys).documents(path.parent))  # type: ignore[arg-type]

    return Parser(name, file, seeds, read)


TEXT = "\ufeffA cat sat on the mät.<end>\nA dog sat.\n<end>Ben saw a 猫.\n".encode()
LINES = b'{"text": "A cat sat."}\n\n{"text": "A \\u00e9 \\ud83d\\ude00", "n": [1, {"a": null}]}\n'


def _texts() -> Iterator[Parser]:
    yield _corpus("text", "a.txt", lambda: [TEXT, TEXT * 9], separator="<end>")
    yield _corpus("text without separators", "a.txt", lambda: [TEXT, TEXT * 9])
    for suffix, compress in (("gz", gzip.compress), ("xz", lzma.compress), ("zst", zstandard.compress)):
        yield _corpus(f"text in .{suffix}", f"a.txt.{suffix}", lambda compress=compress: [compress(TEXT * 9)])
    yield _corpus("JSON lines", "a.jsonl", lambda: [LINES, LINES * 9], field="text")

    def pairs(path: Path) -> None:
        keys = {"query_field": "q.q", "text_field": "t.t", "link": ["at", "at"], "tokenizer_of": "x"}
        _all(LocalPairs(source="local-pairs", files=[str(path)], **keys).pairs(path.parent))  # type: ignore[arg-type]

    row = {"q": [{"q": "Who sat?", "at": 1}, {"q": "Who ran?", "at": 2}], "t": [{"t": "A cat sat.", "at": 1}]}
    yield Parser("pairs", "a.jsonl", lambda: [(json.dumps(row) + "\n").encode() * n for n in (1, 5)], pairs)


def parquet(columns: dict[str, list[object]], **options: object) -> bytes:
    """A Parquet file, with statistics, as others write it."""
    stream = io.BytesIO()
    pq.write_table(pa.table(columns), stream, **options)
    return stream.getvalue()


def _tables() -> Iterator[Parser]:
    texts = {"text": [f"a cat {n % 7} sat" for n in range(30)], "n": [*range(30)]}
    kinds = ({"compression": "zstd"}, {"compression": "none", "use_dictionary": False}, {"write_page_index": True})
    yield _corpus("Parquet of text", "a.parquet", lambda: [parquet(texts, **kind) for kind in kinds], column="text")

    def images(path: Path) -> None:
        _all(ImageFilesCorpus(files=[str(path)], size=[SIDE, SIDE, 1], classes=10).pieces(path.parent))

    def stored() -> list[bytes]:
        encoded = [{"bytes": image, "path": "a.png"} for image in _encoded()]
        flat = [[*range(SIDE * SIDE)]] * 3
        return [parquet({"image": rows, "label": [1] * len(rows)}) for rows in (encoded, flat)]

    def one_image(path: Path) -> None:
        path.with_name("b.parquet").write_bytes(parquet({"image": [path.read_bytes()], "label": [1]}))
        images(path.with_name("b.parquet"))

    yield Parser("Parquet of images", "a.parquet", stored, images)
    yield Parser("images", "image", _encoded, one_image)


def _encoded() -> list[bytes]:
    """An image in each form that is read."""
    image, found = Image.fromarray(np.arange(SIDE * SIDE, dtype=np.uint8).reshape(SIDE, SIDE) * 9), []
    for form in ("PNG", "JPEG", "WEBP", "GIF", "BMP", "TIFF", "PPM"):
        stream = io.BytesIO()
        image.save(stream, format=form)
        found.append(stream.getvalue())
    return found


def _archives() -> Iterator[Parser]:
    def seeds() -> list[bytes]:
        stream = io.BytesIO()
        np.savez_compressed(stream, X=np.zeros((3, SIDE, SIDE, 1), np.uint8), Y=np.zeros(3, np.int64))
        return [stream.getvalue()]

    def read(path: Path) -> None:
        corpus = NpzCorpus(size=[SIDE, SIDE, 1], classes=2, parts=[Part(url="https://example.org/a.npz", sha256=None)])
        _all(corpus._read(path))  # as fetched: no test uses a network

    yield Parser("archive of images", "a.npz", seeds, read)
    yield Parser("bundle", "a.bundle", lambda: [(KEPT / "bundle").read_bytes()], lambda path: _all(check_members(path)))


def _parameters() -> Iterator[Parser]:
    overlays = [
        b"studies: {language: {corpus: stories, variations: {controls: [stories-words]}}}\n",
        b"scale: smoke\ncorpora:\n  mine: {source: local, files: [a.txt], tokenizer: {kind: bpe, vocabulary: 300}}\n",
        b"studies:\n  quadrature: {steps: 3000, scales: {smoke: {seeds: [0, 1]}}}\n  mixers: {}\n",
    ]

    def overlay(path: Path) -> None:
        if not (path.parent / "params.yaml").is_file():
            lay(path.parent)
        params.load(path.parent / "params.yaml", [path])

    aliases = b"a: &a {x: 1e-3, y: [2020-01-01, ~, !!str 1]}\nb:\n  <<: *a\n  z: |\n    text\n"
    whole = (PROJECT / "config/recorded/english.yaml").read_bytes()
    yield Parser("YAML", "a.yaml", lambda: [aliases, b"a: &a [1, 2.5e3]\nb: *a\n", whole], yaml_file.read)
    yield Parser("overlay", "my.yaml", lambda: overlays, overlay)


def _results() -> Iterator[Parser]:
    rows = pa.table({"run": ["a-run"] * 9, "n": [*range(9)], "x": [0.5] * 9, "t": [f"w{n}" for n in range(9)]})
    own = measurement.file_bytes(Measurement("a-run", "settings", (1, 2)), rows)
    kept = (KEPT / "measurement/a-run-seed0-00000000-r1.parquet").read_bytes()
    yield Parser("measurement", "a-r1.parquet", lambda: [own, kept], measurement.read)

    def part(path: Path) -> None:
        content = path.read_bytes()
        named = path.with_name(f"{store.part_digest(content)}.parquet")
        path.rename(named)
        store._rows(named)
        _all(store._split(named))
        named.unlink()

    seeds = [path.read_bytes() for path in sorted((KEPT / "part").glob("*.parquet"))]
    yield Parser("part of the measurements", "part", lambda: seeds, part)

    def tokens(path: Path) -> None:
        for name in ("tokenizer.json", "train-00000.arrow", "validation-00000.arrow"):
            shutil.copy(KEPT / "tokens" / name, path.parent)
        TokenFile(path.parent)

    yield Parser("description of tokens", "meta.json", lambda: [(KEPT / "tokens/meta.json").read_bytes()], tokens)


def _weights() -> Iterator[Parser]:
    def seeds() -> list[bytes]:
        sizes = {"2": 2, "p": 7, "d": 4, "h": 1, "k": 4, "m": 6}
        network = {name: torch.ones([sizes[letter] for letter in of.split()]) for name, of in LAYOUT.items()}
        return [save(network), (KEPT / "checkpoint/final.safetensors").read_bytes()]

    def read(path: Path) -> None:
        check(certify.read(path), str(path))

    yield Parser("weights", "a.safetensors", seeds, read)
    yield Parser(
        "manifest of a checkpoint",
        "manifest.json",
        lambda: [(KEPT / "checkpoint/manifest.json").read_bytes()],
        lambda path: read_manifest(path.parent),
    )


PARSERS = [*_texts(), *_tables(), *_archives(), *_parameters(), *_results(), *_weights()]
