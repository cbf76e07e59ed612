"""Pairs on disk: a folder of tokens (see `allmlp.data.tokens`) with a series of files per side and split.

    meta.json, tokenizer.json
    queries-train-00000.arrow, texts-train-00000.arrow, words-train.arrow; the same of validation

Row i of the queries is about row i of the texts. Each text occurs once, with its first query. If its hash (the first
8 bytes of its sha256) is a multiple of `held_out`, it is for validation: no text is in both splits. `words` holds the
share of a query's content words that occur in its text.
"""

import re
from collections.abc import Iterable, Iterator
from itertools import islice
from pathlib import Path
from typing import Any, NamedTuple

import numpy as np
import pyarrow as pa

from allmlp.common.errors import UserError
from allmlp.data.tokenizers.base import Tokenizer
from allmlp.data.tokens.encoding import hash_document
from allmlp.data.tokens.folders import partial_folder, publish
from allmlp.data.tokens.reader import TokenFile
from allmlp.data.tokens.shards import SplitWriter, writing
from allmlp.data.tokens.writer import SHARD_TOKENS, SPLITS, seal_tokens

RECIPE = 1
SIDES = ("queries", "texts")
AT_ONCE = 4096  # pairs encoded in one call
WORD = re.compile(r"[^\W\d_]+(?:['’][^\W\d_]+)*")
FUNCTION_WORDS = frozenset(
    WORD.findall(
        """
        a about after again all also am an and another any are as at be because been before being both but
        by can could did do does doing done down during each either every few for from had has have having
        he her here hers herself him himself his how i if in into is it its itself just many may me might
        more most much must my myself neither no nor not now of off on once one only onto or other our out
        over own s shall she should so some someone such t than that the their them themselves then there
        these they this those through to too under until up upon us very was we were what when where which
        while who whom whose why will with without would you your"""
    )
)


class _PreparedPair(NamedTuple):
    sides: tuple[str, str]  # query and text
    hash: int
    split: str
    sizes: tuple[int, int]  # in bytes
    shared: float


def shared_words(query: str, text: str) -> float:
    """Share of the query's different content words that are words of the text too; 0 for a query without any.

    >>> shared_words("Who found the lost ring?", "A fox found a ring.")
    0.6666666666666666
    """
    content = set(WORD.findall(query.lower())) - FUNCTION_WORDS
    return len(content & set(WORD.findall(text.lower()))) / len(content) if content else 0.0


def write_pairs(
    pairs: Iterable[tuple[str, str]], tokenizer: Tokenizer, folder: Path, *, held_out: int, describe: dict[str, Any]
) -> dict[str, Any]:
    """Encode both sides into `folder`; returns the content of its `meta.json`. The same pairs give the same bytes.

    Blank sides and repeated texts are left out. Raises UserError as `write_tokens` does, and where a split stays empty.
    """
    with partial_folder(folder) as partial:
        end = np.array([tokenizer.eod], tokenizer.dtype)
        names = [f"{side}-{split}" for side in SIDES for split in SPLITS]
        writers = {name: SplitWriter(partial, folder, name, end, SHARD_TOKENS) for name in names}
        shares: dict[str, list[float]] = {split: [] for split in SPLITS}
        prepared = _PairPreparer(held_out)
        waiting = prepared(pairs)
        try:
            while block := list(islice(waiting, AT_ONCE)):
                for place, side in enumerate(SIDES):
                    encoded = tokenizer.encode_batch([one.sides[place] for one in block])
                    for one, ids in zip(block, encoded, strict=True):
                        writers[f"{side}-{one.split}"].add(ids, one.hash, one.sizes[place])
                for one in block:
                    shares[one.split].append(one.shared)
            for writer in writers.values():
                writer.finish()
        finally:
            for writer in writers.values():
                writer.abandon()
        if empty := [split for split in SPLITS if not shares[split]]:
            raise UserError(
                f"the corpus has {sum(map(len, shares.values()))} pairs, none for {empty[0]}. Take more, or another "
                "`held_out:`."
            )
        with writing(partial, folder):
            for split, values in shares.items():
                _write_shares(partial / f"words-{split}.arrow", values)
            counts = {"documents": sum(map(len, shares.values())), "left_out": prepared.left_out}
            meta = seal_tokens(partial, counts, writers, tokenizer, describe)
            publish(partial, folder)
    return meta


class _PairPreparer:
    """Pairs with their split and their counts. `left_out`: the number of skipped pairs."""

    def __init__(self, held_out: int) -> None:
        self.held_out, self.left_out = held_out, 0
        self._seen: set[int] = set()

    def __call__(self, pairs: Iterable[tuple[str, str]]) -> Iterator[_PreparedPair]:
        for number, (query, text) in enumerate(pairs):
            about, of = hash_document(number, query), hash_document(number, text)
            if not query.strip() or not text.strip() or of.hash in self._seen:
                self.left_out += 1
                continue
            self._seen.add(of.hash)
            split = "train" if of.hash % self.held_out else "validation"
            yield _PreparedPair((query, text), of.hash, split, (about.bytes, of.bytes), shared_words(query, text))


def _write_shares(path: Path, values: list[float]) -> None:
    batch = pa.record_batch({"shared_words": pa.array(values, pa.float64())})
    with path.open("wb") as file, pa.ipc.new_file(file, batch.schema) as writer:
        writer.write_batch(batch)


class PairFile:
    """One folder of pairs, opened and verified; splits are "train" and "validation".

    Raises:
        UserError: when the folder is not there, has no pairs, or a file in it is missing, truncated or changed.
    """

    def __init__(self, folder: Path | str) -> None:
        self._file = TokenFile(folder)
        self.folder, self.vocabulary, self.end = self._file.folder, self._file.vocabulary, self._file.eod
        if "queries-train" not in self._file.meta["splits"]:
            raise UserError(f"{folder}: has no pairs. Name a corpus of pairs.")

    def queries(self, split: str) -> list[np.ndarray]:
        """The ids of each query, its end included: read-only arrays in the file's memory."""
        return list(self._file.documents(f"queries-{split}"))

    def texts(self, split: str) -> list[np.ndarray]:
        """The ids of each text, its end included, in the order of the queries."""
        return list(self._file.documents(f"texts-{split}"))

    def shared_words(self, split: str) -> np.ndarray:
        """Of each pair the share of the query's content words that occur in the text: float64 in 0 .. 1."""
        with pa.memory_map(str(self.folder / f"words-{split}.arrow")) as source:
            return pa.ipc.open_file(source).read_all().column("shared_words").to_numpy().copy()

    def decode(self, ids: Iterable[int] | np.ndarray) -> str:
        """The text of `ids`, without ends."""
        return self._file.decode(ids if isinstance(ids, np.ndarray) else list(ids))
