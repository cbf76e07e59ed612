"""The identity of a corpus: the digest of its parameters, its files and the code that reads them; `corpora.lock`.

The lock (in git) keeps each corpus's identity, so that every clone can compute every plan without a network and the
user's files. `allmlp tokenize` writes it. Identities of a user's own corpora stay on this machine, in
`corpora.local.lock`, which git ignores.
"""

import json
from functools import partial
from pathlib import Path
from typing import Any

from pydantic import BaseModel

from allmlp.common import formats, paths, recipes
from allmlp.common.errors import UserError
from allmlp.common.locks import turn
from allmlp.data.corpora.sources import StoriesCorpus
from allmlp.data.corpora.spec import CorpusSpec
from allmlp.data.tokenizers.specs import BPE, Chunks, SharedTokenizer

LOCK, LOCAL_LOCK = "corpora.lock", "corpora.local.lock"
OF_FILES = ("files", "test_files", "vocab_file", "merges_file", "model_file")
OF_FETCHING = ("base_url", "key_variable", "requests_per_minute", "parallel")  # neither is part of an identity
COUNTS = ("documents", "tokens", "bytes", "vocabulary", "images", "splits", "left_out", "classes")  # meta.json's


def read_lock(root: Path, committed: bool = False) -> dict[str, dict[str, Any]]:
    """Corpus name -> {spec, content, id, counts...}: `corpora.lock`, and this machine's lock unless `committed`."""
    return {**_entries(root / LOCK), **({} if committed else _entries(root / LOCAL_LOCK))}


def _entries(path: Path) -> dict[str, dict[str, Any]]:
    if not path.is_file():
        return {}
    return {
        name: formats.check_format("corpora", f"{path}: {name}", entry)
        for name, entry in formats.read("corpora", path, f"`git checkout {path.name}`, or delete it.").items()
    }


def _lock_entry(name: str, spec: CorpusSpec, root: Path, committed: bool) -> dict[str, Any]:
    """The lock's entry of a corpus with these parameters, this machine's lock first; empty without one."""
    files = [LOCK] if committed else [LOCAL_LOCK, LOCK]
    entries = (_entries(root / file).get(name, {}) for file in files)
    return next((entry for entry in entries if entry.get("spec") == describe_corpus(spec)), {})


def describe_corpus(spec: CorpusSpec) -> dict[str, Any]:
    """A corpus's parameters, without the paths of its files, and with the recipes of the code that reads it."""
    source = _drop_files(spec.source)
    reader = type(spec.source).__module__
    if isinstance(spec.source, StoriesCorpus):  # declared in `sources`, made in `stories`
        reader = "allmlp.data.corpora.stories"
    if spec.tokenizer is None:
        return {
            "source": source,
            "recipes": [recipes.recipe_number(reader), recipes.recipe_number("allmlp.data.images")],
        }
    further: dict[str, Any] = {"teacher": describe_corpus(spec.teacher)} if spec.teacher else {}
    if spec.summarised:
        further["texts"] = describe_corpus(spec.summarised)
    if spec.is_pairs:
        further["pairs"] = recipes.recipe_number("allmlp.data.tokens.pairs")
    if spec.shuffle:
        further["shuffling"] = {
            "shuffle": spec.shuffle,
            "recipe": recipes.recipe_number("allmlp.data.corpora.shuffling"),
        }
    if spec.deduplicate:
        further["deduplicate"] = recipes.recipe_number("allmlp.data.tokens.repeats")
    readers = [recipes.recipe_number(reader), recipes.recipe_number("allmlp.data.tokenizers")]
    return {"source": source, "tokenizer": _drop_files(spec.tokenizer), "recipes": readers, **further}


def _drop_files(part: BaseModel) -> dict[str, Any]:
    return {key: value for key, value in part.model_dump().items() if key not in OF_FILES + OF_FETCHING}


