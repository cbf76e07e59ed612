"""recipes.lock and rules.lock: the sources behind each RECIPE and each claim's rule, which the author decides about."""

import importlib
import json
from collections.abc import Collection, Iterable, Iterator

from allmlp import models
from allmlp.common import formats, paths, recipes
from allmlp.common.errors import UserError
from allmlp.data import tasks
from allmlp.judging import evidence, judge, rule_digests
from allmlp.judging.ages import History
from allmlp.judging.rule_digests import LOCK, Line
from allmlp.pipeline.checking.findings import FROM_GIT, Decisions, Discrepancy
from allmlp.spec import catalogue

MADE = ("results", "work")
CHANGED_SOURCES = (
    "sources changed, RECIPE did not. If results can differ, raise RECIPE in the module; "
    "if not, `allmlp check --fix --same-behaviour MODULE` (or all)"
)


def recipe_lock(fix: bool, decisions: Decisions) -> Iterator[Discrepancy]:
    """recipes.lock: new, raised and changed recipes, and those of modules that are gone."""
    path = paths.project() / recipes.LOCK
    lock = formats.read_json(path, FROM_GIT.format(path.name)) if path.is_file() else {}
    now = {
        module: {"recipe": recipes.recipe_number(module), "sources": recipes.fingerprint(module)}
        for module in recipes.modules()
    }
    differ = [module for module in now if lock.get(module) != now[module]]
    if broken := _broken_modules(differ):  # else it would be noticed after a training
        yield Discrepancy(recipes.LOCK, "cannot be imported", broken)
        return
    raised = [module for module in differ if lock.get(module, {}).get("recipe") != now[module]["recipe"]]
    changed = [module for module in differ if module not in raised]
    new = [module for module in changed if not has_results(module)]
    same = [module for module in changed if module not in new and decisions.same_behaviour & {module, "all"}]
    asked = tuple(module for module in changed if module not in (*same, *new))
    gone = tuple(module for module in lock if module not in now)
    if fix and (differ or gone):
        kept = {module: lock[module] for module in asked}
        paths.write_atomically(path, json.dumps({**now, **kept}, indent=1) + "\n")
    if raised:
        yield Discrepancy(recipes.LOCK, "new or raised RECIPE", tuple(raised), open=not fix)
    if new:
        yield Discrepancy(recipes.LOCK, "of no commit and without results: taken as new", tuple(new), open=not fix)
    if same:
        yield Discrepancy(
            recipes.LOCK, "sources changed and behave the same, as the author says", tuple(same), open=not fix
        )
    if asked:
        yield Discrepancy(recipes.LOCK, CHANGED_SOURCES, asked)
    if gone:
        yield Discrepancy(recipes.LOCK, "no RECIPE any more", gone, open=not fix)


def has_results(module: str) -> bool:
    """May a result rest on this module or measure: is it in a commit, or has it trained or measured anything here?"""
    root = paths.project()
    if module in recipes.committed(root):
        return True
    of_module, _, measure = module.partition(":")
    if measure:
        study = of_module.split(".")[2]
        places = (root, *root.glob("own/*"))
        stored = (place.glob(f"{made}/measurements/{study}/{measure}/*.parquet") for place in places for made in MADE)
        return any(file for files in stored for file in files)
    names = {name for name, place in (models.REGISTRY | tasks.REGISTRY).items() if place.split(":")[0] == of_module}
    trained = (formats.read("checkpoint", file)["run"] for file in root.glob("results/checkpoints/*/run.json"))
    return (
        not names  # what else has a RECIPE may be behind any run
        or any(name in folder.name for folder in root.glob("work/runs/*") for name in names)
        or any(run[part][0] in names for run in trained for part in ("architecture", "task"))
    )


def _broken_modules(modules: Iterable[str]) -> tuple[str, ...]:
    """Those of the modules that raise when they are imported, each with what it says."""
    found = []
    for module in modules:
        try:
            importlib.import_module(module.partition(":")[0])
        except Exception as error:
            found.append(f"{module} ({type(error).__name__}: {error})")
    return tuple(found)


CHANGED_RULE = (
    "the words, the numbers or the code of the rule changed. If it judges as before, "
    "`allmlp check --fix --same-behaviour CLAIM`; if not, `allmlp check --fix --new-rule CLAIM`"
)


def rule_lock(fix: bool, decisions: Decisions) -> Iterator[Discrepancy]:
    """rules.lock: new and changed rules, and those of claims that are gone."""
    lock, now = rule_digests.read_lock(), rule_digests.current_rules()
    differ = [claim for claim in now if claim not in lock or lock[claim].digest != now[claim]]
    committed, gone = rule_digests.committed(paths.project()), tuple(claim for claim in lock if claim not in now)
    new = tuple(claim for claim in differ if claim not in lock or claim not in committed)
    changed = [claim for claim in differ if claim not in new]
    if broken := _broken_rules(differ):  # else it would be noticed by the report
        yield Discrepancy(LOCK, "the test fails on what is measured here", broken)
        return
    same = tuple(claim for claim in changed if claim in decisions.same_behaviour)
    replaced = tuple(claim for claim in changed if claim in decisions.new_rule and claim not in same)
    asked = tuple(claim for claim in changed if claim not in (*same, *replaced))
    if fix and (new or gone or same or replaced):
        lines = {claim: Line(digest) for claim, digest in now.items()}
        lines |= {claim: lock[claim] for claim in now if claim in lock and claim not in (*new, *same, *replaced)}
        lines |= {claim: _updated_line(claim, lock[claim], now[claim]) for claim in same}
        rule_digests.write_lock({claim: lines[claim] for claim in now})
    if new:
        yield Discrepancy(LOCK, "new rule", new, open=not fix)
    if same:
        yield Discrepancy(LOCK, "judges as before by other code, as the author says", same, open=not fix)
    if replaced:
        yield Discrepancy(LOCK, "replaced by a new rule, as the author says", replaced, open=not fix)
    if asked:
        yield Discrepancy(LOCK, CHANGED_RULE, asked)
    if gone:
        yield Discrepancy(LOCK, "no claim any more", gone, open=not fix)


def _broken_rules(claims: Collection[str]) -> tuple[str, ...]:
    """What the tests of these claims say that fail on the measurements here."""
    if not claims or not paths.SELECTED.is_file():
        return ()
    found = []
    for study in catalogue.STUDIES:
        scales = evidence.evidence_by_scale(study)
        for claim in catalogue.ledger(study):
            if claim["id"] in claims and not claim.get("same_as"):
                try:
                    judge.judge_claim(study, claim, scales)
                except UserError as error:
                    found.append(str(error))
    return tuple(found)


def _updated_line(claim: str, line: Line, digest: str) -> Line:
    """The line for changed code, as old as the one that it replaces."""
    since = line.since or History.read(paths.project()).rule_commit(claim)
    if not since:
        raise UserError(f"{claim}: git does not say since when its line in {LOCK} is there. Commit {LOCK} first.")
    return line._replace(digest=digest, since=since)
