"""Bad inputs that a stranger may bring, the reader of each, and the words that must refuse it.

`python -m tests.strangers.catalogue` writes docs/strangers.md, the table of them.
"""

import gzip
import io
import json
import lzma
import pickle
import struct
import tarfile
import zipfile
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any, NamedTuple

import numpy as np
import pyarrow as pa
import pyarrow.parquet as pq
import torch
import zstandard
from PIL import Image
from safetensors.torch import save

from allmlp import measured, params, store
from allmlp.bundles.members import FORMAT
from allmlp.bundles.unpacking import unpack
from allmlp.corpora.images.files import ImageFilesCorpus
from allmlp.corpora.images.npz import NpzCorpus
from allmlp.corpora.local import LocalCorpus
from allmlp.corpora.pairs.local import LocalPairs
from allmlp.studies.quadrature import certify
from allmlp.studies.quadrature.circuits import LAYOUT
from tests.conftest import PROJECT, lay
from tests.faults.test_hostile_bundles import packed, true_manifest

DOCS = PROJECT / "docs/strangers.md"
FUZZED = "## Fuzzed"  # begins the part that `make fuzz` writes


class Bad(NamedTuple):
    """A bad input. `put` writes it into a folder, `read` reads it from there; `said`: words of the refusal."""

    what: str
    reader: str
    file: str
    said: str
    content: Callable[[], bytes]
    read: Callable[[Path], object]


def _text(what: str, file: str, content: Callable[[], bytes] | bytes, said: str, **keys: Any) -> Bad:
    def read(path: Path) -> None:
        for _ in LocalCorpus(files=[str(path)], **keys).documents(path.parent):
            pass

    return Bad(what, "corpus of text", file, said, content if callable(content) else lambda: content, read)


def _bombs() -> Iterator[Bad]:
    zeros = b"a " * (1 << 24)
    for suffix, compress in (("gz", gzip.compress), ("zst", zstandard.compress), ("xz", _xz)):
        yield _text(
            f"a bomb: 32 MiB of the same words in a .{suffix} of some kB",
            f"bomb.txt.{suffix}",
            lambda compress=compress: compress(zeros),
            "expands to more than 200 times its",
        )


def _xz(content: bytes) -> bytes:
    return lzma.compress(content, preset=0)


def _flipped(content: bytes) -> bytes:
    middle = len(content) // 2
    return content[:middle] + bytes([content[middle] ^ 0xFF]) + content[middle + 1 :]


TEXT = b"A cat sat on the mat. " * 200
ROW = b'{"text": "A cat sat."}\n'


def _texts() -> Iterator[Bad]:
    yield from _bombs()
    yield _text("nothing", "empty.txt", b"", "no text in")
    yield _text("blanks alone", "blank.txt", b" \n\t " * 100, "no text in")
    yield _text("a NUL byte", "nul.txt", TEXT + b"\0" + TEXT, "a NUL byte at offset 4,400")
    yield _text("UTF-16", "wide.txt", TEXT.decode().encode("utf-16"), "not UTF-8: byte 0xff at offset 0")
    yield _text("UTF-16 without a mark", "wide.txt", TEXT.decode().encode("utf-16-le"), "a NUL byte at offset 1")
    yield _text("Latin-1", "latin.txt", TEXT + b"caf\xe9", "not UTF-8: byte 0xe9 at offset 4,403")
    yield _text("a character cut off at the end", "cut.txt", TEXT + b"\xe2\x82", "not UTF-8: byte 0xe2")
    yield _text("surrogates as UTF-8", "half.txt", TEXT + b"\xed\xa0\x80", "not UTF-8: byte 0xed")
    yield _text("an overlong NUL", "long.txt", TEXT + b"\xc0\x80", "not UTF-8: byte 0xc0")
    for suffix, compress in (("gz", gzip.compress), ("zst", zstandard.compress), ("xz", _xz)):
        whole = compress(TEXT)
        yield _text(f"a truncated .{suffix}", f"cut.txt.{suffix}", whole[:-9], "truncated or corrupt")
        if suffix != "zst":  # which need not have a checksum
            yield _text(f"a flipped byte in a .{suffix}", f"bad.txt.{suffix}", _flipped(whole), "truncated or corrupt")
        yield _text(f"plain text named .{suffix}", f"plain.txt.{suffix}", TEXT, "truncated or corrupt")
    yield _text("a separator that never occurs", "one.txt", TEXT, "no separator '<end>'", separator="<end>")
    yield _text(
        "one document of 80 MB", "big.txt", lambda: b"<end>" + b"ab" * (40 << 20), "no separator", separator="<end>"
    )
    yield _text("a program", "evil.exe", b"MZ", "cannot tell what this is")
    yield _text("a pickle", "evil.pkl", pickle.dumps({}), "cannot tell what this is")
    yield _text("an archive", "evil.zip", b"PK\x03\x04", "cannot tell what this is")


