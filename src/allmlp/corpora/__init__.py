"""Corpora by name: where the documents come from, how they become tokens, and the digest that names both.

`corpora.lock` (in git) keeps each corpus's identity, so that a clone without the user's own files, or without a
network, still computes every plan. It is written by `allmlp tokenize`.
"""

import json
from collections.abc import Iterator
from functools import partial
from pathlib import Path
from typing import Annotated, Any, Literal

from pydantic import Field, model_validator

from allmlp import paths, recipes
from allmlp.corpora.gutenberg import GutenbergCorpus
from allmlp.corpora.hub import HubCorpus
from allmlp.corpora.images.digits import DigitsCorpus
from allmlp.corpora.images.files import ImageFilesCorpus
from allmlp.corpora.images.npz import NpzCorpus
from allmlp.corpora.local import LocalCorpus
from allmlp.corpora.pairs import Pair
from allmlp.corpora.pairs.local import LocalPairs
from allmlp.corpora.pairs.stories import StoriesPairs
from allmlp.corpora.pairs.summaries import SummaryPairs
from allmlp.corpora.shuffling import Shuffle, shuffled
from allmlp.errors import UserError
from allmlp.strict import Strict, refuse_unknown_keys
from allmlp.tokenizers import BPE, Chunks, Fitting, Shared, TokenizerSpec

LOCK = "corpora.lock"
FILE_KEYS = (
    "files",
    "test_files",
    "vocab_file",
    "merges_file",
    "model_file",
    "base_url",
    "key_variable",
    "requests_per_minute",
    "parallel",
)  # where something lies, and how it is fetched, says nothing of what it is
COUNTS = ("documents", "tokens", "bytes", "vocabulary", "images", "splits", "left_out", "classes")  # meta.json's


class StoriesCorpus(Strict):
    """The project's own story grammar: `documents` stories of one seed."""

    source: Literal["stories"]
    documents: int = Field(gt=0)
    seed: int = 0

    def texts(self) -> Iterator[str]:
        """The stories, in order."""
        from allmlp.corpora import stories

        return stories.documents(self.seed, self.documents)


TEXT: dict[str, type[Strict]] = {
    "stories": StoriesCorpus,
    "local": LocalCorpus,
    "hub": HubCorpus,
    "gutenberg": GutenbergCorpus,
}
IMAGES: dict[str, type[Strict]] = {"digits": DigitsCorpus, "images": ImageFilesCorpus, "npz": NpzCorpus}
PAIRS: dict[str, type[Strict]] = {"stories-pairs": StoriesPairs, "local-pairs": LocalPairs, "summaries": SummaryPairs}
SOURCES = TEXT | IMAGES | PAIRS
OF_TEXT = ("tokenizer", "shuffle")  # keys of an entry that are not its source's
TextSource = StoriesCorpus | LocalCorpus | HubCorpus | GutenbergCorpus
ImageSource = DigitsCorpus | ImageFilesCorpus | NpzCorpus
PairsSource = StoriesPairs | LocalPairs | SummaryPairs
Source = Annotated[TextSource | ImageSource | PairsSource, Field(discriminator="source")]


