"""One corpus of the parameters: its source, its tokenizer, and the other corpora that it uses."""

from collections.abc import Iterator
from pathlib import Path
from typing import Any

from pydantic import model_validator

from allmlp.common.errors import UserError, format_value
from allmlp.common.schema import StrictModel, refuse_unknown_keys, suggest_nearest
from allmlp.data.corpora.hub import HubCorpus
from allmlp.data.corpora.pairs import Pair
from allmlp.data.corpora.pairs.local import LocalPairs
from allmlp.data.corpora.pairs.stories import StoriesPairs
from allmlp.data.corpora.pairs.summaries import SummaryPairs
from allmlp.data.corpora.shuffling import Shuffle, shuffle_documents
from allmlp.data.corpora.sources import (
    IMAGES,
    OF_TEXT,
    PAIRS,
    SOURCES,
    TEXT,
    ImageSource,
    PairsSource,
    Source,
    StoriesCorpus,
)
from allmlp.data.tokenizers.specs import Fitting, SharedTokenizer, TokenizerSpec
from allmlp.data.tokens.encoding import number_documents


class CorpusSpec(StrictModel):
    """One entry of `corpora:`: a source's keys and, for text, `tokenizer:`, `shuffle:` and `deduplicate:`."""

    source: Source
    tokenizer: TokenizerSpec | None
    shuffle: Shuffle | None = None
    deduplicate: bool = False
    where: str = ""  # the file and line of the entry: the parameters fill it in
    teacher: "CorpusSpec | None" = None  # the corpus of a shared tokenizer: `link_corpora` fills it in
    summarised: "CorpusSpec | None" = None  # the corpus of the summarised texts: likewise

    @model_validator(mode="before")
    @classmethod
    def _gather_source(cls, data: Any) -> Any:
        if not isinstance(data, dict):
            return data
        kind = data.get("source")
        if isinstance(kind, str) and kind in SOURCES:
            refuse_unknown_keys(data, (*SOURCES[kind].model_fields, *(OF_TEXT if kind in TEXT else ())))
        gathered = {
            "tokenizer": None if isinstance(kind, str) and kind in IMAGES else data.get("tokenizer", {"kind": "bytes"})
        }
        if isinstance(kind, str) and kind in PAIRS:
            gathered["tokenizer"] = {"kind": "shared", "corpus": data.get("tokenizer_of", "?")}  # lacking: said below
        gathered |= {key: data[key] for key in ("shuffle", "deduplicate") if key in data}
        if "source" in data:
            gathered["source"] = {key: value for key, value in data.items() if key not in OF_TEXT}
        return gathered

    def place(self, name: str, *keys: str) -> str:
        """What a message calls the entry `name`, or a key of it: with its file and line where they are known."""
        return f"{self.where}{': ' if self.where else ''}{'.'.join(('corpora', name, *keys))}"

    def documents(self, root: Path) -> Iterator[str]:
        """The documents of a corpus of text, streamed."""
        if isinstance(self.source, ImageSource | PairsSource):
            raise UserError(f"a corpus of images or pairs (source: {self.source.source}) has no documents")
        texts = self.source.texts() if isinstance(self.source, StoriesCorpus) else self.source.documents(root)
        return shuffle_documents(texts, self.shuffle) if self.shuffle else texts

    def resume_documents(self, root: Path, place: Any = None) -> Iterator[tuple[Any, str]]:
        """The documents after a place, each with the place after it: a `tokens.encoding.Source` of that root."""
        if isinstance(self.source, HubCorpus) and not self.shuffle:
            return self.source.resume_documents(place)
        return number_documents(self.documents(root), place)

    def pairs(self, root: Path) -> Iterator[Pair]:
        """The pairs of a corpus of pairs, streamed."""
        if isinstance(self.source, SummaryPairs) and self.summarised:
            return self.source.pairs(root, self.summarised.documents(root))
        if isinstance(self.source, StoriesPairs | LocalPairs):
            return self.source.pairs(root)
        raise UserError(f"a corpus of source {self.source.source} has no pairs")

    @property
    def holds(self) -> str:
        """What it is made of: images, pairs or text."""
        return "images" if isinstance(self.source, ImageSource) else "pairs" if self.is_pairs else "text"

    @property
    def is_pairs(self) -> bool:
        """Does it hold pairs, a query and a text each?"""
        return isinstance(self.source, PairsSource)

    @property
    def related_corpora(self) -> dict[str, str]:
        """The corpora that it uses: part -> name."""
        shared = {"teacher": self.tokenizer.corpus} if isinstance(self.tokenizer, SharedTokenizer) else {}
        return shared | ({"texts": self.source.texts_of} if isinstance(self.source, SummaryPairs) else {})

    @property
    def tokenizer_corpus(self) -> tuple["CorpusSpec", Fitting]:
        """The corpus that the tokenizer is fitted to, and its kind. UserError for images, or without `link_corpora`."""
        teacher = self.teacher or self
        if teacher.tokenizer is None or isinstance(teacher.tokenizer, SharedTokenizer):
            raise UserError(f"a corpus of source {self.source.source} has no tokenizer of a corpus of text")
        return teacher, teacher.tokenizer


AS = "-as-"  # PAIRS-as-TEXT: a corpus of pairs with the tokenizer of another corpus of text


class Corpora(dict[str, CorpusSpec]):
    """The corpora by name. `PAIRS-as-TEXT` is there without being written down: the pairs as the text is tokenized."""

    def __missing__(self, name: str) -> CorpusSpec:
        pairs, _, text = name.rpartition(AS)
        if pairs not in self or text not in self or not self[pairs].is_pairs or self[text].tokenizer is None:
            raise KeyError(name)
        teacher = self[text].related_corpora.get("teacher", text)
        tokenizer = SharedTokenizer(corpus=teacher)
        return self[pairs].model_copy(update={"tokenizer": tokenizer, "teacher": self[text].teacher or self[text]})


def link_corpora(specs: dict[str, CorpusSpec]) -> Corpora:
    """The corpora; those that share a tokenizer or summarise texts refer to that corpus."""
    texts = [name for name, spec in specs.items() if spec.tokenizer and not isinstance(spec.tokenizer, SharedTokenizer)]
    found = Corpora(specs)
    for name, spec in specs.items():
        for part, other in spec.related_corpora.items():
            if other not in texts:
                key = "texts_of" if part == "texts" else "tokenizer_of" if spec.is_pairs else "tokenizer"
                raise UserError(
                    f"{spec.place(name, key)}: no corpus {format_value(other)} of text with a tokenizer of its own. "
                    f"{suggest_nearest(other, reversed(texts), 'There are')}"
                )
        made_with = {part: specs[other] for part, other in spec.related_corpora.items()}
        if made_with:
            update = {"teacher": made_with.get("teacher"), "summarised": made_with.get("texts")}
            found[name] = spec.model_copy(update=update)
    return found


def image_source(name: str, spec: CorpusSpec) -> ImageSource:
    """The source of a corpus of images, with its size and classes. UserError for a corpus of text."""
    if not isinstance(spec.source, ImageSource):
        raise UserError(f"corpus '{name}': holds text, not images. Name one of source {', '.join(IMAGES)}.")
    return spec.source