def _json() -> Iterator[Bad]:
    def row(what: str, content: Callable[[], bytes] | bytes, said: str, file: str = "rows.jsonl") -> Bad:
        return _text(what, file, content, said, field="text")._replace(reader="corpus of JSON lines")

    yield row("100,000 lists in one another", ROW + b'{"text": ' + b"[" * 100_000, "rows.jsonl:2: not JSON")
    yield row("100,000 objects in one another", b'{"text":' * 100_000, "rows.jsonl:1: not JSON")
    yield row("a line of 80 MB", lambda: ROW + b"a" * (80 << 20), "rows.jsonl:2: a line of more than")
    yield row("a list", b"[1, 2]\n", "a list, but each line must be an object")
    yield row("a number", b"7\n", "a int, but each line must be an object")
    yield row("a number of 10,000 digits", b'{"text": ' + b"9" * 10_000 + b"}", "not JSON (Exceeds the limit")
    yield row("no such field", ROW + b'{"body": "two"}\n', "rows.jsonl:2: no field 'text'")
    yield row("a number for a text", b'{"text": 7}\n', "field 'text' is int, not text")
    yield row("null for a text", b'{"text": null}\n', "field 'text' is NoneType, not text")
    yield row("an escaped NUL", b'{"text": "a\\u0000b"}\n', "field 'text' holds a NUL character")
    yield row("half of a surrogate pair", b'{"text": "\\ud800"}\n', "half of a surrogate pair")
    yield row("a raw control character", b'{"text": "a\x01b"}\n', "not JSON (Invalid control character")
    yield row("Latin-1", ROW + b'{"text": "caf\xe9"}\n', "not UTF-8: byte 0xe9 at offset 36")
    yield row("two objects on a line", ROW.strip() * 2, "not JSON (Extra data")
    yield row("a pretty-printed object", b'{\n"text": "one"\n}\n', "rows.jsonl:1: not JSON")
    yield row("one array over all lines", b'[{"text": "one"},\n{"text": "two"}]\n', "rows.jsonl:1: not JSON")


def _parquet(table: pa.Table, **options: Any) -> Callable[[], bytes]:
    def made() -> bytes:
        buffer = io.BytesIO()
        pq.write_table(table, buffer, **options)
        return buffer.getvalue()

    return made


