"""Bad files of the project's own kinds that a stranger may bring: parameters, weights, bundles, measurements, logs."""

import io
import json
import pickle
import struct
import tarfile
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any

import numpy as np
import pyarrow as pa
import pyarrow.parquet as pq
import torch
from safetensors.torch import save

from allmlp.measurements import measurement, store
from allmlp.pipeline.bundles.members import FORMAT
from allmlp.pipeline.bundles.unpacking import unpack
from allmlp.plan import params
from allmlp.studies.quadrature import certify
from allmlp.studies.quadrature.circuits import LAYOUT
from allmlp.training.storage import read_log
from tests.conftest import lay
from tests.faults.test_hostile_bundles import packed, true_manifest
from tests.strangers.bad import Bad, claiming, npy, parquet


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
    for name in ("../outside.json", "/etc/outside.json", "work/runs/.hidden/log.jsonl", "src/allmlp/cli/app.py"):
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
    numbers = npy(np.zeros(3, np.uint8))
    huge = claiming(numbers, b"(3,), }", b"(1000000000000000,), }")
    for what, array in (("a petabyte", huge), ("no end", numbers.replace(b"}", b"("))):
        named = {**good, "results/tokens/a-0/train-images.npy": array}
        yield tar(f"an .npy file whose header promises {what}", "is not what its name says", named)


def _counting(table: pa.Table, rows: dict[int, int]) -> bytes:
    """The table as Parquet, with other counts in its footer. `rows`: place -> count; 0 the file's, -1 a row group's."""
    content = parquet(table, compression="none", write_statistics=False, store_schema=False)()
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
    yield "a text of 1 MiB in 300 rows", parquet(same), "take more than 256 MiB"
    lists = one.append_column("t", [[["a"]]])
    yield "a column of lists", parquet(lists), "not numbers or texts"
    yield "no columns", parquet(pa.table({})), "0 rows of 0 columns"


def _measurements() -> Iterator[Bad]:
    def own(what: str, content: Callable[[], bytes] | bytes, said: str) -> Bad:
        made = content if callable(content) else lambda: content
        return Bad(what, "measurement", "a-r1.parquet", said, made, measurement.read)

    table = pa.table({"run": ["a"]})
    yield own("a pickle", pickle.dumps({}), "cannot be read as a measurement")
    yield own("no description", parquet(table), "cannot be read as a measurement")
    deep = table.replace_schema_metadata({"allmlp": "[" * 100_000})
    yield own("100,000 lists in one another", parquet(deep), "cannot be read as a measurement")
    lists = table.replace_schema_metadata({"allmlp": "[1]"})
    yield own("a list for a description", parquet(lists), "cannot be read as a measurement")
    yield from (own(*made) for made in _made_up({"run": ["a"]}))


def _parts() -> Iterator[Bad]:
    def part(what: str, content: Callable[[], bytes] | bytes, said: str) -> Bad:
        made = content if callable(content) else lambda: content

        def read(path: Path) -> None:
            named = path.rename(path.with_name(f"{store.part_digest(path.read_bytes())}.parquet"))
            store._read(named)  # all its columns
            list(store._split(named))

        return Bad(what, "part of the measurements", "part", said, made, read)

    about = {"run": ["a"], "settings": ["s"], "recipes": ["1.2"], "since": [""]}
    table = pa.table(about)
    yield part("a pickle", pickle.dumps({}), "cannot be read as a part")
    yield part("no runs", parquet(table.drop_columns("run")), "has no column run")
    yield part("no rows", parquet(table[:0]), "it has no rows")
    yield part("a number for a run", parquet(pa.table({**about, "run": [1]})), "a description is no text")
    yield part("null for a run", parquet(pa.table({**about, "run": pa.nulls(1, pa.string())})), "is no text")
    yield part("recipes that are no numbers", parquet(pa.table({**about, "recipes": ["1;2"]})), "are no numbers")
    yield from (part(*made) for made in _made_up(about))
    yield Bad(
        "bytes of another digest",
        "part of the measurements",
        "0" * 16 + ".parquet",
        "is the digest of",
        parquet(table),
        lambda path: list(store._split(path)),
    )


def _logs() -> Iterator[Bad]:
    def log(what: str, content: Callable[[], bytes] | bytes, said: str) -> Bad:
        made = content if callable(content) else lambda: content
        return Bad(what, "training log", "log.parquet", said, made, lambda path: read_log(path, "delete it."))

    yield log("a pickle", pickle.dumps({}), "cannot be read as a training log")
    yield from (log(*made) for made in _made_up({"loss": [1.0]}))


BAD = [*_overlays(), *_weights(), *_bundles(), *_measurements(), *_parts(), *_logs()]
