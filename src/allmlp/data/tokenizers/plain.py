"""Tokenizers that need no library: bytes, and chunks of a fixed number of characters (004)."""

import json
import re
from collections import Counter
from collections.abc import Iterable, Sequence
from pathlib import Path
from typing import Any, Self

import numpy as np

from allmlp.common.errors import UserError
from allmlp.data.tokenizers.base import MOST_LOST, Tokenizer

BLOCK = 1 << 20  # bytes looked up at once
MOST_CHUNKS = 1 << 20


class ByteTokenizer(Tokenizer):
    """UTF-8 bytes are ids 0 to 255; 256 ends a document."""

    vocabulary = 257
    eod = 256

    def encode_batch(self, texts: Sequence[str]) -> list[np.ndarray]:
        """The bytes of each text."""
        return [np.frombuffer(text.encode(), np.uint8).astype(self.dtype) for text in texts]

    def decode(self, ids: Sequence[int] | np.ndarray) -> str:
        """The bytes read as UTF-8."""
        values = np.asarray(ids)
        return values[values != self.eod].astype(np.uint8).tobytes().decode("utf-8", "replace")

    def describe(self) -> dict[str, Any]:
        """The kind alone."""
        return {"kind": "bytes"}

    def save(self, folder: Path) -> Path:
        """Write `tokenizer.json`."""
        return _write(folder, self.describe())


class ChunkTokenizer(Tokenizer):
    """Consecutive chunks of `length` ASCII characters; a document's last chunk may be shorter (004).

    Text is first put in the published code's form: without characters outside ASCII, and with single spaces and
    newlines. `decode` returns that form. With length 2, "to be" becomes "to", " b", "e".

    `declared`: a vocabulary of fixed size. Chunks beyond it are left out, ids without a chunk stay unused.
    """

    def __init__(self, chunks: Sequence[str], length: int, declared: int | None = None) -> None:
        self.chunks, self.length, self.declared = list(chunks), length, declared
        self.vocabulary = declared or len(self.chunks) + 1
        self.eod = self.vocabulary - 1
        # NUL never occurs in text, so the padded big-endian bytes order chunks as strings are ordered
        padded = b"".join(chunk.encode("ascii").ljust(8, b"\0") for chunk in self.chunks)
        self._keys = np.frombuffer(padded, ">u8").astype(np.uint64)

    @classmethod
    def fit(cls, documents: Iterable[str], length: int, vocabulary: int | None = None) -> Self:
        """The sorted set of all chunks of `documents`, or of the `vocabulary` - 1 commonest.

        UserError for over 10 % of characters outside ASCII, or over a million different chunks.
        """
        found: Counter[int] = Counter()
        characters = lost = 0
        for document in documents:
            characters += len(document)
            lost += len(document) - len(document.encode("ascii", "ignore"))
            for keys in cls._blocks(document, length):
                values, counts = np.unique(keys, return_counts=True)
                found.update(dict(zip(values.tolist(), counts.tolist(), strict=True)))
            if len(found) > MOST_CHUNKS:
                raise UserError(f"length: more than {MOST_CHUNKS:,} different chunks of {length}. Take shorter ones.")
        _refuse_foreign(lost, characters)
        kept = sorted(found, key=lambda key: (-found[key], key))[: None if vocabulary is None else vocabulary - 1]
        return cls([_text(key) for key in sorted(kept)], length, vocabulary)

    @staticmethod
    def normalise(text: str) -> bytes:
        """The form in which text is cut: ASCII, no NUL, single spaces and newlines."""
        plain = text.encode("ascii", "ignore").replace(b"\0", b"")
        return re.sub(rb" {2,}", b" ", re.sub(rb"\n{2,}", b"\n", plain))

    @classmethod
    def _blocks(cls, text: str, length: int) -> Iterable[np.ndarray]:
        """Keys (uint64) of the chunks, a block of text at a time."""
        plain = cls.normalise(text)
        step = BLOCK - BLOCK % length
        for start in range(0, len(plain), step):
            block = plain[start : start + step]
            count = -(-len(block) // length)
            wide = np.zeros((count, 8), np.uint8)
            wide[:, :length] = np.frombuffer(block.ljust(count * length, b"\0"), np.uint8).reshape(count, length)
            yield wide.view(">u8")[:, 0].astype(np.uint64)

    def encode_batch(self, texts: Sequence[str]) -> list[np.ndarray]:
        """The chunks of each text.

        Raises UserError where over 10 % of all characters are outside ASCII, or for chunks that the fitted corpus does
        not have (over 10 % of them with a declared vocabulary).
        """
        characters = sum(map(len, texts))
        _refuse_foreign(characters - sum(len(text.encode("ascii", "ignore")) for text in texts), characters)
        return [self._encode(text) for text in texts]

    def _encode(self, text: str) -> np.ndarray:
        parts = [np.empty(0, self.dtype)]
        for keys in self._blocks(text, self.length):
            ids = np.minimum(np.searchsorted(self._keys, keys), len(self._keys) - 1)
            strange = self._keys[ids] != keys
            if self.declared is not None and strange.mean() <= MOST_LOST:
                ids = ids[~strange]
            elif strange.any():
                names = sorted({_text(key) for key in np.unique(keys[strange]).tolist()})
                some = ", ".join(map(repr, names[:5])) + " and others" * (len(names) > 5)
                raise UserError(
                    f"tokenizer: chunks {some} do not occur in the text that it was fitted to. "
                    f"Fit it to a corpus that holds this text too."
                )
            parts.append(ids.astype(self.dtype))
        return np.concatenate(parts)

    def decode(self, ids: Sequence[int] | np.ndarray) -> str:
        """The chunks joined."""
        return "".join(self.chunks[i] for i in ids if i < len(self.chunks))

    def lost_share(self, ids: np.ndarray, size: int) -> float:
        """Foreign characters, repeated spaces and chunks that it does not have."""
        return 1 - len(self.decode(ids)) / size if size else 0.0

    def describe(self) -> dict[str, Any]:
        """Kind, length and declared vocabulary; the corpus gives the chunks."""
        declared = {} if self.declared is None else {"vocabulary": self.declared}
        return {"kind": "chunks", "length": self.length, **declared}

    def save(self, folder: Path) -> Path:
        """Write `tokenizer.json`, the chunks in it."""
        return _write(folder, {**self.describe(), "chunks": self.chunks})


def _refuse_foreign(lost: int, characters: int) -> None:
    if lost > MOST_LOST * characters:
        raise UserError(
            f"tokenizer: {lost:,} of {characters:,} characters are outside ASCII, which chunks leave "
            f"out. Take `kind: bytes` or `kind: bpe` for this corpus."
        )


def _text(key: int) -> str:
    return key.to_bytes(8, "big").rstrip(b"\0").decode("ascii")


def _write(folder: Path, content: dict[str, Any]) -> Path:
    path = folder / "tokenizer.json"
    path.write_text(json.dumps(content, indent=0) + "\n", encoding="utf-8")
    return path
