"""tests/docs/words_to_avoid.json: how often each word that docs/development.md advises against still occurs.

A number may only fall. `fix` lowers it; a word that occurs more often is named with its places.
"""

import json
import re
import subprocess
from collections.abc import Iterator
from pathlib import Path

from allmlp import paths
from allmlp.checking.found import Decisions, Found

FILE = Path("tests/docs/words_to_avoid.json")
READ = ("README.md", "docs", "src", "config", "paper", "workflow", "Snakefile", "params.yaml", "dvc.yaml")
SHOWN = 5  # places


def look(fix: bool, decisions: Decisions) -> Iterator[Found]:
    """Words that occur more often than the list says, and less often."""
    del decisions
    path = paths.project() / FILE
    if not path.is_file():
        return
    allowed: dict[str, int] = json.loads(path.read_text(encoding="utf-8"))
    lines = list(_lines(paths.project()))
    places = {word: [place for place, line in lines if re.search(rf"\b{word}\b", line)] for word in allowed}
    fewer = tuple(word for word in allowed if len(places[word]) < allowed[word])
    if fix and fewer:
        lowered = {word: min(number, len(places[word])) for word, number in allowed.items()}
        paths.write_whole(path, json.dumps(lowered, indent=1) + "\n")
    if fewer:
        yield Found(str(FILE), "occurs less often than listed", fewer, open=not fix)
    for word in allowed:
        if len(places[word]) > allowed[word]:
            what = (
                f"{word!r} occurs {len(places[word])} times, listed are {allowed[word]}. Write it otherwise, here or in"
            )
            yield Found(str(FILE), what, tuple(places[word][-SHOWN:]))


def _lines(root: Path) -> Iterator[tuple[str, str]]:
    """(file:line, text) of what people read: sources, pages and parameters, tracked or new."""
    words = ["git", "ls-files", "-co", "--exclude-standard", "--", *READ]
    files = subprocess.run(words, cwd=root, capture_output=True, text=True, check=True).stdout.splitlines()
    for name in files:
        if Path(name).suffix in {".md", ".py", ".yaml", ".j2", ".smk", ""} and (root / name).is_file():
            for number, line in enumerate((root / name).read_text(encoding="utf-8").splitlines(), 1):
                yield f"{name}:{number}", line
