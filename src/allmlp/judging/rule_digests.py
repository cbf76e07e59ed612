"""The rule of each claim as one digest: its words, its numbers, what it needs and the code of its test.

`rules.lock` has a line per claim, `<claim> <digest> [<word>...]`, so that git's history shows the age of a rule: it
dates from the commit that wrote its line (`allmlp.judging.ages`). The words are of two kinds:

- `older=workstation,english`: when this file began, the results of that scale or overlay were older than the rule.
- `since=<commit>`: the code has changed since that commit, but judges alike (`--same-behaviour <claim>`).
"""

from pathlib import Path
from typing import Any, NamedTuple

from allmlp.common import git, paths
from allmlp.common.errors import UserError
from allmlp.judging import code_digest
from allmlp.spec import catalogue

LOCK = "rules.lock"
SAID = ("statistic", "reproduced_if", "contradicted_if", "margin", "paper", "runs", "needs", "measures")
WHERE_THERE = ("premise", "compares")  # of claims that have one; both withhold a verdict


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
    """The digest of a claim's rule. Renaming its test, or comments, do not change it."""
    said = {key: claim.get(key) for key in SAID} | {key: claim[key] for key in WHERE_THERE if key in claim}
    test = claim["test"]
    code = code_digest.digest(catalogue.verdict_module(study, test), test) if test else None
    return paths.digest([said, code], 16)


def current_rules() -> dict[str, str]:
    """claim -> digest of its rule, of all claims of all studies."""
    return {claim["id"]: rule(study, claim) for study in catalogue.STUDIES for claim in catalogue.ledger(study)}


def read_lock() -> dict[str, Line]:
    """rules.lock: claim -> its line. Empty where there is none."""
    path = paths.project() / LOCK
    lines = path.read_text(encoding="utf-8").splitlines() if path.is_file() else []
    return dict(_parse_line(line) for line in lines)


def committed(root: Path) -> set[str]:
    """The claims in HEAD's rules.lock; all that there are where git does not say."""
    return {line.split()[0] for line in git.lines(root, "show", f"HEAD:./{LOCK}") if line} or set(current_rules())


def lock_digest() -> str:
    """A digest of rules.lock."""
    return paths.digest({claim: line.text(claim) for claim, line in read_lock().items()})


def _parse_line(line: str) -> tuple[str, Line]:
    try:
        claim, digest, *words = line.split()
        known = dict(word.split("=", 1) for word in words)
        older = tuple(filter(None, known.pop("older", "").split(",")))
        found = Line(digest, older, known.pop("since", ""))
    except ValueError:
        known, claim, found = {line: ""}, "", Line("")
    if known:
        raise UserError(f"{LOCK}: cannot read {line!r}. `git checkout {LOCK}`, then `allmlp check --fix`.")
    return claim, found


def write_lock(lines: dict[str, Line]) -> None:
    """Write rules.lock."""
    text = "".join(f"{line.text(claim)}\n" for claim, line in lines.items())
    paths.write_atomically(paths.project() / LOCK, text)
