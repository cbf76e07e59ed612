"""recipes.lock: the sources behind each RECIPE. A change must raise the RECIPE, or be said to alter no result."""

import json
from collections.abc import Iterator

from allmlp import paths, recipes
from allmlp.checking.found import Decisions, Found

LOCK = "recipes.lock"
CHANGED = (
    "sources changed, RECIPE did not. If results can differ, raise RECIPE in the module; "
    "if not, `allmlp check --fix --same-behaviour MODULE` (or all)"
)


def look(fix: bool, decisions: Decisions) -> Iterator[Found]:
    """New, raised and changed recipes, and those of modules that are gone."""
    path = paths.project() / LOCK
    lock = json.loads(path.read_text(encoding="utf-8")) if path.is_file() else {}
    now = {
        module: {"recipe": recipes.of(module), "sources": recipes.fingerprint(module)} for module in recipes.modules()
    }
    differ = [module for module in now if lock.get(module) != now[module]]
    raised = [module for module in differ if lock.get(module, {}).get("recipe") != now[module]["recipe"]]
    changed = [module for module in differ if module not in raised]
    same = [module for module in changed if decisions.same_behaviour & {module, "all"}]
    asked = tuple(module for module in changed if module not in same)
    gone = tuple(module for module in lock if module not in now)
    if fix and (differ or gone):
        kept = {module: lock[module] for module in asked}
        paths.write_whole(path, json.dumps({**now, **kept}, indent=1) + "\n")
    if raised:
        yield Found(LOCK, "new or raised RECIPE", tuple(raised), open=not fix)
    if same:
        yield Found(LOCK, "sources changed and behave the same, as the author says", tuple(same), open=not fix)
    if asked:
        yield Found(LOCK, CHANGED, asked)
    if gone:
        yield Found(LOCK, "no RECIPE any more", gone, open=not fix)
