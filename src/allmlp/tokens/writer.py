"""Documents in, a folder of tokens out: streaming, on all cores, whole or not at all."""

import hashlib
from collections import deque
from collections.abc import Generator, Iterable, Iterator
from concurrent.futures import Future, ThreadPoolExecutor
from pathlib import Path
from typing import Any, NamedTuple

import numpy as np

from allmlp.errors import UserError
from allmlp.tokenizers.base import Tokenizer
from allmlp.tokens.folders import partial_folder, publish, seal
from allmlp.tokens.shards import SplitWriter, writing

SHARD_TOKENS = 1 << 27  # 256 MiB of uint16
BATCH_CHARACTERS = 1 << 19  # encoded in one call: enough for all cores, small enough for the library's memory
BATCH_DOCUMENTS = 4096
AHEAD = 2  # batches being encoded while one is written: the cores never wait for each other
VALIDATION = 20  # one document in so many
SPLITS = ("train", "validation")


def write_tokens(
    documents: Iterable[str],
    tokenizer: Tokenizer,
    folder: Path,
    *,
    shard_tokens: int = SHARD_TOKENS,
    describe: dict[str, Any],
    both_splits: bool = False,
) -> dict[str, Any]:
    """Encode `documents` in order, each ended by `eod`, into `folder`; returns the content of its `meta.json`.

    Memory holds a few batches. The same documents give the same bytes. `describe`: the source of the documents, as
    JSON. An existing `folder` with the same content is left as it is. `both_splits`: an empty split is an error.
    UserError for a corpus without documents, text that is not Unicode or that the tokenizer cannot encode, a full or
    read-only disk, and a `folder` with other content. No failure leaves files behind.
    """
    with partial_folder(folder) as partial:
        end = np.array([tokenizer.eod], tokenizer.dtype)
        writers = {split: SplitWriter(partial, folder, split, end, shard_tokens) for split in SPLITS}
        encoded = _encoded(documents, tokenizer)
        try:
            for document, ids in encoded:
                split = "train" if document.hash % VALIDATION else "validation"
                writers[split].add(ids, document.hash, document.bytes)
            for writer in writers.values():
                writer.finish()
        finally:
            encoded.close()
            for writer in writers.values():
                writer.abandon()
        count = sum(writer.documents for writer in writers.values())
        if not count:
            raise UserError("the corpus has no documents: nothing to tokenize. Check its files and `limit:`.")
        if both_splits and (empty := [split for split, writer in writers.items() if not writer.documents]):
            raise UserError(
                f"{folder}: the {empty[0]} split has none of the {count:,} documents: validation takes one in "
                f"{VALIDATION}, by its digest. Take more documents, or shorter ones (`passage:` cuts long ones)."
            )
        with writing(partial, folder):
            meta = sealed(partial, {"documents": count}, writers, tokenizer, describe)
            publish(partial, folder)
    return meta


class Document(NamedTuple):
    """A text, the hash that chooses its split, and its length in bytes of UTF-8."""

    text: str
    hash: int
    bytes: int


def hashed(number: int, text: str) -> Document:
    """Document `number` with its hash. UserError for text that is not Unicode."""
    try:
        data = text.encode()
    except UnicodeEncodeError as error:
        raise UserError(
            f"document {number:,}, character {error.start:,}: half of a surrogate pair, which is not text "
            f"({text[:40]!r}...). Mend or remove the document."
        ) from None
    return Document(text, int.from_bytes(hashlib.sha256(data).digest()[:8], "big"), len(data))


def _batches(documents: Iterable[str]) -> Iterator[list[Document]]:
    batch: list[Document] = []
    size = 0
    for number, text in enumerate(documents):
        batch.append(hashed(number, text))
        size += len(text)
        if size >= BATCH_CHARACTERS or len(batch) >= BATCH_DOCUMENTS:
            yield batch
            batch, size = [], 0
    if batch:
        yield batch


def _encoded(documents: Iterable[str], tokenizer: Tokenizer) -> Generator[tuple[Document, np.ndarray], None, None]:
    """Each document with its ids, in order, encoded a few batches ahead of the writer."""
    waiting: deque[tuple[list[Document], Future[list[np.ndarray]]]] = deque()
    pool = ThreadPoolExecutor(AHEAD, thread_name_prefix="tokenize")
    try:
        for batch in _batches(documents):
            waiting.append((batch, pool.submit(tokenizer.encode_batch, [document.text for document in batch])))
            if len(waiting) > AHEAD:
                done, future = waiting.popleft()
                yield from zip(done, future.result(), strict=True)
        for done, future in waiting:
            yield from zip(done, future.result(), strict=True)
    finally:
        pool.shutdown(cancel_futures=True)


def sealed(
    partial: Path, counts: dict[str, int], writers: dict[str, SplitWriter], tokenizer: Tokenizer, source: dict[str, Any]
) -> dict[str, Any]:
    """Write the tokenizer and `meta.json` into `partial`; `bytes` are those of the UTF-8 text."""
    tokenizer.save(partial)
    meta = {
        **counts,
        **{key: sum(getattr(writer, key) for writer in writers.values()) for key in ("tokens", "bytes")},
        "splits": {
            name: {"documents": w.documents, "tokens": w.tokens, "bytes": w.bytes, "shards": w.shards}
            for name, w in writers.items()
        },
        "vocabulary": tokenizer.vocabulary,
        "eod": tokenizer.eod,
        "dtype": tokenizer.dtype.name,
        "tokenizer": tokenizer.describe(),
        "source": source,
    }
    return seal(partial, meta)
