"""English classics from Project Gutenberg by the numbers of their books: fetched once, kept, pinned by their sha256.

    corpora:
      gutenberg-shakespeare: {source: gutenberg, books: [100]}

`gutenberg.lock` (in git) pins every file's sha256. A null pin is filled in by the first download: commit it then. A
file that differs from its pin is refused.
"""

import json
from collections.abc import Iterator
from pathlib import Path
from typing import Annotated, Literal

from pydantic import Field

from allmlp.common import formats, paths
from allmlp.common.errors import UserError
from allmlp.common.locks import turn
from allmlp.common.schema import StrictModel
from allmlp.data.corpora import reading
from allmlp.data.corpora.images.fetching import fetch

RECIPE = 1
LOCK = "gutenberg.lock"
URL = "https://www.gutenberg.org/cache/epub/{book}/pg{book}.txt"
START, END = "*** START OF TH", "*** END OF TH"  # lines around a book; the licence is outside
PLAIN = str.maketrans({"“": '"', "”": '"', "‘": "'", "’": "'", "—": "--", "–": "-", "…": "...", "\r": None})


class GutenbergCorpus(StrictModel):
    """Books in the order given, each cut into passages, which are the documents."""

    source: Literal["gutenberg"] = "gutenberg"
    books: list[Annotated[int, Field(gt=0)]] = Field(min_length=1, description="numbers of books at gutenberg.org")
    passage: int = Field(8000, ge=100, description="cut books into passages of so many characters")

    def documents(self, root: Path) -> Iterator[str]:
        """The passages, typographic quotes and dashes in ASCII; a book is fetched when its turn comes.

        UserError without a network, for a file that differs from its pin, and one without Gutenberg's marks.
        """
        for book in self.books:
            text = _book_text(fetch_file(URL.format(book=book), root)).translate(PLAIN)
            yield from reading.passages(iter([text]), self.passage)


def fetch_file(url: str, root: Path) -> Path:
    """The file of a URL, pinned in `gutenberg.lock` from now on. UserError where it differs from its pin."""
    pins = read_lock(root)
    path = fetch(url, None, root)
    found = paths.file_sha256(path)
    known = pins.get(url)
    if known is not None and found != known:
        path.unlink()
        raise UserError(
            f"{url}: has sha256 {found}, {LOCK} says {known}: it was edited since. The file was removed. Put the "
            f"pinned edition at {path}, or set its pin to null, which makes another corpus of it."
        )
    if known is None:
        with turn(root / "work" / LOCK):  # two corpora may be read side by side
            pins = {**read_lock(root), url: found}
            paths.write_atomically(root / LOCK, json.dumps(dict(sorted(pins.items())), indent=1) + "\n")
        print(f"{url}: pinned in {LOCK}, commit it", flush=True)
    return path


def read_lock(root: Path) -> dict[str, str | None]:
    """`gutenberg.lock`: URL -> sha256, null if it was never fetched. UserError for other content."""
    path = root / LOCK
    try:
        found = formats.parse_json(path.read_text(encoding="utf-8")) if path.is_file() else {}
    except ValueError as error:
        raise UserError(f"{path}: is not JSON ({error}). `git checkout {LOCK}`.") from error
    if not isinstance(found, dict):
        raise UserError(f"{path}: holds no URLs with their sha256. `git checkout {LOCK}`.")
    return found


def _book_text(path: Path) -> str:
    """The text between Gutenberg's two marks."""
    text = "".join(reading.text(path))
    start, end = text.find(START), text.find(END)
    if start < 0 or end < start:
        raise UserError(f"{path}: has no lines {START!r} and {END!r}: not a book of Gutenberg. Correct `books:`.")
    return text[text.find("\n", start) + 1 : end].strip()
