"""A moment at which trainings save their state and leave: ALLMLP_DEADLINE, in seconds since 1970.

`allmlp advance` sets it for its jobs. A training under way leaves at the next step; a job that would start later leaves
at once.
"""

import math
import os
import time
from typing import NoReturn

from allmlp.common.errors import UserError

VARIABLE = "ALLMLP_DEADLINE"
STATUS = 75  # sysexits.h: a temporary end; the same command goes on later
WORDS = "left at the deadline"


def moment() -> float:
    """The deadline; infinity where none is set. UserError for another value."""
    said = os.environ.get(VARIABLE)
    try:
        return math.inf if not said else float(said)
    except ValueError:
        raise UserError(f"{VARIABLE}={said}: is not a time. Give seconds since 1970, or unset it.") from None


def has_passed() -> bool:
    """Is it time to leave?"""
    return time.time() >= moment()


def leave(what: str) -> NoReturn:
    """End this process with the words and the status that `allmlp advance` looks for."""
    print(f"{what}: {WORDS}; the same command goes on later", flush=True)
    raise SystemExit(STATUS)


def leave_if_passed(what: str) -> None:
    """For a job at its start, or between two runs."""
    if has_passed():
        leave(what)