def _tables() -> Iterator[Bad]:
    def rows(what: str, content: Callable[[], bytes] | bytes, said: str, column: str = "text") -> Bad:
        return _text(what, "rows.parquet", content, said, column=column)._replace(reader="corpus of Parquet")

    odd = {
        "lists of texts": [["a"]],
        "bytes": [b"\xff"],
        "numbers": [1],
        "structs": [{"a": "x"}],
        "maps": pa.array([[("a", "b")]], pa.map_(pa.string(), pa.string())),
        "nothing but nulls": pa.nulls(1),
        "times": pa.array([0], pa.timestamp("ns")),
        "decimals": pa.array([1], pa.decimal128(5, 2)),
        "categories of numbers": pa.array([1]).dictionary_encode(),
    }
    for what, values in odd.items():
        yield rows(f"a column of {what}", _parquet(pa.table({"text": values})), ", not text. Correct `column:`.")
    yield rows("another column", _parquet(pa.table({"body": ["a"]})), "no column 'text'; it has 'body'")
    double = pa.Table.from_arrays([pa.array(["a"]), pa.array(["b"])], names=["text", "text"])
    yield rows("the column twice", _parquet(double), "has 2 columns 'text'")
    yield rows("a null among texts", _parquet(pa.table({"text": ["a", None]})), "row 1 of column 'text' is null")
    yield rows("a NUL in a text", _parquet(pa.table({"text": ["a\0b"]})), "holds a NUL character")
    ends, content = pa.py_buffer(struct.pack("<2i", 0, 2)), pa.py_buffer(b"\xff\xfe")
    broken = pa.Array.from_buffers(pa.string(), 1, [None, ends, content])
    yield rows("bytes that are not UTF-8", _parquet(pa.table({"text": broken})), "is not UTF-8")
    yield rows("no rows", _parquet(pa.table({"text": pa.array([], pa.string())})), "no text in")
    bomb = pa.table({"text": ["a" * (1 << 20)] * 40})
    yield rows("a bomb in its pages", _parquet(bomb, compression="zstd", use_dictionary=False), "expands to more than")
    same = pa.table({"text": pa.array(["a" * (1 << 20)]).take(pa.array([0] * 40)).dictionary_encode()})
    yield rows("a bomb of one repeated text", _parquet(same), "expands to more than 200 times")
    long = pa.DictionaryArray.from_arrays(pa.array([0] * 1000), ["a" * (10 << 20)])
    yield rows("a text of 10 MiB in 1,000 rows", _parquet(pa.table({"text": long})), "expands to more than 200 times")
    whole = _parquet(pa.table({"text": ["a"] * 100}))()
    yield rows("a truncated file", whole[:-9], "truncated or corrupt")
    yield rows("a footer that claims 4 GB", b"PAR1" + b"\xff" * 100 + b"PAR1", "truncated or corrupt")
    yield rows("a pickle", pickle.dumps({}), "truncated or corrupt")


def _pairs() -> Iterator[Bad]:
    def pair(what: str, content: bytes, said: str, **keys: Any) -> Bad:
        keys = {"query_field": "q", "text_field": "t", **keys}

        def read(path: Path) -> None:
            list(LocalPairs(source="local-pairs", files=[str(path)], tokenizer_of="x", **keys).pairs(path.parent))

        return Bad(what, "corpus of pairs", "pairs.jsonl", said, lambda: content, read)

    linked = {"query_field": "q.q", "text_field": "t.t", "link": ["at", "at"]}
    yield pair("no query", b'{"t": "text"}\n', "no field 'q'")
    yield pair("a list for a text", b'{"q": "query", "t": ["text"]}\n', "field 't' is list, not text")
    numbers = b'{"q": [{"q": "a", "at": [1]}], "t": [{"t": "b", "at": 1}]}\n'
    yield pair("a list for a link", numbers, "is list, not one value", **linked)
    yield pair("an object for a list", b'{"q": {"q": "a"}, "t": []}\n', "is no list of objects", **linked)
    yield pair("a list of numbers", b'{"q": [1], "t": []}\n', "is no list of objects", **linked)


def _png(*size: int) -> bytes:
    stream = io.BytesIO()
    Image.new("L", size).save(stream, format="PNG")
    return stream.getvalue()


