"""From losses per token to losses per character."""

from pathlib import Path

from allmlp.tokens import TokenFile


def tokens_per_character(tokens: Path) -> float:
    """Tokens per character of a corpus's held-out documents; the text is ASCII, and its ends are tokens too."""
    held_out = TokenFile(tokens).meta["splits"]["validation"]
    return held_out["tokens"] / held_out["bytes"]
