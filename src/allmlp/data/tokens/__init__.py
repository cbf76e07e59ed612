"""Tokens on disk: `results/tokens/<corpus>-<digest>/`, written once, then memory-mapped.

    meta.json                 counts, tokenizer, source, sha256 of every other file
    tokenizer.json / .model   turns ids back into text
    train-00000.arrow ...     Arrow IPC files: `tokens: list<uint16 | uint32>`, `document: uint64`
    validation-00000.arrow ...

A document's hash is the first 8 bytes, big-endian, of the sha256 of its UTF-8 text; a multiple of 20 puts it into the
validation split. So equal documents share a split in every corpus. A document is a row and ends with `eod`. Files of
one number hold the same stretch of the corpus; `resume` keeps them until all are there.
"""

from allmlp.data.tokens.reader import Documents, Sequences, TokenFile, TokenizerFile
from allmlp.data.tokens.writer import write_tokens

__all__ = ["Documents", "Sequences", "TokenFile", "TokenizerFile", "write_tokens"]