def _images() -> Iterator[Bad]:
    def image(what: str, value: Any, said: str, label: Any = 0, rows: int = 1, **keys: Any) -> Bad:
        keys = {"size": [8, 8, 1], "classes": 2, **keys}

        def read(path: Path) -> None:
            list(ImageFilesCorpus(files=[str(path)], **keys).pieces(path.parent))

        made = _parquet(pa.table({"image": [value] if rows == 1 else value, "label": [label] * rows}))
        return Bad(what, "corpus of images", "images.parquet", said, made, read)

    header = b"\x89PNG\r\n\x1a\n" + struct.pack(">I4sIIBBBBB", 13, b"IHDR", 60_000, 60_000, 8, 0, 0, 0, 0)
    yield image("a PNG of 3.6 billion pixels", header + b"\0" * 40, "holds no image that can be read")
    yield image("a PNG of 36 million pixels for 64", _png(6000, 6000), "is 6000 x 6000 x 1, not 8 x 8 x 1")
    postscript = b"%!PS-Adobe-3.0 EPSF-3.0\n%%BoundingBox: 0 0 8 8\n"
    yield image("PostScript, which a program would run", postscript, "holds no image that can be read")
    yield image("a truncated PNG", _png(8, 8)[:-30], "holds no image that can be read")
    yield image("a pickle", pickle.dumps({}), "holds no image that can be read")
    yield image("no bytes", b"", "holds no image that can be read")
    yield image("a path to a file", {"path": "/etc/passwd"}, "does not hold pixels")
    yield image("a text", "/etc/passwd", "does not hold pixels")
    yield image("pixels above 255", [256] * 64, "from 0 to 255")
    yield image("pixels as fractions", [0.5] * 64, "from 0 to 255")
    yield image("lists of unequal length", [[1, 2], [3]], "holds no image that can be read")
    once = pa.DictionaryArray.from_arrays(pa.array([0] * 800), [bytes(2 << 20)])
    for what, value in (("bytes", once), ("a struct", pa.StructArray.from_arrays([once], ["bytes"]))):
        yield image(f"2 MiB in 800 rows, as {what}", value, "holds no image that can be read", rows=800)
    yield image("20 million equal pixels", np.zeros(20_000_000, np.uint8), "expands to more than 200 times")
    yield image("too few pixels", [1] * 63, "not 8 x 8 x 1")
    yield image("a label as a text", _png(8, 8), "not whole numbers", label="cat")


def _archive(**arrays: bytes) -> bytes:
    stream = io.BytesIO()
    with zipfile.ZipFile(stream, "w", zipfile.ZIP_DEFLATED) as archive:
        for name, content in arrays.items():
            archive.writestr(f"{name}.npy", content)
    return stream.getvalue()


def _npy(array: np.ndarray, **options: Any) -> bytes:
    stream = io.BytesIO()
    np.lib.format.write_array(stream, array, **options)
    return stream.getvalue()


def _claiming(array: bytes, old: bytes, new: bytes) -> bytes:
    """An .npy file whose header says something else; the blanks at its end make room."""
    longer = old + b" " * (len(new) - len(old))
    assert longer in array
    return array.replace(longer, new)


def _npz() -> Iterator[Bad]:
    def archive(what: str, content: bytes, said: str) -> Bad:
        def read(path: Path) -> None:
            corpus = NpzCorpus(size=[2, 2, 1], classes=2, parts=[{"url": "https://example.org/a.npz"}])  # type: ignore[list-item]
            list(corpus._read(path))  # as fetched: no test uses a network

        return Bad(what, "archive of images", "a.npz", said, lambda: content, read)

    X, Y = _npy(np.zeros((3, 2, 2, 1), np.uint8)), _npy(np.zeros(3, np.int64))
    objects = _npy(np.array([{}], dtype=object), allow_pickle=True)
    billions, code = _claiming(Y, b"(3,), }", b"(3000000000,), }"), _claiming(Y, b"(3,), }", b"exit(), }")
    yield archive("objects, which are pickles, for labels", _archive(X=X, Y=objects), "labels are object")
    yield archive("objects for images", _archive(X=objects, Y=Y), "not uint8 images")
    yield archive("no labels", _archive(X=X), "no array 'Y'")
    bare = _archive(X=X, Y=Y).replace(b"Y.npy", b"Y.npz")
    yield archive("labels that are no .npy", bare, "no array 'Y'")
    yield archive("a header that promises billions of labels", _archive(X=X, Y=billions), "not a whole .npz archive")
    yield archive("a header that is code", _archive(X=X, Y=code), "not a whole .npz archive")
    yield archive("a header cut off", _archive(X=X[:20], Y=Y), "not a whole .npz archive")
    yield archive("a header that does not end", _archive(X=X, Y=Y.replace(b"}", b"{")), "not a whole .npz archive")
    yield archive("images cut off", _archive(X=X[:-2], Y=Y), "ends after 2 images")
    yield archive("a flipped byte", _flipped(_archive(X=X, Y=Y)), "not a whole .npz archive")
    yield archive("a pickle", pickle.dumps({}), "not a whole .npz archive")


