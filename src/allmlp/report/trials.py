"""Verdicts that a rule cannot carry, as its trial on the truth or on noise went wrong (`passes` in claims.yaml)."""

from collections.abc import Mapping
from typing import Any

from allmlp.report import needs

DENIED = ("contradicted", "below margin")  # verdicts of what is not as the claim says


def withhold(result: dict[str, Any], claim: Mapping[str, Any]) -> dict[str, Any]:
    """A claim's entry, undecided where noise is reproduced too, or where the truth is denied too."""

    def check(of: dict[str, Any], name: str) -> needs.Change:
        part = needs.letter(name) or "all"
        truth, noise = ((claim.get(kind) or {}).get(part, {}) for kind in ("truth", "noise"))
        if noise.get("passes") is True:
            return _change(of, ("reproduced",), f"the rule reproduces noise too: {noise['of']} have {noise['value']:g}")
        if truth.get("passes") is False:
            return _change(of, DENIED, f"the rule denies the truth too: {truth['of']} have {truth['value']:g}")
        return needs.Change()

    return needs.changed(result, check)


def _change(of: dict[str, Any], verdicts: tuple[str, ...], reason: str) -> needs.Change:
    return needs.Change(guard=reason, withheld=of["verdict"] in verdicts)
