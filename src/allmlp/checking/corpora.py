"""corpora.lock: the identity and the counts of each corpus that was tokenized."""

import json
from collections.abc import Iterator

from allmlp import paths
from allmlp.checking.found import Decisions, Found
from allmlp.corpora import identity
from allmlp.plan import load_plan

AGAIN = "of other parameters or another RECIPE; `allmlp tokenize CORPUS` writes the new entry"


def look(fix: bool, decisions: Decisions) -> Iterator[Found]:
    """Entries of corpora that are gone or differ by now. Their tokens are nobody's: `fix` removes them."""
    del decisions
    path, specs = paths.project() / identity.LOCK, load_plan().of_git.parameters.corpora
    entries = json.loads(path.read_text(encoding="utf-8")) if path.is_file() else {}
    gone = tuple(name for name in entries if name not in specs)
    there = (name for name in entries if name in specs)
    differ = tuple(name for name in there if entries[name]["spec"] != identity.described(specs[name]))
    if fix and (gone or differ):
        kept = {name: entry for name, entry in entries.items() if name not in (*gone, *differ)}
        paths.write_whole(path, json.dumps(kept, indent=1) + "\n")
    if gone:
        yield Found(identity.LOCK, "no corpus any more", gone, open=not fix)
    if differ:
        yield Found(identity.LOCK, AGAIN, differ, open=not fix)
