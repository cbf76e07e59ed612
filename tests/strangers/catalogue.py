"""Bad inputs that a stranger may bring, the reader of each, and the words that must refuse it.

`python -m tests.strangers.catalogue` writes docs/strangers.md, the table of them.
"""

from tests.conftest import PROJECT
from tests.strangers import bad_artifacts, bad_corpora
from tests.strangers.bad import Bad

DOCS = PROJECT / "docs/strangers.md"
FUZZED = "## Fuzzed"  # begins the part that `make fuzz` writes
BAD: list[Bad] = [*bad_corpora.BAD, *bad_artifacts.BAD]


def fuzzed() -> str:
    """The part of docs/strangers.md that `make fuzz` wrote."""
    return "".join(DOCS.read_text(encoding="utf-8").partition(FUZZED)[1:])


def table() -> str:
    """docs/strangers.md up to what `make fuzz` wrote: the inputs by their readers, and the words that refuse them."""
    lines = [
        "# Bad inputs and their messages",
        "",
        f"{len(BAD)} bad inputs, {len(BAD)} refused: each by one message that names the file, what is wrong and a way",
        "out, before anything is written. `pytest tests/strangers` tries them all and keeps this table as it is.",
        "",
    ]
    for reader in dict.fromkeys(bad.reader for bad in BAD):
        lines += [f"## {reader[0].upper()}{reader[1:]}", "", "| input | refused with |", "| --- | --- |"]
        lines += [f"| {_cell(bad.what)} | {_cell(bad.said)} |" for bad in BAD if bad.reader == reader]
        lines.append("")
    return "\n".join(lines) + "\n"


def _cell(text: str) -> str:
    special = set("<>*`_$") & set(text)
    return (f"`{text}`" if special and "`" not in text else text).replace("|", "\\|")


if __name__ == "__main__":
    DOCS.write_text(table() + fuzzed(), encoding="utf-8")
