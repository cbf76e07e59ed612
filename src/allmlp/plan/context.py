"""The plan's services for a study: ids of tokens and images by the names of corpora. Imports no torch."""

from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

from allmlp.common import paths
from allmlp.common.errors import UserError
from allmlp.data.corpora import identity
from allmlp.data.corpora.sources import PAIRS, ImageSource
from allmlp.data.corpora.spec import AS, image_source
from allmlp.plan.params import Params


def _strip_recipes(described: dict[str, Any]) -> dict[str, Any]:
    """A corpus's description, including those of the corpora that it depends on, without recipes."""
    return {
        key: _strip_recipes(value) if isinstance(value, dict) else value
        for key, value in described.items()
        if key != "recipes"
    }


@dataclass(frozen=True)
class Context:
    """The plan's services for naming the runs of a study. `committed`: with corpora as in git, ignoring local ones."""

    parameters: Params
    root: Path
    device: str
    committed: bool = False
    _known: dict[tuple[str, str], str] = field(default_factory=dict, compare=False, repr=False)  # hundreds of runs ask

    def tokens(self, corpus: str) -> str:
        """The id of a corpus's tokens."""
        if ("tokens", corpus) not in self._known:
            spec = self.parameters.corpora[corpus]
            self._known["tokens", corpus] = identity.token_id(corpus, spec, self.root, self.committed)
        return self._known["tokens", corpus]

    def pairs_corpus(self, pairs: str, text: str) -> str:
        """The name of a corpus of pairs as a model of this text reads it: with the text's tokenizer. UserError for
        `pairs` of another kind.
        """
        if not self.parameters.corpora[pairs].is_pairs:
            raise UserError(f"corpus '{pairs}': has no pairs. Name one of source {', '.join(PAIRS)}.")
        return pairs if self.has_shared_tokenizer(pairs, text) else f"{pairs}{AS}{text}"

    def has_shared_tokenizer(self, *corpora: str) -> bool:
        """Does a token's id stand for the same text in these corpora?"""
        for corpus in corpora:
            if ("tokenizer", corpus) not in self._known:
                spec = self.parameters.corpora[corpus]
                self._known["tokenizer", corpus] = identity.tokenizer(corpus, spec, self.root, self.committed)
        return len({self._known["tokenizer", corpus] for corpus in corpora}) == 1

    def teacher(self, corpus: str) -> str:
        """The corpus whose tokenizer a corpus has: the one that it shares, or its own."""
        return self.parameters.corpora[corpus].related_corpora.get("teacher", corpus)

    def corpus_settings(self, corpus: str) -> str:
        """The digest of a corpus's description, independent of the code that reads it."""
        if ("settings", corpus) not in self._known:
            spec = self.parameters.corpora[corpus]
            held = identity.content(corpus, spec, self.root, self.committed)
            # not their ids, which hold recipes
            others = {part: self.corpus_settings(other) for part, other in spec.related_corpora.items()}
            self._known["settings", corpus] = paths.digest(
                [_strip_recipes(identity.describe_corpus(spec)), held | others]
            )
        return self._known["settings", corpus]

    def vocabulary(self, corpus: str) -> int:
        """Its number of token types: from the parameters, or as recorded when it was tokenized."""
        return identity.vocabulary(corpus, self.parameters.corpora[corpus], self.root, self.committed)

    def images(self, corpus: str) -> ImageSource:
        """A corpus of images: their size and number of classes, known without reading them."""
        return image_source(corpus, self.parameters.corpora[corpus])
