"""What runs on a corpus have in common: tokens, windows in which every next token is predicted, sampled text."""

from pathlib import Path
from typing import Any, Protocol

from allmlp.data.tokens import TokenFile
from allmlp.spec.protocols import Context, TrainedRun

# in the meaning of a column of sampled text
CHANGES = "; one changed bit of a weight changes all that follows, so it is never compared"


class Windows(Protocol):
    """Settings of windows: tokens of a window, windows of a batch, and held-out tokens for the loss."""

    @property
    def context(self) -> int: ...
    @property
    def batch_size(self) -> int: ...
    @property
    def validation_tokens(self) -> int: ...


def corpus_fields(context: Context, corpus: str) -> dict[str, Any]:
    """The fields of a run for its corpus."""
    tokens, settings = context.tokens(corpus), context.corpus_settings(corpus)
    return {"corpus": corpus, "tokens": tokens, "corpus_settings": settings}


def next_token(settings: Windows, context: Context, corpus: str) -> dict[str, Any]:
    """The fields of a run for its corpus and its task."""
    names = ("context", "batch_size", "validation_tokens")
    parameters = {name: getattr(settings, name) for name in names}
    return {"task": "next-token", "task_parameters": parameters, **corpus_fields(context, corpus)}


def tokens_per_byte(trained: TrainedRun) -> float:
    """Tokens per byte of the corpus's held-out documents. The end of a document is a token but not a byte."""
    held_out = TokenFile(token_folder(trained)).meta["splits"]["validation"]
    return held_out["tokens"] / held_out["bytes"]


def token_folder(trained: TrainedRun) -> Path:
    """The folder of the tokens that a run was trained on."""
    return Path("results/tokens") / str(trained.run.tokens)