def _overlays() -> Iterator[Bad]:
    def yaml(what: str, content: str | bytes, said: str) -> Bad:
        def read(path: Path) -> None:
            params.load(lay(path.parent), [path])

        made = content if isinstance(content, bytes) else content.encode()
        return Bad(what, "YAML of parameters", "my.yaml", said, lambda: made, read)

    def corpus(what: str, said: str, called: str = "mine", **keys: Any) -> Bad:
        return yaml(what, json.dumps({"corpora": {called: keys}}), said)

    bomb = "a: &a0 [x, x, x]\n" + "".join(f"b{n}: &a{n} [{', '.join([f'*a{n - 1}'] * 9)}]\n" for n in range(1, 30))
    merge = "a: &a0 {x: 1}\n" + "".join(
        f"b{n}: &a{n} {{<<: [{', '.join([f'*a{n - 1}'] * 9)}]}}\n" for n in range(1, 30)
    )
    yield yaml("a bomb of aliases", bomb, "my.yaml:6: more than 100,000 values so far")
    yield yaml("a bomb of merges", merge, "more than 100,000 values so far")
    yield yaml("an alias within itself", "studies: &a [*a]\n", "*a stands within itself")
    yield yaml("100,000 lists in one another", "a: " + "[" * 100_000, "nested more than 100 levels deep")
    yield yaml("100,000 lists in one another, a dash each", "- " * 100_000 + "x", "nested more than 100 levels deep")
    yield yaml("a file of 2 MB", "a: 1\n#" + "x" * (2 << 20), "these are no parameters")
    yield yaml("an object of Python", "a: !!python/object/apply:os.system [id]\n", "could not determine a constructor")
    yield yaml("a tag of its own", "a: !evil x\n", "could not determine a constructor")
    yield yaml("a list for a key", "? [a]\n: 1\n", "found unhashable key")
    yield yaml("a number for a key", "1: 2\n", "my.yaml:1: unknown key '1'")
    yield yaml("two documents", "scale: smoke\n---\nscale: laptop\n", "but found another document")
    yield yaml("a key twice", "scale: smoke\nscale: laptop\n", "key 'scale' stands twice")
    yield yaml("a number of 10,000 digits", "scale: " + "9" * 10_000, "Exceeds the limit")
    yield yaml("a time that is too long", "scale: 1:" + "1:" * 4000 + "1.5\n", "is not YAML")
    yield yaml("a day that is none", "scale: 2020-13-45\n", "month must be in 1..12")
    yield yaml("a control character", b"scale: \x07\n", "holds the character '\\x07'")
    yield yaml("bytes that are not UTF-8", b"scale: \xff\n", "is not UTF-8")
    yield yaml("half of a surrogate pair", b'scale: "\\ud800"\n', "is not YAML")
    yield yaml("a list", "[1, 2]\n", "must hold keys and values, and holds list")
    yield yaml("an infinite number", "studies: {quadrature: {steps: .inf}}\n", "studies.quadrature.steps is inf")
    for name in ("../evil", "/etc/evil", "Evil", ".hidden", "a b", "a\nb", "<b>", "", "-x", "$(id)"):
        said = f"corpus {name!r}: a name has only a-z, 0-9"
        yield corpus(f"a corpus named {name!r}", said, name, source="stories", documents=5)
    hub = {"source": "hub", "name": "owner/name", "revision": "0" * 40}
    yield corpus("a branch of the Hub", "is not a commit", **{**hub, "revision": "main"})
    yield corpus("code of the Hub", "unknown key 'trust_remote_code'", **hub, trust_remote_code=True)
    for name in ("name", "../name", "/etc/passwd", "https://example.org/a", "owner/..", "owner/na/me"):
        yield corpus(f"a data set of the Hub named {name!r}", "corpora.mine.name is", **{**hub, "name": name})
    npz = {"source": "npz", "size": [2, 2, 1], "classes": 2}
    for url in ("http://example.org/a.npz", "file:/etc/passwd", "ftp://example.org/a", "https://", "a.npz"):
        yield corpus(f"images at {url}", "must begin with https://", **npz, parts=[{"url": url}])
    for url in ("http://localhost.evil.org/v1", "http://127.0.0.1@evil.org/v1", "gopher://localhost/v1"):
        said = "holds a name or a password" if "@" in url else "must begin with https://"
        keys = {"source": "summaries", "texts_of": "stories", "tokenizer_of": "stories", "model": "m"}
        yield corpus(f"a chat model at {url}", said, **keys, base_url=url)
    secret = "https://me:secret@example.org/a.npz"
    yield corpus("a password in a URL", "'https://...@example.org/a.npz'", **npz, parts=[{"url": secret}])