class CorpusSpec(Strict):
    """One entry of `corpora:` in params.yaml: a source's keys and, for text, a `tokenizer:` and what to `shuffle:`."""

    source: Source
    tokenizer: TokenizerSpec | None
    shuffle: Shuffle | None = None
    teacher: "CorpusSpec | None" = None  # whose tokenizer a shared one is: `taught` fills it in, no user
    summarised: "CorpusSpec | None" = None  # whose texts a corpus of summaries is about: the same

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
        if "shuffle" in data:
            gathered["shuffle"] = data["shuffle"]
        if "source" in data:
            gathered["source"] = {key: value for key, value in data.items() if key not in OF_TEXT}
        return gathered

    def documents(self, root: Path) -> Iterator[str]:
        """The documents of a corpus of text, streamed."""
        if isinstance(self.source, ImageSource | PairsSource):
            raise UserError(f"a corpus of images or pairs (source: {self.source.source}) has no documents")
        texts = self.source.texts() if isinstance(self.source, StoriesCorpus) else self.source.documents(root)
        return shuffled(texts, self.shuffle) if self.shuffle else texts

    def pairs(self, root: Path) -> Iterator[Pair]:
        """The pairs of a corpus of pairs, streamed."""
        if isinstance(self.source, SummaryPairs) and self.summarised:
            return self.source.pairs(root, self.summarised.documents(root))
        if isinstance(self.source, StoriesPairs | LocalPairs):
            return self.source.pairs(root)
        raise UserError(f"a corpus of source {self.source.source} has no pairs")

    @property
    def is_pairs(self) -> bool:
        """Does it hold pairs, a query and a text each?"""
        return isinstance(self.source, PairsSource)

    @property
    def others(self) -> dict[str, str]:
        """The corpora that it is made with: part -> name."""
        shared = {"teacher": self.tokenizer.corpus} if isinstance(self.tokenizer, Shared) else {}
        return shared | ({"texts": self.source.texts_of} if isinstance(self.source, SummaryPairs) else {})

    @property
    def fitted(self) -> tuple["CorpusSpec", Fitting]:
        """The corpus that the tokenizer is fitted to, and what is fitted. UserError for images, or without `taught`."""
        teacher = self.teacher or self
        if teacher.tokenizer is None or isinstance(teacher.tokenizer, Shared):
            raise UserError(f"a corpus of source {self.source.source} has no tokenizer of a corpus of text")
        return teacher, teacher.tokenizer


def taught(specs: dict[str, CorpusSpec]) -> dict[str, CorpusSpec]:
    """The corpora, those that share another's tokenizer, or summarise another's texts, with that corpus in them."""
    texts = sorted(name for name, spec in specs.items() if spec.tokenizer and not isinstance(spec.tokenizer, Shared))
    found = dict(specs)
    for name, spec in specs.items():
        for part, other in spec.others.items():
            if other not in texts:
                key = "texts_of" if part == "texts" else "tokenizer_of" if spec.is_pairs else "tokenizer"
                raise UserError(
                    f"corpora.{name}.{key}: no corpus {other!r} of text with a tokenizer of its own. "
                    f"There are: {', '.join(texts) or 'none'}."
                )
        made_with = {part: specs[other] for part, other in spec.others.items()}
        if made_with:
            found[name] = spec.model_copy(
                update={"teacher": made_with.get("teacher"), "summarised": made_with.get("texts")}
            )
    return found


def read_lock(root: Path) -> dict[str, dict[str, Any]]:
    """`corpora.lock`: corpus name -> {spec, content, id, counts...}."""
    path = root / LOCK
    return json.loads(path.read_text(encoding="utf-8")) if path.is_file() else {}


def described(spec: CorpusSpec) -> dict[str, Any]:
    """A corpus's parameters, without the places where its files lie, and with the recipes of the code that reads it."""
    source = spec.source.model_dump()
    if spec.tokenizer is None:
        read = recipes.of(type(spec.source).__module__)
        kept = {key: value for key, value in source.items() if key not in FILE_KEYS}
        return {"source": kept, "recipes": [read, recipes.of("allmlp.images")]}
    tokenizer = spec.tokenizer.model_dump()
    for key in FILE_KEYS:
        source.pop(key, None)
        tokenizer.pop(key, None)
    module = type(spec.source).__module__
    if isinstance(spec.source, StoriesCorpus):  # declared here, made there
        module = "allmlp.corpora.stories"
    readers = [recipes.of(module), recipes.of("allmlp.tokenizers")]
    further: dict[str, Any] = {"teacher": described(spec.teacher)} if spec.teacher else {}
    if spec.summarised:
        further["texts"] = described(spec.summarised)
    if spec.is_pairs:
        further["pairs"] = recipes.of("allmlp.tokens.pairs")
    if spec.shuffle:
        further["shuffling"] = {"shuffle": spec.shuffle, "recipe": recipes.of("allmlp.corpora.shuffling")}
    return {"source": source, "tokenizer": tokenizer, "recipes": readers, **further}


