"""Pairs from the user's .jsonl files, plain or compressed: two fields of a row, or of lists within a row.

    corpora:
      questions: {source: local-pairs, files: data/questions.jsonl, query_field: question, text_field: passage, ...}
      fairytale: {source: local-pairs, files: data/fairytaleqa.jsonl.xz, query_field: questions.question,
                  text_field: sections.text, link: [sections, section], ...}

The second reads rows such as {"questions": [{"question": "Who sang?", "sections": "2"}],
"sections": [{"section": "2", "text": "The nightingale sang."}]}: a query belongs to the text with a `section`
equal to its `sections`; a query without one, or with several, is left out.
"""

import hashlib
from collections.abc import Iterator
from itertools import islice
from pathlib import Path
from typing import Any, Literal

from pydantic import Field

from allmlp.common.errors import UserError
from allmlp.data.corpora import reading, rows
from allmlp.data.corpora.local import matches, remembered_sha256
from allmlp.data.corpora.pairs import Pair, PairSource

RECIPE = 1


class LocalPairs(PairSource):
    """Files of the user, in the order given (a glob's matches in sorted order), each file once."""

    source: Literal["local-pairs"]
    files: list[str] | str = Field(description="paths or globs of .jsonl files, relative to the project folder")
    query_field: str = Field(min_length=1, description="a field, or list.field for those of a list's items")
    text_field: str = Field(min_length=1, description="the same for the text")
    link: list[str] | None = Field(None, min_length=2, max_length=2, description="fields of items that must be equal")
    limit: int | None = Field(None, ge=1, description="use only the first so many pairs")

    def paths(self, root: Path) -> list[Path]:
        """The files. Raises UserError for a pattern that matches none, or a file of another kind."""
        found = matches(self.files, root, (".jsonl",))
        for path in found:
            if reading.kind(path) != ".jsonl":
                raise UserError(f"{path}: pairs are read from .jsonl files, plain or as .xz, .gz or .zst. Convert it.")
        if self.link and not ("." in self.query_field and "." in self.text_field):
            raise UserError("link: is of items of lists. Write query_field and text_field as list.field, or remove it.")
        if "." in self.query_field and "." in self.text_field and not self.link:
            raise UserError(
                "link: is missing: it names the fields by which a list's queries and texts belong together."
            )
        return found

    def pairs(self, root: Path) -> Iterator[Pair]:
        """The pairs in the files' order, streamed. UserError with file:line for a row without the fields."""
        placed = (of for path in self.paths(root) for of in rows.json_objects(path))
        found = (pair for place, row in placed for pair in self._row_pairs(place, row))
        return islice(found, self.limit)

    def _row_pairs(self, place: str, row: dict[str, Any]) -> Iterator[Pair]:
        query_key, text_key = self.link or (None, None)
        texts: dict[Any, str] = {}
        for item, text in _values(place, row, "text_field", self.text_field):
            texts.setdefault(_link(place, item, text_key), text)
        for item, query in _values(place, row, "query_field", self.query_field):
            if (named := _link(place, item, query_key)) in texts:
                yield Pair(query, texts[named])

    def sha256(self, root: Path) -> str:
        """Digest of the stored bytes: of one line with the sha256 of each file."""
        lines = [f"{remembered_sha256(path, root)}\n" for path in self.paths(root)]
        return hashlib.sha256("".join(lines).encode()).hexdigest()


def _link(place: str, item: dict[str, Any], key: str | None) -> Any:
    """An item's value at a key of `link:`; None without one."""
    value = item.get(key) if key else None
    if isinstance(value, list | dict):
        raise UserError(f"{place}: field {key!r} is {type(value).__name__}, not one value. Mend or remove the row.")
    return value


def _values(place: str, row: dict[str, Any], key: str, field: str) -> Iterator[tuple[dict[str, Any], str]]:
    """Each text of `field`, which the parameter `key` names, with what holds it: the row, or an item of its list."""
    within, _, name = field.rpartition(".")
    items = row.get(within) if within else [row]
    if not isinstance(items, list) or not all(isinstance(item, dict) for item in items):
        raise UserError(f"{place}: field {within!r} is no list of objects. Correct `{key}:`, or mend the row.")
    for item in items:
        yield item, rows.field_text(place, item, name, key)