def _weights() -> Iterator[Bad]:
    def weights(what: str, content: bytes, said: str, file: str = "weights.safetensors") -> Bad:
        def read(path: Path) -> None:
            certify.show(str(path), path.parent)

        return Bad(what, "weights to certify", file, said, lambda: content, read)

    sizes = {"2": 2, "p": 7, "d": 4, "h": 1, "k": 4, "m": 6}
    good = {name: torch.ones([sizes[letter] for letter in of.split()]) for name, of in LAYOUT.items()}

    def changed(**tensors: torch.Tensor) -> bytes:
        return save({**good, **tensors})

    def header(text: bytes, length: int | None = None) -> bytes:
        return struct.pack("<Q", len(text) if length is None else length) + text + b"\0" * 4

    for file in ("weights.pt", "weights.pth", "weights.bin", "weights.ckpt", "weights.pkl", "weights.npy"):
        yield weights(f"a pickle named {file}", pickle.dumps(good), "is no .safetensors file", file)
    yield weights("a pickle named .safetensors", pickle.dumps(good), "cannot be read as safetensors")
    yield weights("nothing", b"", "cannot be read as safetensors")
    yield weights("a header of 4 EB", header(b"{}", 1 << 62), "header too large")
    yield weights("100,000 lists in one another", header(b"[" * 100_000), "invalid JSON in header")
    huge = {"W_E": {"dtype": "F32", "shape": [1 << 40, 1 << 40], "data_offsets": [0, 4]}}
    yield weights("a tensor of 2^80 numbers", header(json.dumps(huge).encode()), "overflow")
    outside = {"W_E": {"dtype": "F32", "shape": [1], "data_offsets": [1 << 20, (1 << 20) + 4]}}
    yield weights("a tensor outside the file", header(json.dumps(outside).encode()), "cannot be read as safetensors")
    yield weights("a truncated file", save(good)[:-9], "cannot be read as safetensors")
    yield weights("no tensors", save({}), "has no tensor W_E")
    yield weights("a tensor of another shape", changed(W_E=torch.ones(4)), "W_E has shape (4,)")
    yield weights("a tensor of another size", changed(W_U=torch.ones(4, 5)), "W_U has shape (4, 5)")
    yield weights("NaN", changed(b_in=torch.full((6,), torch.nan)), "NaN or infinite")
    yield weights("infinity", changed(b_in=torch.full((6,), torch.inf)), "NaN or infinite")
    yield weights("complex numbers", changed(W_E=torch.ones(7, 4, dtype=torch.complex64)), "holds complex numbers")


