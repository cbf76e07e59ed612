"""Damaged files, made from good ones, read by their parsers: `python -m tests.strangers.mutating COUNT`.

COUNT random changes for each parser, by seeds 0, 1, ..., and of Parquet every byte of the footer: pyarrow 26 aborts on
some when asked for a column's sizes. Each input is named before it is read, so the last line says what ended this.
"""

import random
import sys
import tempfile
from collections.abc import Iterator
from pathlib import Path

from tests.strangers.parsers import PARSERS, Parser, tried

FOOTERS = ("Parquet of text", "measurement", "part of the measurements")


def mutated(content: bytes, draw: random.Random) -> bytes:
    """The content with up to four changes: a bit flipped, or bytes replaced, removed or added."""
    found = bytearray(content)
    for _ in range(draw.choice([1, 1, 2, 4])):
        place, some = draw.randrange(len(found) + 1), draw.randbytes(draw.randint(1, 3))
        kind = draw.randrange(8)
        if kind == 0:
            del found[place : place + len(some)]
        elif kind == 1:
            found[place:place] = some
        elif kind == 2:
            found[place : place + len(some)] = some
        elif place < len(found):
            found[place] ^= 1 << draw.randrange(8)
    return bytes(found)


def end_changed(content: bytes) -> Iterator[bytes]:
    """A Parquet file with the lowest bit of each byte of its footer flipped in turn."""
    length = int.from_bytes(content[-8:-4], "little")
    for place in range(len(content) - 8 - length, len(content) - 8):
        yield content[:place] + bytes([content[place] ^ 1]) + content[place + 1 :]


def inputs(parser: Parser, count: int) -> Iterator[tuple[str, bytes]]:
    """The damaged inputs of a parser, with their names."""
    seeds = parser.seeds()
    for seed in range(count):
        draw = random.Random(f"{parser.name} {seed}")
        yield f"seed {seed}", mutated(draw.choice(seeds), draw)
    if parser.name in FOOTERS:
        yield from ((f"byte {place} of the footer", content) for place, content in enumerate(end_changed(seeds[0])))


def main() -> None:
    """Read them all; the exception of a faulty parser ends it."""
    for parser in PARSERS:
        with tempfile.TemporaryDirectory() as folder:
            for name, content in inputs(parser, int(sys.argv[1])):
                print(f"{parser.name}, {name}", flush=True)
                tried(parser, content, Path(folder))


if __name__ == "__main__":
    main()
