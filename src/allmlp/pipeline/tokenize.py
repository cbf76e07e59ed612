"""One corpus -> its tokens: fit the tokenizer, write the token files, record their counts and digests.

Pairs are read with the tokenizer of another corpus. Images need none: their "tokens" are their pixels.
"""

from functools import partial
from pathlib import Path

from allmlp.common.errors import UserError
from allmlp.common.schema import suggest_nearest
from allmlp.data import tokenizers
from allmlp.data.corpora import identity
from allmlp.data.corpora.spec import CorpusSpec, image_source
from allmlp.data.images import write_images
from allmlp.data.tokens import TokenFile, write_tokens
from allmlp.data.tokens.pairs import write_pairs
from allmlp.pipeline import timing
from allmlp.plan.plan import Plan


def tokenize_corpus(plan: Plan, name: str) -> Path:
    """Write results/tokens/<corpus>-<digest>/ and, if something is new, a lock file. Returns the folder."""
    try:
        spec = plan.parameters.corpora[name]
    except KeyError:
        known = reversed(plan.parameters.corpora)  # a user's own come last
        raise UserError(f"no corpus {name!r}. {suggest_nearest(name, known, 'There are')}") from None
    with timing.record_seconds(f"tokenize {name}"):
        return _tokenize(plan, name, spec)


def _tokenize(plan: Plan, name: str, spec: CorpusSpec) -> Path:
    folder = Path("results/tokens") / identity.token_id(name, spec, plan.root)
    if spec.tokenizer is None:
        return _prepare_images(plan, name, spec, folder)
    fitted = _tokenizer(plan, spec)
    if spec.is_pairs:
        return _prepare_pairs(plan, name, spec, fitted, folder)
    meta = write_tokens(
        partial(spec.resume_documents, plan.root),
        fitted,
        folder,
        describe=identity.describe_corpus(spec),
        both_splits=True,
        deduplicate=spec.deduplicate,
    )
    identity.lock(name, spec, plan.root, meta, plan.is_own(name))
    left_out = f" ({meta['left_out']:,} repeated ones left out)" if spec.deduplicate else ""
    counts = f"{meta['documents']:,} documents{left_out}, {meta['bytes']:,} bytes, {meta['tokens']:,} tokens"
    print(f"{folder}: {counts} of {meta['vocabulary']:,} types", flush=True)
    return folder


def _tokenizer(plan: Plan, spec: CorpusSpec) -> tokenizers.Tokenizer:
    """The tokenizer: fitted to the corpus's texts, or read from the tokens of the corpus that shares its own."""
    shared = plan.tokenizer_file(spec)
    if shared is not None and shared.is_file():
        return TokenFile(shared.parent).tokenizer
    teacher, asked_for = spec.tokenizer_corpus
    return tokenizers.fit(asked_for, teacher.documents(plan.root), plan.root)


def _prepare_pairs(plan: Plan, name: str, spec: CorpusSpec, fitted: tokenizers.Tokenizer, folder: Path) -> Path:
    one_in = spec.source.held_out  # type: ignore[union-attr]
    meta = write_pairs(spec.pairs(plan.root), fitted, folder, held_out=one_in, describe=identity.describe_corpus(spec))
    identity.lock(name, spec, plan.root, meta, plan.is_own(name))
    held_out = meta["splits"]["texts-validation"]["documents"]
    counts = f"{meta['documents']:,} pairs ({held_out:,} held out, {meta['left_out']:,} left out)"
    print(f"{folder}: {counts}, {meta['tokens']:,} tokens of {meta['vocabulary']:,} types", flush=True)
    return folder


def _prepare_images(plan: Plan, name: str, spec: CorpusSpec, folder: Path) -> Path:
    source = image_source(name, spec)
    meta = write_images(source.pieces(plan.root), source, folder, describe=identity.describe_corpus(spec))
    identity.lock(name, spec, plan.root, meta, plan.is_own(name))
    splits = ", ".join(f"{count:,} {split}" for split, count in meta["splits"].items())
    print(f"{folder}: {meta['images']:,} images ({splits}) of {meta['classes']} classes", flush=True)
    return folder
