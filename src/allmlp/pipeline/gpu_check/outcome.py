"""What a check is, and what is kept of it."""

from collections.abc import Callable, Iterator
from typing import NamedTuple

Check = tuple[str, Callable[[], tuple[bool, str]]]  # its name, and a function: did it pass, and what was measured
Checks = Callable[[str], Iterator[Check]]  # those of a device, "cpu" or "cuda"


class Outcome(NamedTuple):
    """Of one check."""

    check: str
    passed: bool
    said: str


def outcome(check: Check) -> Outcome:
    """Do it. An error is a failure, so that the checks after it are done too."""
    name, work = check
    try:
        passed, said = work()
    except Exception as error:
        return Outcome(name, False, f"{type(error).__name__}: {error}"[:600])
    return Outcome(name, passed, said)
