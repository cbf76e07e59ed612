"""The result of every check on a model, printed as a table or as JSON."""

import json
from collections.abc import Iterator
from dataclasses import asdict, dataclass
from typing import Literal

import torch

from allmlp.models.audit.checks import CHECKS, LeakError, NotApplicableError
from allmlp.models.audit.subject import Subject

Result = Literal["pass", "fail", "not applicable"]


@dataclass(frozen=True)
class Finding:
    """The result of one check. Of a failure, `source`: the altered position, and `position`: the first wrong prediction
    of the same row; -1 for a whole row or its one prediction."""

    architecture: str
    check: str
    result: Result
    position: int = -1
    source: int = -1
    declared: str = ""  # why this check is known to fail
    detail: str = ""

    @property
    def is_expected(self) -> bool:
        """Fails if and only if that is declared, where it applies."""
        return self.result == "not applicable" or (self.result == "fail") == bool(self.declared)

    @property
    def word(self) -> str:
        """One word for a table."""
        return {"pass": "pass", "fail": "leaks" if self.declared else "FAIL", "not applicable": "-"}[self.result]


def examine(name: str, subject: Subject) -> Iterator[Finding]:
    """Every check of one model, in the order of CHECKS. ValueError where its LEAKS name a check that is none."""
    leaks = subject.model.LEAKS
    if unknown := set(leaks) - set(CHECKS):
        raise ValueError(f"{type(subject.model).__name__}.LEAKS: no check {', '.join(sorted(unknown))}")
    for check, look in CHECKS.items():
        declared = leaks.get(check, "")
        try:
            with torch.no_grad():
                look(subject)
        except NotApplicableError as reason:
            yield Finding(name, check, "not applicable", declared=declared, detail=str(reason))
        except LeakError as leak:
            yield Finding(name, check, "fail", leak.position, leak.source, declared, str(leak))
        else:
            yield Finding(name, check, "pass", declared=declared)


def show(findings: list[Finding], format: str) -> int:
    """Print findings as a table or as JSON. Returns how many are not in order."""
    wrong = [finding for finding in findings if not finding.is_expected]
    if format == "json":
        rows = [{**asdict(finding), "in_order": finding.is_expected} for finding in findings]
        print(json.dumps({"findings": rows, "not_in_order": len(wrong)}, indent=1))
        return len(wrong)
    subjects = list(dict.fromkeys(finding.architecture for finding in findings))
    width = max(map(len, subjects), default=0)
    print(" " * width, *CHECKS, sep="  ")
    for subject in subjects:
        cells = {finding.check: finding.word for finding in findings if finding.architecture == subject}
        print(subject.ljust(width), *(cells[check].ljust(len(check)) for check in CHECKS), sep="  ")
    for finding in findings:
        if finding.result == "fail":
            print(f"{finding.architecture}: {finding.check}: {finding.detail}. {finding.declared or 'NOT DECLARED'}")
        elif not finding.is_expected:
            print(f"{finding.architecture}: {finding.check}: passes, but LEAKS says: {finding.declared}")
    print(f"{len(subjects)} audited; not in order: {len(wrong)}")
    return len(wrong)
