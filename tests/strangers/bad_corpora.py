"""Bad corpora that a stranger may bring: texts, tables, pairs, images."""

import gzip
import io
import lzma
import pickle
import struct
import zipfile
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any

import numpy as np
import pyarrow as pa
import zstandard
from PIL import Image

from allmlp.data.corpora.images.files import ImageFilesCorpus
from allmlp.data.corpora.images.npz import NpzCorpus
from allmlp.data.corpora.local import LocalCorpus
from allmlp.data.corpora.pairs.local import LocalPairs
from tests.strangers.bad import Bad, claiming, flipped, npy, parquet


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
            yield _text(f"a flipped byte in a .{suffix}", f"bad.txt.{suffix}", flipped(whole), "truncated or corrupt")
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
    yield row("null for every text", b'{"text": null}\n', "no text in")
    yield row("an escaped NUL", b'{"text": "a\\u0000b"}\n', "field 'text' holds a NUL character")
    yield row("half of a surrogate pair", b'{"text": "\\ud800"}\n', "half of a surrogate pair")
    yield row("a raw control character", b'{"text": "a\x01b"}\n', "not JSON (Invalid control character")
    yield row("Latin-1", ROW + b'{"text": "caf\xe9"}\n', "not UTF-8: byte 0xe9 at offset 36")
    yield row("two objects on a line", ROW.strip() * 2, "not JSON (Extra data")
    yield row("a pretty-printed object", b'{\n"text": "one"\n}\n', "rows.jsonl:1: not JSON")
    yield row("one array over all lines", b'[{"text": "one"},\n{"text": "two"}]\n', "rows.jsonl:1: not JSON")


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
        yield rows(f"a column of {what}", parquet(pa.table({"text": values})), ", not text. Correct `column:`.")
    yield rows("another column", parquet(pa.table({"body": ["a"]})), "no column 'text'; it has 'body'")
    double = pa.Table.from_arrays([pa.array(["a"]), pa.array(["b"])], names=["text", "text"])
    yield rows("the column twice", parquet(double), "has 2 columns 'text'")
    yield rows("nulls of a text's type", parquet(pa.table({"text": pa.nulls(2, pa.string())})), "no text in")
    yield rows("a NUL in a text", parquet(pa.table({"text": ["a\0b"]})), "holds a NUL character")
    ends, content = pa.py_buffer(struct.pack("<2i", 0, 2)), pa.py_buffer(b"\xff\xfe")
    broken = pa.Array.from_buffers(pa.string(), 1, [None, ends, content])
    yield rows("bytes that are not UTF-8", parquet(pa.table({"text": broken})), "is not UTF-8")
    yield rows("no rows", parquet(pa.table({"text": pa.array([], pa.string())})), "no text in")
    bomb = pa.table({"text": ["a" * (1 << 20)] * 40})
    yield rows("a bomb in its pages", parquet(bomb, compression="zstd", use_dictionary=False), "expands to more than")
    same = pa.table({"text": pa.array(["a" * (1 << 20)]).take(pa.array([0] * 40)).dictionary_encode()})
    yield rows("a bomb of one repeated text", parquet(same), "expands to more than 200 times")
    long = pa.DictionaryArray.from_arrays(pa.array([0] * 1000), ["a" * (10 << 20)])
    yield rows("a text of 10 MiB in 1,000 rows", parquet(pa.table({"text": long})), "expands to more than 200 times")
    whole = parquet(pa.table({"text": ["a"] * 100}))()
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

        made = parquet(pa.table({"image": [value] if rows == 1 else value, "label": [label] * rows}))
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


def _npz() -> Iterator[Bad]:
    def archive(what: str, content: bytes, said: str) -> Bad:
        def read(path: Path) -> None:
            corpus = NpzCorpus(size=[2, 2, 1], classes=2, parts=[{"url": "https://example.org/a.npz"}])  # type: ignore[list-item]
            list(corpus._read(path))  # as fetched: no test uses a network

        return Bad(what, "archive of images", "a.npz", said, lambda: content, read)

    X, Y = npy(np.zeros((3, 2, 2, 1), np.uint8)), npy(np.zeros(3, np.int64))
    objects = npy(np.array([{}], dtype=object), allow_pickle=True)
    billions, code = claiming(Y, b"(3,), }", b"(3000000000,), }"), claiming(Y, b"(3,), }", b"exit(), }")
    yield archive("objects, which are pickles, for labels", _archive(X=X, Y=objects), "labels are object")
    yield archive("objects for images", _archive(X=objects, Y=Y), "holds object, not uint8")
    yield archive("no labels", _archive(X=X), "no array 'Y'")
    bare = _archive(X=X, Y=Y).replace(b"Y.npy", b"Y.npz")
    yield archive("labels that are no .npy", bare, "no array 'Y'")
    yield archive("a header that promises billions of labels", _archive(X=X, Y=billions), "not a whole .npz archive")
    yield archive("a header that is code", _archive(X=X, Y=code), "not a whole .npz archive")
    yield archive("a header cut off", _archive(X=X[:20], Y=Y), "not a whole .npz archive")
    yield archive("a header that does not end", _archive(X=X, Y=Y.replace(b"}", b"{")), "not a whole .npz archive")
    yield archive("images cut off", _archive(X=X[:-2], Y=Y), "ends after 2 images")
    yield archive("a flipped byte", flipped(_archive(X=X, Y=Y)), "not a whole .npz archive")
    yield archive("a pickle", pickle.dumps({}), "not a whole .npz archive")


BAD = [*_texts(), *_json(), *_tables(), *_pairs(), *_images(), *_npz()]