def _bundles() -> Iterator[Bad]:
    def tar(what: str, said: str, members: dict[str, bytes], manifest: bytes | None = None, kind: bytes = b"") -> Bad:
        def change(about: tarfile.TarInfo) -> None:
            if kind:
                about.type, about.size = kind, 4 << 30

        def made() -> bytes:
            return packed(true_manifest(members) if manifest is None else manifest, members, change)

        return Bad(what, "bundle", "bundle", said, made, unpack)

    def entry(what: str, said: str, **keys: Any) -> Bad:
        entries = json.loads(true_manifest(good))
        entries["members"]["work/timings/a-run.json"] |= keys
        return tar(what, said, good, json.dumps(entries).encode())

    good = {"work/timings/a-run.json": b"{}"}
    for name in ("../outside.json", "/etc/outside.json", "work/runs/.hidden/log.jsonl", "src/allmlp/cli.py"):
        yield tar(f"a file at {name}", "bundles hold runs, tokens", {**good, name: b"{}"})
    pickled, place = pickle.dumps({}), "results/checkpoints/a-run"
    for name in (f"{place}/final.safetensors", f"{place}/weights.pkl", "results/tokens/a-0/train.npy"):
        yield tar(f"a pickle at {name}", "Nothing was unpacked", {**good, name: pickled})
    deep = {**good, "work/runs/a-run/state-1.json": b"[" * 100_000}
    yield tar("100,000 lists in one another", "is not what its name says", deep)
    yield Bad("a pickle", "bundle", "bundle", "is no whole bundle", lambda: pickled, unpack)
    newer = json.dumps({"format": FORMAT + 1, "members": {}}).encode()
    yield tar("one of a newer release", "A newer release wrote it", {}, newer)
    yield tar("a manifest of 100,000 lists in one another", "nested too deeply", {}, b"[" * 100_000)
    yield tar("a manifest that is a list", "is damaged", {}, b"[]")
    yield tar("a name of 100,000 letters", "bundles hold runs, tokens", {**good, "a" * 100_000: b""})
    for what, kind in (
        ("a long name", tarfile.GNUTYPE_LONGNAME),
        ("an extended header", tarfile.XHDTYPE),
        ("a sparse file", tarfile.GNUTYPE_SPARSE),
        ("a symbolic link", tarfile.SYMTYPE),
    ):
        yield tar(f"{what} of 4 GiB", "which no bundle has", good, kind=kind)
    yield entry("an entry of -1 byte", "is damaged", bytes=-1)
    yield entry("an entry of 1 EB", "is damaged", bytes=1 << 60)
    yield entry("an entry without a digest", "is damaged", sha256="")
    yield entry("1 GiB in a bundle of some hundred bytes", "would unpack to 1,024 MiB", bytes=1 << 30)
    numbers = _npy(np.zeros(3, np.uint8))
    huge = _claiming(numbers, b"(3,), }", b"(1000000000000000,), }")
    for what, array in (("a petabyte", huge), ("no end", numbers.replace(b"}", b"("))):
        named = {**good, "results/tokens/a-0/train-images.npy": array}
        yield tar(f"an .npy file whose header promises {what}", "is not what its name says", named)


def _counting(table: pa.Table, rows: dict[int, int]) -> bytes:
    """The table as Parquet, with other counts in its footer. `rows`: place -> count; 0 the file's, -1 a row group's."""
    content = _parquet(table, compression="none", write_statistics=False, store_schema=False)()
    length = int.from_bytes(content[-8:-4], "little")
    pieces = content[-8 - length : -8].split(_varint(len(table)))
    between = [_varint(len(table))] * (len(pieces) - 1)
    for place, count in rows.items():
        between[place] = _varint(count)
    footer = b"".join(piece + count for piece, count in zip(pieces, [*between, b""], strict=True))
    return content[: -8 - length] + footer + struct.pack("<I", len(footer)) + b"PAR1"


def _varint(number: int) -> bytes:
    """A whole number as Thrift writes it."""
    number, found = 2 * number, bytearray()
    while number > 127:
        number, digit = divmod(number, 128)
        found.append(128 + digit)
    return bytes([*found, number])


def _made_up(columns: dict[str, Any]) -> Iterator[tuple[str, Callable[[], bytes] | bytes, str]]:
    """Tables with these columns of one row, whose rows no memory holds, or not the counted ones."""
    one = pa.table(columns)
    table = pa.concat_tables([one] * 5003)
    trillion = 10**12
    yield "a footer of a trillion rows", _counting(table, {0: trillion, -1: trillion}), "1,000,000,000,000 rows of"
    yield "a row group of a trillion rows", _counting(table, {-1: trillion}), "1,000,000,000,000 in its groups"
    yield "fewer rows than it counts", _counting(table, {0: 9999, -1: 9999}), "9,999 rows, its pages hold 5,003"

    def numbers() -> bytes:
        piece = pa.table({"x": np.zeros(1_000_000)})
        stream = io.BytesIO()
        with pq.ParquetWriter(stream, piece.schema) as writer:
            for _ in range(35):
                writer.write_table(piece)
        return stream.getvalue()

    yield "35 million equal numbers", numbers, "take more than 256 MiB"
    texts = pa.DictionaryArray.from_arrays(pa.array([0] * 300), ["a" * (1 << 20)])
    same = pa.concat_tables([one] * 300).append_column("t", texts)
    yield "a text of 1 MiB in 300 rows", _parquet(same), "take more than 256 MiB"
    lists = one.append_column("t", [[["a"]]])
    yield "a column of lists", _parquet(lists), "not numbers or texts"
    yield "no columns", _parquet(pa.table({})), "0 rows of 0 columns"


