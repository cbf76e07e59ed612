"""rules.lock: the digest of each claim's rule. A changed rule judges as before, or is a new one, as the author says."""

from collections.abc import Iterator

from allmlp import paths, rules
from allmlp.checking.found import Decisions, Found
from allmlp.errors import UserError
from allmlp.report.ages import History
from allmlp.rules import LOCK, Line

CHANGED = (
    "the words, the numbers or the code of the rule changed. If it judges as before, "
    "`allmlp check --fix --same-behaviour CLAIM`; if not, `allmlp check --fix --new-rule CLAIM`"
)


def look(fix: bool, decisions: Decisions) -> Iterator[Found]:
    """New and changed rules, and those of claims that are gone."""
    lock, now = rules.read_lock(), rules.current()
    new, gone = tuple(claim for claim in now if claim not in lock), tuple(claim for claim in lock if claim not in now)
    changed = [claim for claim in now if claim in lock and lock[claim].digest != now[claim]]
    same = tuple(claim for claim in changed if claim in decisions.same_behaviour)
    replaced = tuple(claim for claim in changed if claim in decisions.new_rule and claim not in same)
    asked = tuple(claim for claim in changed if claim not in (*same, *replaced))
    if fix and (new or gone or same or replaced):
        lines = {claim: Line(digest) for claim, digest in now.items()}
        lines |= {claim: lock[claim] for claim in now if claim in lock and claim not in (*same, *replaced)}
        lines |= {claim: _since_before(claim, lock[claim], now[claim]) for claim in same}
        rules.write_lock({claim: lines[claim] for claim in now})
    if new:
        yield Found(LOCK, "new rule", new, open=not fix)
    if same:
        yield Found(LOCK, "judges as before by other code, as the author says", same, open=not fix)
    if replaced:
        yield Found(LOCK, "replaced by a new rule, as the author says", replaced, open=not fix)
    if asked:
        yield Found(LOCK, CHANGED, asked)
    if gone:
        yield Found(LOCK, "no claim any more", gone, open=not fix)


def _since_before(claim: str, line: Line, digest: str) -> Line:
    """The line by other code, as old as the one that it replaces."""
    since = line.since or History.of(paths.project()).written(claim)
    if not since:
        raise UserError(f"{claim}: git does not say since when its line in {LOCK} is there. Commit {LOCK} first.")
    return line._replace(digest=digest, since=since)
