"""The plan's services for a study: ids of tokens and images by the names of corpora. Imports no torch."""

from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

from allmlp import paths
from allmlp.corpora import identity
from allmlp.corpora.sources import PAIRS, ImageSource
from allmlp.corpora.spec import image_source
from allmlp.errors import UserError
from allmlp.params import Params


def _without_recipes(described: dict[str, Any]) -> dict[str, Any]:
    """A corpus's description, including those of the corpora that it depends on, without recipes."""
    return {
        key: _without_recipes(value) if isinstance(value, dict) else value
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

    def pairs(self, corpus: str) -> str:
        """The id of the tokens of a corpus of pairs. UserError for one of another kind."""
        if not self.parameters.corpora[corpus].is_pairs:
            raise UserError(f"corpus '{corpus}': has no pairs. Name one of source {', '.join(PAIRS)}.")
        return self.tokens(corpus)

    def corpus_settings(self, corpus: str) -> str:
        """The digest of a corpus's description, independent of the code that reads it."""
        if ("settings", corpus) not in self._known:
            spec = self.parameters.corpora[corpus]
            held = identity.content(corpus, spec, self.root, self.committed)
            others = {part: self.corpus_settings(other) for part, other in spec.others.items()}  # ids hold recipes
            self._known["settings", corpus] = paths.digest([_without_recipes(identity.described(spec)), held | others])
        return self._known["settings", corpus]

    def vocabulary(self, corpus: str) -> int:
        """Its number of token types: from the parameters, or as recorded when it was tokenized."""
        return identity.vocabulary(corpus, self.parameters.corpora[corpus], self.root, self.committed)

    def images(self, corpus: str) -> ImageSource:
        """A corpus of images: their size and number of classes, known without reading them."""
        return image_source(corpus, self.parameters.corpora[corpus])
