"""The members that a bundle may have: their places, their formats, and their order."""

import io
import re
from dataclasses import dataclass
from hashlib import sha256
from pathlib import Path

import numpy as np

from allmlp.common import formats, paths
from allmlp.common.errors import UserError

MANIFEST, FORMAT = "manifest.json", formats.FORMATS["bundle"]
NAME = r"[A-Za-z0-9_][A-Za-z0-9_.+=-]*"  # no leading dot: no member is hidden or leads upwards
PLACES = re.compile(
    rf"results/(checkpoints|tokens)/{NAME}/{NAME}|work/measurements/{NAME}/{NAME}/{NAME}-r\d+\.parquet"
    rf"|work/runs/{NAME}/{NAME}|work/timings/{NAME}\.json|work/plan\.json"
)
MAGIC = {".parquet": b"PAR1", ".arrow": b"ARROW1"}
LAST = ("final.safetensors", "meta.json", "complete")  # each represents its whole folder


@dataclass(frozen=True)
class Member:
    """A file of a bundle, by its place below the project; `content` if it differs from the file there."""

    name: str
    content: bytes | None = None

    def read(self) -> bytes:
        """Its bytes."""
        return Path(self.name).read_bytes() if self.content is None else self.content

    def entry(self) -> dict[str, str | int]:
        """Its entry in the manifest."""
        if self.content is None:
            return {"bytes": Path(self.name).stat().st_size, "sha256": paths.file_sha256(Path(self.name))}
        return {"bytes": len(self.content), "sha256": sha256(self.content).hexdigest()}


def sort_key(name: str) -> tuple[str, int, str]:
    """Sort key: the file that represents a folder comes after the rest of it, a state after its weights."""
    folder, file = name.rsplit("/", 1)
    late = 2 if file in LAST else 1 if re.fullmatch(r"state-\d+\.json", file) else 0
    return folder, late, file


def check_name(name: str) -> None:
    """UserError for a place outside those of bundles."""
    if not PLACES.fullmatch(name) or ".." in name.split("/"):
        raise UserError(
            f"{name[:200]!r}: bundles hold runs, tokens, measurements and timings alone. Nothing was unpacked."
        )


def check_form(name: str, content: bytes) -> None:
    """UserError for content that does not fit the name: weights are safetensors, tables Parquet or Arrow, the rest
    JSON."""
    if not _is_well_formed(name, content):
        raise UserError(f"{name}: is not what its name says. Nothing was unpacked.")


def _is_well_formed(name: str, content: bytes) -> bool:
    suffix = Path(name).suffix
    if suffix in MAGIC:
        return content.startswith(MAGIC[suffix])
    if suffix == ".safetensors":
        size = int.from_bytes(content[:8], "little")
        return len(content) >= 8 + size and _is_json(content[8 : 8 + size])
    if suffix == ".json":
        return _is_json(content)
    if suffix == ".npy":
        return _is_numbers(content)
    if suffix == ".jsonl":
        return all(map(_is_json, content.splitlines()))
    if name.endswith("/tokenizer.model"):  # SentencePiece's, which reads it as data
        return name.startswith("results/tokens/")
    return name.endswith("/complete") and not content


def _is_numbers(content: bytes) -> bool:
    try:
        np.load(io.BytesIO(content), allow_pickle=False)
    except Exception:  # numpy reads headers as Python's literals, which fail in many ways
        return False
    return content.startswith(b"\x93NUMPY")  # np.load reads archives too


def _is_json(content: bytes) -> bool:
    try:
        formats.parse_json(content)
    except ValueError:
        return False
    return True
