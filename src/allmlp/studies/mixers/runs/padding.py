"""What left padding is told to attention: the token that ends a document, as the corpus's tokens have it."""

import json
from pathlib import Path

from allmlp.errors import UserError


def end_token(asked: int, tokens: str) -> int:
    """The setting `end_token`, held against what the corpus's tokens say of themselves, once these are there.

    tokens: their id. Raises UserError where another token ends a document: attention would then read the padding.
    """
    meta = Path("results/tokens") / tokens / "meta.json"
    try:
        found = json.loads(meta.read_text(encoding="utf-8"))["eod"]
    except (FileNotFoundError, ValueError, KeyError):
        return asked  # a plan needs no corpus; what is damaged is named by the training, which reads all of it
    if found != asked:
        raise UserError(
            f"config/mixers: studies.mixers.end_token is {asked!r}, but in {meta} token {found} ends a document, and "
            f"pads it: attention would read the padding. Set `end_token: {found}`."
        )
    return asked
