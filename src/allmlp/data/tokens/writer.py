"""Documents in, a folder of tokens out: streaming, on all cores, whole or not at all."""

from collections.abc import Iterable
from contextlib import ExitStack
from functools import partial as bound
from itertools import chain
from pathlib import Path
from typing import Any

import numpy as np

from allmlp.common import paths
from allmlp.common.errors import UserError
from allmlp.data.tokenizers.base import Tokenizer
from allmlp.data.tokens.encoding import Batches, Source, encode_batches, number_documents
from allmlp.data.tokens.folders import partial_folder, publish, seal
from allmlp.data.tokens.repeats import HashSet, RepeatCounter
from allmlp.data.tokens.resume import FinishedSpans
from allmlp.data.tokens.shards import SplitWriter, hashes, writing

SHARD_TOKENS = 1 << 27  # 256 MiB of uint16
VALIDATION = 20  # one document in so many
FIRST = 1000  # documents in which unknown text is counted
SPLITS = ("train", "validation")


def write_tokens(
    documents: Iterable[str] | Source,
    tokenizer: Tokenizer,
    folder: Path,
    *,
    shard_tokens: int = SHARD_TOKENS,
    describe: dict[str, Any],
    both_splits: bool = False,
    deduplicate: bool = False,
) -> dict[str, Any]:
    """Encode `documents` in order, each ended by `eod`, into `folder`; returns the content of its `meta.json`.

    Memory holds a few batches. The same documents give the same bytes. `describe`: the source of the documents, as
    JSON. An existing `folder` with the same content is left as it is. `both_splits`: an empty split is an error.
    `deduplicate`: a document is there once. A `Source` is read on from a place, other documents from the start.

    UserError for a corpus without documents, text that is not Unicode or that the tokenizer cannot encode, a full or
    read-only disk, and a `folder` with other content. A failure or a kill leaves finished shards of `shard_tokens`
    beside `folder`, which the next call takes over, and nothing else.
    """
    source = documents if callable(documents) else bound(number_documents, documents)
    with partial_folder(folder) as partial, ExitStack() as last:
        with writing(partial, folder):
            saved = tokenizer.save(partial)
            kept = FinishedSpans(folder, paths.digest([describe, shard_tokens, deduplicate, paths.file_sha256(saved)]))
            last.callback(kept.close)
            saved.unlink()
        writing_all = _TokenWriter(partial, folder, tokenizer, shard_tokens, kept, HashSet() if deduplicate else None)
        try:
            writing_all.take(source)
        except UserError as error:
            raise kept.explain(error) from error
        if lost := writing_all.lost_share():
            print(f"{folder}: its tokenizer does not know {lost:.1%} of the first documents' text", flush=True)
        if repeated := writing_all.repeats.describe():
            print(
                f"{folder}: {repeated}{'' if deduplicate else '. `deduplicate: true` leaves exact ones out'}",
                flush=True,
            )
        writers = writing_all.writers
        count = sum(writer.documents for writer in writers.values())
        if not count:
            raise UserError("the corpus has no documents: nothing to tokenize. Check its files and `limit:`.")
        if both_splits and (empty := [split for split, writer in writers.items() if not writer.documents]):
            raise UserError(
                f"{folder}: the {empty[0]} split has none of the {count:,} documents: validation takes one in "
                f"{VALIDATION}, by its digest. Take more documents, or shorter ones (`passage:` cuts long ones)."
            )
        with writing(partial, folder):
            counts = {"documents": count} | ({"left_out": writing_all.left_out} if deduplicate else {})
            whole = kept.gather(partial)
            meta = seal_tokens(whole, counts, writers, tokenizer, describe)
            publish(whole, folder)
        kept.clear()
    return meta


class _TokenWriter:
    """The shards of both splits, from the first document after the finished spans on."""

    def __init__(
        self,
        partial: Path,
        folder: Path,
        tokenizer: Tokenizer,
        shard_tokens: int,
        kept: FinishedSpans,
        seen: HashSet | None,
    ) -> None:
        last = kept.spans[-1] if kept.spans else {"splits": {}, "left_out": 0, "place": None}
        end = np.array([tokenizer.eod], tokenizer.dtype)
        self.writers = {
            split: SplitWriter(partial, folder, split, end, shard_tokens, last["splits"].get(split)) for split in SPLITS
        }
        self._partial, self._tokenizer, self._kept, self._seen = partial, tokenizer, kept, seen
        self.left_out, self._place = last["left_out"], last["place"]
        self.repeats = RepeatCounter()
        self._first: list[tuple[float, int]] = []  # what the tokenizer does not know of a text, and its bytes
        if kept.spans:
            tokens = sum(writer.tokens for writer in self.writers.values())
            print(f"{folder}: goes on after finished shards: {len(kept.spans):,}, {tokens:,} tokens", flush=True)
        if seen is not None:
            for some in chain.from_iterable(map(hashes, kept.files)):
                seen.add(some)

    def take(self, source: Source) -> None:
        """Write all that the source still has."""
        number = sum(writer.documents for writer in self.writers.values()) + self.left_out
        batches = Batches(source(self._place), number, self._seen, self.left_out)
        documents = encode_batches(batches, self._tokenizer)
        try:
            for (document, place, left_out), ids in documents:
                if len(self._first) < FIRST:
                    self._first.append((self._tokenizer.lost_share(ids, document.bytes), document.bytes))
                split = "train" if document.hash % VALIDATION else "validation"
                self.repeats.add(split, document.hash, document.near)
                if self.writers[split].add(ids, document.hash, document.bytes) and split == "train":
                    self._finish_span(place, left_out)
            for writer in self.writers.values():
                writer.finish()
            self.left_out = batches.left_out
        finally:
            documents.close()
            for writer in self.writers.values():
                writer.abandon()

    def lost_share(self) -> float:
        """The share of the first documents' text that their ids do not give back."""
        size = sum(size for _, size in self._first)
        return sum(lost * size for lost, size in self._first) / size if size else 0.0

    def _finish_span(self, place: Any, left_out: int) -> None:
        self.writers["validation"].finish()
        states = {split: writer.state() for split, writer in self.writers.items()}
        before = {path.name for path in self._kept.files}
        names = [name for writer in self.writers.values() for name in writer.shards if name not in before]
        with writing(self._partial, self._kept.of):
            self._kept.keep(self._partial, names, {"place": place, "left_out": left_out, "splits": states})
        tokens = sum(writer.tokens for writer in self.writers.values())
        print(f"{self._kept.of}: finished shards: {len(self._kept.spans):,}, {tokens:,} tokens", flush=True)


def seal_tokens(
    partial: Path, counts: dict[str, int], writers: dict[str, SplitWriter], tokenizer: Tokenizer, source: dict[str, Any]
) -> dict[str, Any]:
    """Write the tokenizer and `meta.json` into `partial`; `bytes` are those of the UTF-8 text."""
    tokenizer.save(partial)
    meta = {
        **counts,
        **{key: sum(getattr(writer, key) for writer in writers.values()) for key in ("tokens", "bytes")},
        "splits": {name: writer.state() for name, writer in writers.items()},
        "vocabulary": tokenizer.vocabulary,
        "eod": tokenizer.eod,
        "dtype": tokenizer.dtype.name,
        "tokenizer": tokenizer.describe(),
        "source": source,
    }
    return seal(partial, meta)
