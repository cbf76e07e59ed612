"""Byte-level BPE by the `tokenizers` library: trained here, or given as GPT-2's files."""

import re
from collections.abc import Iterable, Sequence
from itertools import islice
from pathlib import Path
from typing import TYPE_CHECKING, Any

import numpy as np

from allmlp.common.errors import UserError
from allmlp.data.tokenizers.base import EOD, Tokenizer, encode_in_parts

if TYPE_CHECKING:
    import tokenizers

# No token of a byte-level BPE reaches from a letter over the space after it: parts give the whole's tokens.
CUT = re.compile(r"(?<=[a-zA-Z])(?=[ \n])")


class LibraryTokenizer(Tokenizer):
    """A byte-level BPE whose `<|endoftext|>` ends a document; that string in a text is plain text."""

    def __init__(self, inner: "tokenizers.Tokenizer", description: dict[str, Any]) -> None:
        self._inner, self._description = inner, description
        eod = inner.token_to_id(EOD)
        if eod is None:
            raise UserError(f"tokenizer: has no token {EOD!r}, which must end each document. Add it to the vocabulary.")
        inner.encode_special_tokens = True
        self.vocabulary, self.eod = inner.get_vocab_size(), eod
        if max(inner.get_vocab().values()) >= self.vocabulary:
            raise UserError(f"tokenizer: {self.vocabulary:,} tokens, but ids beyond. Its ids must be 0, 1, 2, ...")

    def encode_batch(self, texts: Sequence[str]) -> list[np.ndarray]:
        """By the library's threads, without offsets."""
        return encode_in_parts(self._encode, texts, CUT)

    def _encode(self, texts: list[str]) -> list[np.ndarray]:
        encoded = self._inner.encode_batch_fast(texts, add_special_tokens=False)
        return [np.array(encoding.ids, self.dtype) for encoding in encoded]

    def decode(self, ids: Sequence[int] | np.ndarray) -> str:
        """The bytes of the tokens read as UTF-8."""
        return self._inner.decode([int(i) for i in ids if i != self.eod], skip_special_tokens=False)

    def describe(self) -> dict[str, Any]:
        """Kind and settings."""
        return self._description

    def save(self, folder: Path) -> Path:
        """Write the library's own `tokenizer.json`."""
        path = folder / "tokenizer.json"
        path.write_text(self._inner.to_str(pretty=True), encoding="utf-8")
        return path


def byte_level(model: Any) -> "tokenizers.Tokenizer":
    """A tokenizer of the library that turns each byte of a text into a letter before `model` reads it."""
    from tokenizers import Tokenizer as Library
    from tokenizers import decoders, pre_tokenizers

    inner = Library(model)
    inner.pre_tokenizer = pre_tokenizers.ByteLevel(add_prefix_space=False)
    inner.decoder = decoders.ByteLevel()
    return inner


def train(documents: Iterable[str], vocabulary: int, sample_documents: int) -> LibraryTokenizer:
    """A BPE of exactly `vocabulary` types from the first `sample_documents` documents.

    Ids: 0 the end of a document, 1 to 256 the bytes, then the merges by frequency. The library breaks ties in a fixed
    order, so the same text gives the same tokenizer whatever the number of threads. UserError when the text has fewer
    merges than asked for.
    """
    from tokenizers import models, pre_tokenizers, trainers

    inner = byte_level(models.BPE())
    trainer = trainers.BpeTrainer(
        vocab_size=vocabulary,
        special_tokens=[EOD],
        initial_alphabet=sorted(pre_tokenizers.ByteLevel.alphabet()),
        show_progress=False,
    )
    inner.train_from_iterator(islice(documents, sample_documents), trainer)
    found = inner.get_vocab_size()
    if found < vocabulary:
        raise UserError(
            f"vocabulary: {vocabulary:,} token types asked for, but this corpus yields only {found:,}. "
            f"Take at most {found:,}, a larger corpus, or more `sample_documents`."
        )
    return LibraryTokenizer(inner, {"kind": "bpe", "vocabulary": vocabulary, "sample_documents": sample_documents})


def load_gpt2(vocab_file: Path, merges_file: Path) -> LibraryTokenizer:
    """GPT-2's `vocab.json` and `merges.txt`. Raises UserError for other files, or without `<|endoftext|>`."""
    from tokenizers import models

    try:
        inner = byte_level(models.BPE.from_file(str(vocab_file), str(merges_file)))
    except Exception as error:  # the library raises bare Exception
        raise UserError(f"{vocab_file}, {merges_file}: not GPT-2's vocab.json and merges.txt ({error}).") from error
    if inner.token_to_id(EOD) is not None:
        inner.add_special_tokens([EOD])
    return LibraryTokenizer(inner, {"kind": "gpt2"})


def load_json(path: Path, description: dict[str, Any] | None = None) -> LibraryTokenizer:
    """From the library's own file. Raises UserError when it is missing or damaged."""
    from tokenizers import Tokenizer as Library

    try:
        inner = Library.from_str(path.read_text(encoding="utf-8"))
    except Exception as error:  # the library raises bare Exception
        raise UserError(f"{path}: not a tokenizer of the `tokenizers` library ({error}).") from error
    return LibraryTokenizer(inner, description or {"kind": "bpe", "vocabulary": inner.get_vocab_size()})
