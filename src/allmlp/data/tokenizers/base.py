"""The interface of every tokenizer."""

import re
from abc import ABC, abstractmethod
from collections.abc import Callable, Sequence
from pathlib import Path
from typing import Any

import numpy as np

LONG = 1 << 18  # characters: longer texts are encoded in parts, on all cores and in less memory
MOST_LOST = 0.1  # share of a text that has no ids of its own, above which it is refused
EOD = "<|endoftext|>"  # the name of the end of a document


def encode_in_parts(
    encode: Callable[[list[str]], list[np.ndarray]], texts: Sequence[str], cut: re.Pattern[str]
) -> list[np.ndarray]:
    """Encode `texts`, long ones in parts that end where `cut` first matches after `LONG` characters.

    The next part starts at the end of the match: matched characters are in neither part.
    """
    parts = [_parts(text, cut) for text in texts]
    ids = encode([part for text in parts for part in text])
    if len(ids) == len(texts):
        return ids
    whole, start = [], 0
    for text in parts:
        whole.append(np.concatenate(ids[start : start + len(text)]))
        start += len(text)
    return whole


def _parts(text: str, cut: re.Pattern[str]) -> list[str]:
    parts, start = [], 0
    while len(text) - start > LONG and (found := cut.search(text, start + LONG)):
        parts.append(text[start : found.start()])
        start = found.end()
    return [*parts, text[start:]] if parts else [text]


class Tokenizer(ABC):
    """Text to ids in 0 .. vocabulary - 1 and back.

    `vocabulary` counts all types, with `eod`, the reserved id that ends a document. `encode_batch` never returns it,
    and `decode` leaves it out.
    """

    vocabulary: int
    eod: int

    @property
    def dtype(self) -> np.dtype:
        """The smallest unsigned integer that holds every id: uint16 up to 65,536 types, else uint32."""
        return np.dtype(np.uint16 if self.vocabulary <= 1 << 16 else np.uint32)

    def lost_share(self, ids: np.ndarray, size: int) -> float:
        """The share of a text of `size` bytes that its ids (n,) do not give back."""
        return 0.0

    @abstractmethod
    def encode_batch(self, texts: Sequence[str]) -> list[np.ndarray]:
        """One array of ids, of type `dtype`, per text. Raises UserError for text that it cannot encode."""

    @abstractmethod
    def decode(self, ids: Sequence[int] | np.ndarray) -> str:
        """The text of `ids`; bytes that are not UTF-8 become U+FFFD."""

    @abstractmethod
    def describe(self) -> dict[str, Any]:
        """Kind and settings as JSON: the same on every machine, no paths."""

    @abstractmethod
    def save(self, folder: Path) -> Path:
        """Write one file into `folder`, which `load` reads; returns its path."""
