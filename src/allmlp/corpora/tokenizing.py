"""One corpus -> its tokens: fit the tokenizer, write the token files, record what they turned out to be.

Images need no tokenizer: their "tokens" are their pixels.
"""

from pathlib import Path

from allmlp import corpora, tokenizers
from allmlp.errors import UserError
from allmlp.images import write_images
from allmlp.plan import Plan
from allmlp.tokens import write_tokens


def tokenize_corpus(plan: Plan, name: str) -> Path:
    """Write results/tokens/<corpus>-<digest>/ and, where it says something new, corpora.lock. Returns the folder."""
    spec = plan.parameters.corpora.get(name)
    if spec is None:
        raise UserError(f"no corpus {name!r} in params.yaml. There are: {', '.join(plan.parameters.corpora)}.")
    folder = Path("results/tokens") / corpora.token_id(name, spec, plan.root)
    if spec.tokenizer is None:
        return _prepare_images(plan, name, spec, folder)
    fitted = tokenizers.fit(spec.tokenizer, spec.documents(plan.root), plan.root)
    meta = write_tokens(spec.documents(plan.root), fitted, folder, describe=corpora.described(spec))
    corpora.lock(name, spec, plan.root, meta)
    counts = f"{meta['documents']:,} documents, {meta['bytes']:,} bytes, {meta['tokens']:,} tokens"
    print(f"{folder}: {counts} of {meta['vocabulary']:,} types", flush=True)
    return folder


def _prepare_images(plan: Plan, name: str, spec: corpora.CorpusSpec, folder: Path) -> Path:
    source = corpora.image_source(name, spec)
    meta = write_images(source.pieces(plan.root), source, folder, describe=corpora.described(spec))
    corpora.lock(name, spec, plan.root, meta)
    splits = ", ".join(f"{count:,} {split}" for split, count in meta["splits"].items())
    print(f"{folder}: {meta['images']:,} images ({splits}) of {meta['classes']} classes", flush=True)
    return folder