def _measurements() -> Iterator[Bad]:
    def own(what: str, content: Callable[[], bytes] | bytes, said: str) -> Bad:
        made = content if callable(content) else lambda: content
        return Bad(what, "measurement", "a-r1.parquet", said, made, measured.read)

    table = pa.table({"run": ["a"]})
    yield own("a pickle", pickle.dumps({}), "cannot be read as a measurement")
    yield own("no description", _parquet(table), "cannot be read as a measurement")
    deep = table.replace_schema_metadata({"allmlp": "[" * 100_000})
    yield own("100,000 lists in one another", _parquet(deep), "cannot be read as a measurement")
    lists = table.replace_schema_metadata({"allmlp": "[1]"})
    yield own("a list for a description", _parquet(lists), "cannot be read as a measurement")
    yield from (own(*made) for made in _made_up({"run": ["a"]}))


def _parts() -> Iterator[Bad]:
    def part(what: str, content: Callable[[], bytes] | bytes, said: str) -> Bad:
        made = content if callable(content) else lambda: content

        def read(path: Path) -> None:
            named = path.rename(path.with_name(f"{store.digest_of(path.read_bytes())}.parquet"))
            list(store._split(named))

        return Bad(what, "part of the measurements", "part", said, made, read)

    about = {"run": ["a"], "settings": ["s"], "recipes": ["1.2"], "since": [""]}
    table = pa.table(about)
    yield part("a pickle", pickle.dumps({}), "cannot be read as a part")
    yield part("no runs", _parquet(table.drop_columns("run")), "has no column run")
    yield part("no rows", _parquet(table[:0]), "it has no rows")
    yield part("a number for a run", _parquet(pa.table({**about, "run": [1]})), "a description is no text")
    yield part("null for a run", _parquet(pa.table({**about, "run": pa.nulls(1, pa.string())})), "is no text")
    yield part("recipes that are no numbers", _parquet(pa.table({**about, "recipes": ["1;2"]})), "are no numbers")
    yield from (part(*made) for made in _made_up(about))
    yield Bad(
        "bytes of another digest",
        "part of the measurements",
        "0" * 16 + ".parquet",
        "is the digest of",
        _parquet(table),
        lambda path: list(store._split(path)),
    )


BAD = [
    *_texts(),
    *_json(),
    *_tables(),
    *_pairs(),
    *_images(),
    *_npz(),
    *_overlays(),
    *_weights(),
    *_bundles(),
    *_measurements(),
    *_parts(),
]


def fuzzed() -> str:
    """The part of docs/strangers.md that `make fuzz` wrote."""
    return "".join(DOCS.read_text(encoding="utf-8").partition(FUZZED)[1:])


def table() -> str:
    """docs/strangers.md up to what `make fuzz` wrote: the inputs by their readers, and the words that refuse them."""
    lines = [
        "# Bad inputs tried",
        "",
        f"{len(BAD)} bad inputs, {len(BAD)} refused: each by one message that names the file, what is wrong and a way",
        "out, before anything is written. `pytest tests/strangers` tries them all and keeps this table as it is.",
        "",
    ]
    for reader in dict.fromkeys(bad.reader for bad in BAD):
        lines += [f"## {reader[0].upper()}{reader[1:]}", "", "| input | refused with |", "| --- | --- |"]
        lines += [f"| {_cell(bad.what)} | {_cell(bad.said)} |" for bad in BAD if bad.reader == reader]
        lines.append("")
    return "\n".join(lines)


def _cell(text: str) -> str:
    special = set("<>*`_$") & set(text)
    return (f"`{text}`" if special and "`" not in text else text).replace("|", "\\|")


if __name__ == "__main__":
    DOCS.write_text(table() + fuzzed(), encoding="utf-8")
