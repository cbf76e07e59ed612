"""Pairs from the project's story grammar: a story and its summary in one sentence."""

from collections.abc import Iterator
from pathlib import Path
from typing import Literal

from pydantic import Field

from allmlp.data.corpora.pairs import Pair, PairSource

RECIPE = 1


class StoriesPairs(PairSource):
    """`documents` stories of one seed. A `summary` shares the story's words, a `paraphrase` no content word of it."""

    source: Literal["stories-pairs"]
    documents: int = Field(gt=0)
    seed: int = Field(0, ge=0)
    query: Literal["summary", "paraphrase"] = "summary"

    def pairs(self, root: Path) -> Iterator[Pair]:
        """The pairs, in order. `root` is not used."""
        from allmlp.data.corpora import stories

        found = (stories.story(self.seed, index) for index in range(self.documents))
        return (Pair(one.summary if self.query == "summary" else one.paraphrase, one.text) for one in found)