def content(name: str, spec: CorpusSpec, root: Path, committed: bool = False) -> dict[str, str]:
    """sha256 of the user's files: of the files, or as locked where they are not on this machine.

    `committed`: as in `corpora.lock`, ignoring local files.
    """
    parts = {
        part: partial(value.sha256, root)  # type: ignore[union-attr]
        for part, value in (("source", spec.source), ("tokenizer", spec.tokenizer))
        if hasattr(value, "sha256")
    }
    for part, of in (("teacher", spec.teacher), ("texts", spec.summarised)):
        if of is not None:
            parts[part] = partial(token_id, spec.related_corpora[part], of, root, committed)
    if not parts:
        return {}
    locked: dict[str, str] = _lock_entry(name, spec, root, committed).get("content", {})
    found: dict[str, str] = {}
    for part, digest in parts.items():
        try:
            found[part] = locked[part] if committed and part in locked else digest()
        except UserError as error:
            if part not in locked:
                raise UserError(f"{spec.place(name)}: {error}") from error
            found[part] = locked[part]
    return found


def token_id(name: str, spec: CorpusSpec, root: Path, committed: bool = False) -> str:
    """`<corpus>-<digest>`: the folder of a corpus's tokens under results/tokens."""
    return f"{name}-{paths.digest({**describe_corpus(spec), 'content': content(name, spec, root, committed)})}"


def lock(name: str, spec: CorpusSpec, root: Path, meta: dict[str, Any], own: bool = False) -> None:
    """Record a corpus's identity and counts; refuse tokens that differ from those recorded under the same id.

    A user's `own` corpus, and other text under a committed corpus's name, goes to the local lock.
    """
    entry: dict[str, Any] = {
        "id": token_id(name, spec, root),
        "spec": describe_corpus(spec),
        "content": content(name, spec, root),
        "counts": {key: meta[key] for key in COUNTS if key in meta},
        "tokens_sha256": paths.digest(meta["sha256"], 64),
    }
    with turn(root / "work" / LOCK):  # corpora are tokenized side by side, and all write this file
        _record(name, entry, root, own)


def _record(name: str, entry: dict[str, Any], root: Path, own: bool) -> None:
    committed = _entries(root / LOCK).get(name, {})
    other_text = committed.get("spec") == entry["spec"] and committed["content"] != entry["content"]
    file = LOCAL_LOCK if committed.get("id") != entry["id"] and (own or other_text) else LOCK
    entries = _entries(root / file)
    known = entries.get(name)
    if known and known["id"] == entry["id"] and known.get("tokens_sha256") not in (None, entry["tokens_sha256"]):
        raise UserError(
            f"corpus '{name}': its tokens differ from those in {file} ({entry['tokens_sha256'][:8]} here, "
            f"{known['tokens_sha256'][:8]} there) though nothing in its parameters does. "
            "Raise the RECIPE of what changed."
        )
    if known != entry:
        entries[name] = entry
        paths.write_atomically(root / file, json.dumps(dict(sorted(entries.items())), indent=1) + "\n")


def tokenizer(name: str, spec: CorpusSpec, root: Path, committed: bool = False) -> str:
    """What decides which text an id stands for: the corpus that a tokenizer is fitted to, or its own files.

    UserError for images.
    """
    teacher, asked_for = spec.tokenizer_corpus
    named = spec.related_corpora.get("teacher", name)
    if isinstance(asked_for, BPE | Chunks):
        return token_id(named, teacher, root, committed)
    held = content(named, teacher, root, committed).get("tokenizer")
    return paths.digest([_drop_files(asked_for), held], 16)


def vocabulary(name: str, spec: CorpusSpec, root: Path, committed: bool = False) -> int:
    """The number of token types, with the end of a document; from the lock if it depends on the text."""
    if spec.tokenizer is None:
        raise UserError(f"corpus '{name}': holds images, which have no tokens. Name a corpus of text.")
    known: dict[str, int] = {"bytes": 257, "gpt2": 50257}
    if spec.teacher and isinstance(spec.tokenizer, SharedTokenizer):
        return vocabulary(spec.tokenizer.corpus, spec.teacher, root, committed)
    if isinstance(spec.tokenizer, BPE | Chunks) and spec.tokenizer.vocabulary is not None:
        return spec.tokenizer.vocabulary
    if spec.tokenizer.kind in known:
        return known[spec.tokenizer.kind]
    locked = _lock_entry(name, spec, root, committed)
    if not locked.get("counts"):
        raise UserError(
            f"corpus '{name}': how many types its tokenizer has is known only from its text. "
            f"Run `allmlp tokenize {name}` first."
        )
    return locked["counts"]["vocabulary"]
