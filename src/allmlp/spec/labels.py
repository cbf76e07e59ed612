"""The words for the names in claims.yaml: keys of `margin` and `paper`, and columns that a rule names.

spec/labels.yaml has a label and a unit for each. A rule names a margin by its key, and is printed with its value:

>>> fill_names("upper end below loss_nats", {"loss_nats": 0.02})
'upper end below 0.02 nats'
>>> fill_names("rise of bag_of_words_share_1", {})
'rise of the bag-of-words share of neurons'
"""

import re
from collections.abc import Iterable, Mapping
from functools import cache
from pathlib import Path
from typing import Any, NamedTuple

from allmlp.common import yaml_file
from allmlp.common.errors import UserError

FILE = Path(__file__).with_name("labels.yaml")
SHOWN = "src/allmlp/spec/labels.yaml"
NAME = re.compile(r"\b([a-z][a-z0-9]*(?:_[a-z0-9]+)+)\b")  # of a key or column, in a rule
# Texts of a claim with such names.
RULE = ("claim", "statistic", "premise", "reproduced_if", "contradicted_if", "reason", "seen")


class Label(NamedTuple):
    """What a number is called, and its unit, empty for a pure number."""

    words: str
    unit: str

    def amount(self, value: float) -> str:
        """A value with its unit."""
        unit = self.unit.removesuffix("s") if value == 1 else self.unit
        return f"{amount(value)} {unit}".strip()


def amount(value: float) -> str:
    """`0.02`, `50,000,000`, `1e-09`: a number as it was written."""
    return f"{value:,.0f}" if value == round(value) and 1000 <= abs(value) < 1e12 else f"{value:.6g}"


@cache
def read_labels() -> dict[str, Label]:
    """Name -> its label, of spec/labels.yaml. UserError for an entry of another form."""
    found = yaml_file.parse_plain(FILE.read_text(encoding="utf-8"))
    for name, entry in found.items():
        if not (isinstance(entry, list) and len(entry) == 2 and all(isinstance(one, str) for one in entry)):
            raise UserError(f"{SHOWN}: {name}: write [label, unit], with an empty text for no unit.")
    return {name: Label(*entry) for name, entry in found.items()}


def find_label(name: str) -> Label:
    """The label of a key or column. UserError without one."""
    if name not in read_labels():
        raise UserError(f"{SHOWN}: lacks {name}, which claims.yaml names. Add `{name}: [label, unit]`.")
    return read_labels()[name]


def fill_names(text: str, margin: Mapping[str, float]) -> str:
    """A text of a rule, with the values of its margins and the labels of other numbers in place of their names."""
    pieces = NAME.split(text)
    pieces[1::2] = [
        find_label(name).amount(margin[name]) if name in margin else find_label(name).words for name in pieces[1::2]
    ]
    return "".join(pieces)


def check(rows: Iterable[Mapping[str, Any]]) -> None:
    """UserError for a claim with a margin, a printed number or a name in its rule that has no label."""
    for row in rows:
        for name in (*row["margin"], *row["paper"], *NAME.findall(" ".join(row.get(key) or "" for key in RULE))):
            find_label(name)
