"""Documents with their place in the source, hashed and encoded on all cores, a few batches ahead of who takes them."""

from collections import deque
from collections.abc import Callable, Generator, Iterable, Iterator
from concurrent.futures import Future, ThreadPoolExecutor
from itertools import islice
from typing import Any, NamedTuple

import numpy as np

from allmlp.common.errors import UserError
from allmlp.data.tokenizers.base import Tokenizer
from allmlp.data.tokens.repeats import HashSet, hash_bytes, near_hash

BATCH_CHARACTERS = 1 << 19  # encoded in one call: enough for all cores, small enough for the library's memory
BATCH_DOCUMENTS = 4096
AHEAD = 2  # batches being encoded while one is written: the cores never wait for each other

# The documents after a place (all after None), each with the place after it: JSON that only the source understands.
Source = Callable[[Any], Iterator[tuple[Any, str]]]


def number_documents(documents: Iterable[str], place: int | None = None) -> Iterator[tuple[int, str]]:
    """A source of documents that can only be read from the start: places are numbers of documents."""
    yield from enumerate(islice(documents, place, None), (place or 0) + 1)


class Document(NamedTuple):
    """A text, the hash that chooses its split, its length in bytes of UTF-8, and a hash of near duplicates."""

    text: str
    hash: int
    bytes: int
    near: int


class PlacedDocument(NamedTuple):
    """A document, the place after it, and how many repeated ones before it were left out."""

    document: Document
    place: Any
    left_out: int


def hash_document(number: int, text: str) -> Document:
    """Document `number` with its hash. UserError for text that is not Unicode."""
    try:
        data = text.encode()
    except UnicodeEncodeError as error:
        raise UserError(
            f"document {number:,}, character {error.start:,}: half of a surrogate pair, which is not text "
            f"({text[:40]!r}...). Mend or remove the document."
        ) from None
    return Document(text, hash_bytes(data), len(data), near_hash(data))


class Batches:
    """The documents of a source in batches. With `seen`, those whose hash is in it are left out and counted."""

    def __init__(self, documents: Iterator[tuple[Any, str]], number: int, seen: HashSet | None, left_out: int) -> None:
        self._documents, self._number, self._seen, self.left_out = documents, number, seen, left_out

    def __iter__(self) -> Iterator[list[PlacedDocument]]:
        batch: list[tuple[Document, Any]] = []
        size = 0
        for number, (place, text) in enumerate(self._documents, self._number):
            batch.append((hash_document(number, text), place))
            size += len(text)
            if size >= BATCH_CHARACTERS or len(batch) >= BATCH_DOCUMENTS:
                if new := self._unseen_documents(batch):
                    yield new
                batch, size = [], 0
        if new := self._unseen_documents(batch):
            yield new

    def _unseen_documents(self, batch: list[tuple[Document, Any]]) -> list[PlacedDocument]:
        if self._seen is None:
            return [PlacedDocument(document, place, 0) for document, place in batch]
        kept = []
        for (document, place), new in zip(batch, self._seen.add(one.hash for one, _ in batch), strict=True):
            if new:
                kept.append(PlacedDocument(document, place, self.left_out))
            self.left_out += not new
        return kept


def encode_batches(
    batches: Iterable[list[PlacedDocument]], tokenizer: Tokenizer
) -> Generator[tuple[PlacedDocument, np.ndarray], None, None]:
    """Each document with its ids, in order, encoded a few batches ahead of the writer."""
    waiting: deque[tuple[list[PlacedDocument], Future[list[np.ndarray]]]] = deque()
    pool = ThreadPoolExecutor(AHEAD, thread_name_prefix="tokenize")
    try:
        for batch in batches:
            waiting.append((batch, pool.submit(tokenizer.encode_batch, [one.document.text for one in batch])))
            if len(waiting) > AHEAD:
                done, future = waiting.popleft()
                yield from zip(done, future.result(), strict=True)
        for done, future in waiting:
            yield from zip(done, future.result(), strict=True)
    finally:
        pool.shutdown(cancel_futures=True)
