"""Corpora of pairs, for retrieval (001): a short query and its text.

    corpora:
      stories-pairs: {source: stories-pairs, documents: 5000, seed: 1, query: summary, tokenizer_of: stories}

`tokenizer_of`: the corpus of text with the tokenizer for both sides, the one of the embedders' training text.
One text in `held_out`, by its digest, is in the validation split, so no text is in both.
"""

from typing import NamedTuple

from pydantic import Field

from allmlp.common.schema import StrictModel


class Pair(NamedTuple):
    """A query and its text."""

    query: str
    text: str


class PairSource(StrictModel):
    """The keys of every source of pairs."""

    tokenizer_of: str = Field(min_length=1, description="the corpus of text whose tokenizer reads both sides")
    held_out: int = Field(10, ge=2, description="one text in so many is for validation")
