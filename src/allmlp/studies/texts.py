"""What runs on a corpus have in common: its tokens, windows of which every next token is predicted, written text."""

from pathlib import Path
from typing import Any, Protocol

from allmlp.protocols import Context, Trained
from allmlp.tokens import TokenFile

# of a column of what a model writes
CHANGES = "; one changed bit of a weight changes all that follows, so it is never compared"


class Windows(Protocol):
    """Settings of windows: tokens of each, windows of a batch, and held-out tokens that losses are taken on."""

    @property
    def context(self) -> int: ...
    @property
    def batch_size(self) -> int: ...
    @property
    def validation_tokens(self) -> int: ...


def of_corpus(context: Context, corpus: str) -> dict[str, Any]:
    """What a run holds of its corpus."""
    tokens, settings = context.tokens(corpus), context.corpus_settings(corpus)
    return {"corpus": corpus, "tokens": tokens, "corpus_settings": settings}


def next_token(settings: Windows, context: Context, corpus: str) -> dict[str, Any]:
    """What a run holds of its corpus and of its task."""
    names = ("context", "batch_size", "validation_tokens")
    parameters = {name: getattr(settings, name) for name in names}
    return {"task": "next-token", "task_parameters": parameters, **of_corpus(context, corpus)}


def tokens_per_byte(trained: Trained) -> float:
    """Tokens per byte of the corpus's held-out documents. The end of a document is a token, and no byte."""
    held_out = TokenFile(tokens_of(trained)).meta["splits"]["validation"]
    return held_out["tokens"] / held_out["bytes"]


def tokens_of(trained: Trained) -> Path:
    """The folder of the tokens that a run was trained on."""
    return Path("results/tokens") / str(trained.run.tokens)
