"""What of a sampled text stands in the text that a model was trained on (002-7)."""

import re
from functools import cache
from pathlib import Path

from allmlp.tokens import TokenFile

SEARCHED = 1 << 21  # bytes of training text that are searched: its first documents
WORD = re.compile(rb"[A-Za-z]+")


@cache
def training_text(tokens: Path) -> bytes:
    """The first documents of a corpus's train split as UTF-8, about SEARCHED bytes, one line between two."""
    file, parts, size = TokenFile(tokens), [], 0
    for ids in file.documents("train"):
        parts.append(file.decode(ids).encode())
        size += len(parts[-1])
        if size >= SEARCHED:
            break
    return b"\n".join(parts)


@cache
def known_words(tokens: Path) -> frozenset[bytes]:
    """The words of `training_text`, in lower case."""
    return frozenset(word.lower() for word in WORD.findall(training_text(tokens)))


def known_share(sample: bytes, known: frozenset[bytes]) -> float:
    """Share of a sample's whole words that are known; nan without a word. Its last word may be cut off: left out."""
    words = [match[0].lower() for match in WORD.finditer(sample) if match.end() < len(sample)]
    return sum(word in known for word in words) / len(words) if words else float("nan")


def longest_copy(sample: bytes, text: bytes) -> int:
    """Bytes of the longest part of `sample` that stands in `text` word for word."""
    best = 0
    for start in range(len(sample)):
        at = 0
        while start + best < len(sample) and (at := text.find(sample[start : start + best + 1], at)) >= 0:
            best += 1
            while start + best < len(sample) and text[at + best : at + best + 1] == sample[start + best :][:1]:
                best += 1
    return best
