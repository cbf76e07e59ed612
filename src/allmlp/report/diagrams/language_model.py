"""A language model as a column, at the paper's sizes."""

from collections.abc import Mapping
from typing import Any

from torch import nn

from allmlp.report.diagrams.column import Column
from allmlp.report.diagrams.sizes import Letter
from allmlp.report.diagrams.subject import subject, tokens


def language_model(
    architecture: type[nn.Module],
    title: str,
    *,
    vocabulary: int,
    context: int,
    d_model: int,
    traced_width: int = 7,
    letters: Mapping[str, Letter] | None = None,
    closed: tuple[type, ...] = (),
    **hyperparameters: Any,
) -> Column:
    """Tokens (B, T) in, through D features, logits over V tokens out.

    `letters`: further sizes. A hyperparameter that is one of their names stands for its number. `traced_width`: D while
    the model is traced, a number that no other size has.
    """
    sizes = {
        "B": Letter("sequences", 17),
        "T": Letter("tokens", 5, context),
        "D": Letter("features", traced_width, d_model),
        **(letters or {}),
        "V": Letter("tokens of the vocabulary", 13, vocabulary),
    }
    named = {"vocabulary": "V", "context": "T", "d_model": "D", **hyperparameters}
    return Column(subject(architecture, named, sizes, tokens, closed=closed), title, "tokens")
