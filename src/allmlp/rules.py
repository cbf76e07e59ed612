"""What a claim is judged by: its rule's words, its numbers and the code of its test, as one digest per claim.

`rules.lock` has a line per claim, `<claim> <digest> [<word>...]`, so that git's history tells since when a rule is what
it is: since the commit that wrote its line (`allmlp.report.ages`). The words are of two kinds:

- `older=workstation,english`: when this file began, the results of that scale or overlay were older than the rule.
- `since=<commit>`: the code was written anew since that commit, and judges alike (`--same-behaviour <claim>`).
"""

from collections.abc import Callable, Collection
from typing import Any, NamedTuple

from allmlp import paths, reached, studies
from allmlp.errors import UserError

LOCK = "rules.lock"
SAID = ("statistic", "reproduced_if", "contradicted_if", "margin", "paper", "runs")


class Line(NamedTuple):
    """A claim's line in rules.lock."""

    digest: str
    older: tuple[str, ...] = ()
    since: str = ""

    def text(self, claim: str) -> str:
        """The line as it stands in the file."""
        words = [f"older={','.join(self.older)}"] if self.older else []
        return " ".join([claim, self.digest, *words, *([f"since={self.since}"] if self.since else [])])


def rule(study: str, claim: dict[str, Any]) -> str:
    """The digest of a claim's rule: renaming its test, or words about it, alter nothing."""
    said = {key: claim.get(key) for key in SAID}
    test = claim["test"]
    code = reached.digest(studies.verdict_module(study, test), test) if test else None
    return paths.digest([said, code], 16)


def current() -> dict[str, str]:
    """claim -> digest of its rule, of all claims of all studies."""
    return {claim["id"]: rule(study, claim) for study in studies.STUDIES for claim in studies.ledger(study)}


def read_lock() -> dict[str, Line]:
    """rules.lock: claim -> its line. Empty where there is none."""
    path = paths.project() / LOCK
    lines = path.read_text(encoding="utf-8").splitlines() if path.is_file() else []
    return dict(_parsed(line) for line in lines)


def _parsed(line: str) -> tuple[str, Line]:
    try:
        claim, digest, *words = line.split()
        known = dict(word.split("=", 1) for word in words)
        older = tuple(filter(None, known.pop("older", "").split(",")))
        found = Line(digest, older, known.pop("since", ""))
    except ValueError:
        known, claim, found = {line: ""}, "", Line("")
    if known:
        raise UserError(f"{LOCK}: cannot read {line!r}. Take the file from git, then `allmlp recipes --write`.")
    return claim, found


def check() -> list[str]:
    """What is wrong with the lock, a line each."""
    lock, now = read_lock(), current()
    changed = [claim for claim in now if claim not in lock or lock[claim].digest != now[claim]]
    return [
        f"{claim}: its rule is not the one in {LOCK}: its words, its numbers or the code of its test changed. "
        f"Run `allmlp recipes --write`; if it judges alike, `allmlp recipes --same-behaviour {claim}`."
        for claim in changed
    ] + [f"{claim}: in {LOCK}, but no claim any more. Run `allmlp recipes --write`." for claim in lock.keys() - now]


def write(same_behaviour: Collection[str] = (), written: Callable[[str], str] = lambda claim: "") -> None:
    """Write the lock: a changed rule is new, unless it is named as judging the same by other code.

    `written`: claim -> the commit that wrote its line, empty where git knows none (`report.ages`).
    """
    lock, lines = read_lock(), []
    for claim, digest in current().items():
        line = lock.get(claim, Line(digest))
        if line.digest != digest:
            line = _since_before(claim, line, digest, written) if claim in same_behaviour else Line(digest)
        lines.append(line.text(claim))
    paths.write_whole(paths.project() / LOCK, "\n".join(lines) + "\n")


def _since_before(claim: str, line: Line, digest: str, written: Callable[[str], str]) -> Line:
    since = line.since or written(claim)
    if not since:
        raise UserError(f"{claim}: git does not say since when its line in {LOCK} is there. Commit {LOCK} first.")
    return line._replace(digest=digest, since=since)
