"""What rules in claims.yaml say besides `better`: below a limit, several numbers, a verdict withheld, runs it needs."""

from collections.abc import Iterable, Mapping
from dataclasses import replace
from typing import TYPE_CHECKING

from allmlp.report.statistics import Finding, Values, Verdict, better

if TYPE_CHECKING:
    from allmlp.report.evidence import Evidence


class NotPlannedError(Exception):
    """The plan leaves out runs that a rule compares; the claim is then not run."""


class NotComparableError(NotPlannedError):
    """The planned runs differ in what a rule holds equal; it needs others, and the claim is then not run."""


def require_models(evidence: "Evidence", measure: str, models: Iterable[str]) -> None:
    """Raises NotPlannedError, naming them, where no run of some of these models is planned to have the measure."""
    planned = {evidence.content["runs"][run]["labels"].get("model") for run in evidence.planned(measure)}
    if missing := [model for model in models if model not in planned]:
        raise NotPlannedError(f"needs runs of {', '.join(missing)}, which are not planned")


def below(values: Values, limit: float, unit: str = "") -> Finding:
    """Is the mean over seeds below `limit`? The mirror image of `better`.

    values: (n,), one per seed. Upper end of the 95 % t interval below: reproduced. Lower end above:
    contradicted.
    """
    mirrored = better([-float(value) for value in values], -limit, unit=unit)
    low, high = -mirrored.high, -mirrored.low
    text = f"mean {-mirrored.value:.3g} {unit}".rstrip()
    text += f", 95 % t interval {low:.3g} to {high:.3g}, n = {mirrored.n}, against a limit of {limit:g}"
    return replace(mirrored, value=-mirrored.value, low=low, high=high, text=text)


def every(findings: Mapping[str, Finding]) -> Finding:
    """One part that several numbers decide together: all must hold, and any one of them can refute it.

    The finding is that of its weakest number (largest p); its text says all. Raises ValueError if there is
    none.
    """
    if not findings:
        raise ValueError("a part needs at least one number")
    verdicts = {finding.verdict for finding in findings.values()}
    verdict: Verdict = "contradicted" if "contradicted" in verdicts else "undecided"
    verdict = "reproduced" if verdicts == {"reproduced"} else verdict
    weakest = max(findings.values(), key=lambda finding: 1.0 if finding.p is None else finding.p)
    text = "; ".join(f"{name}: {finding.text}" for name, finding in findings.items())
    return replace(weakest, verdict=verdict, text=text)


def withheld(finding: Finding, verdict: Verdict, reason: str, *, when: bool) -> Finding:
    """The finding, undecided for the `reason` where it would say `verdict` and `when` holds."""
    if not when or finding.verdict != verdict:
        return finding
    return replace(finding, verdict="undecided", text=f"{finding.text}; not {verdict}: {reason}")
