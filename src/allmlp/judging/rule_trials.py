"""Verdicts that a rule cannot carry, as its trial on the truth or on noise went wrong (`passes` in claims.yaml)."""

from collections.abc import Mapping
from typing import Any

from allmlp.judging import needs

KINDS = (  # of a trial: the answer of `passes` that is wrong, the verdicts that it puts in doubt, and words
    ("noise", True, ("reproduced",), "reproduces noise"),
    ("truth", False, ("contradicted", "below margin"), "denies the truth"),
)


def withhold(result: dict[str, Any], claim: Mapping[str, Any]) -> dict[str, Any]:
    """A claim's entry, undecided where noise is reproduced too, or where the truth is denied too."""

    def check(of: dict[str, Any], name: str) -> needs.Change:
        part = needs.letter(name) or "all"
        for kind, goes_wrong, doubtful, words in KINDS:
            tried = (claim.get(kind) or {}).get(part, {})
            if tried.get("passes") is goes_wrong:
                guard = f"the rule {words} too, with {tried['value']:g} for {tried['of']}"
                return needs.Change(guard=guard, withheld=of["verdict"] in doubtful)
        return needs.Change()

    return needs.apply_check(result, check)