def content(name: str, spec: CorpusSpec, root: Path) -> dict[str, str]:
    """sha256 of what the user's files hold: of the files, or as locked where they are not on this machine."""
    parts = {
        part: partial(value.sha256, root)  # type: ignore[union-attr]
        for part, value in (("source", spec.source), ("tokenizer", spec.tokenizer))
        if hasattr(value, "sha256")
    }
    for part, of in (("teacher", spec.teacher), ("texts", spec.summarised)):
        if of is not None:
            parts[part] = partial(token_id, spec.others[part], of, root)
    found: dict[str, str] = {}
    for part, digest in parts.items():
        try:
            found[part] = digest()
        except UserError as error:
            locked = read_lock(root).get(name, {})
            if locked.get("spec") != described(spec) or part not in locked.get("content", {}):
                raise UserError(
                    f"corpus '{name}': {error} It is not in {LOCK} either, so nothing that needs it can be planned. "
                    "Put its files there, or name their place in corpora.local.yaml."
                ) from error
            found[part] = locked["content"][part]
    return found


def token_id(name: str, spec: CorpusSpec, root: Path) -> str:
    """`<corpus>-<digest>`: the folder of a corpus's tokens under results/tokens."""
    return f"{name}-{paths.digest({**described(spec), 'content': content(name, spec, root)})}"


def lock(name: str, spec: CorpusSpec, root: Path, meta: dict[str, Any]) -> None:
    """Record what a corpus turned out to be; refuse tokens that differ from those recorded under the same id."""
    entries = read_lock(root)
    entry: dict[str, Any] = {
        "id": token_id(name, spec, root),
        "spec": described(spec),
        "content": content(name, spec, root),
        "counts": {key: meta[key] for key in COUNTS if key in meta},
        "tokens_sha256": paths.digest(meta["sha256"], 64),
    }
    known = entries.get(name)
    if known and known["id"] == entry["id"] and known.get("tokens_sha256") not in (None, entry["tokens_sha256"]):
        raise UserError(
            f"corpus '{name}': its tokens differ from those in {LOCK} ({entry['tokens_sha256'][:8]} here, "
            f"{known['tokens_sha256'][:8]} there) though nothing in its parameters does. "
            "Raise the RECIPE of what changed."
        )
    if known != entry:
        entries[name] = entry
        paths.write_whole(root / LOCK, json.dumps(dict(sorted(entries.items())), indent=1) + "\n")


def vocabulary(name: str, spec: CorpusSpec, root: Path) -> int:
    """How many token types a corpus has, the end of a document included; from the lock where only the text can tell."""
    if spec.tokenizer is None:
        raise UserError(f"corpus '{name}': holds images, which have no tokens. Name a corpus of text.")
    known: dict[str, int] = {"bytes": 257, "gpt2": 50257}
    if spec.teacher and isinstance(spec.tokenizer, Shared):
        return vocabulary(spec.tokenizer.corpus, spec.teacher, root)
    if isinstance(spec.tokenizer, BPE | Chunks) and spec.tokenizer.vocabulary is not None:
        return spec.tokenizer.vocabulary
    if spec.tokenizer.kind in known:
        return known[spec.tokenizer.kind]
    locked = read_lock(root).get(name, {})
    if locked.get("spec") != described(spec) or not locked.get("counts"):
        raise UserError(
            f"corpus '{name}': how many types its tokenizer has is known only from its text. "
            f"Run `allmlp tokenize {name}` first."
        )
    return locked["counts"]["vocabulary"]


def image_source(name: str, spec: CorpusSpec) -> ImageSource:
    """The source of a corpus of images, with its size and classes. UserError for a corpus of text."""
    if not isinstance(spec.source, ImageSource):
        raise UserError(f"corpus '{name}': holds text, not images. Name one of source {', '.join(IMAGES)}.")
    return spec.source
