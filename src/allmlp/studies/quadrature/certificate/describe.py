"""How figures and tables call the levels of a certificate, and in which order."""

NAMES = {
    "truth": "brute force",
    "hidden": "hidden layer exactly, unembedding compressed",
    "structured": "structured hidden layer, Fourier terms",
    "story": "one frequency and the integral (the paper's story)",
}


def described(level: str) -> str:
    """A level's name in words."""
    return NAMES[level]


def order(level: str, terms: int) -> tuple[int, int]:
    """Sorting key: levels as in NAMES, structured ones by rising number of terms."""
    return list(NAMES).index(level), int(terms)
