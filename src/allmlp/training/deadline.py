"""A moment at which trainings save their state and leave: ALLMLP_DEADLINE, in seconds since 1970.

`allmlp advance` sets it for its jobs. What began before is left at the next step, what would begin
after leaves at once.
"""

import math
import os
import time
from typing import NoReturn

from allmlp.errors import UserError

VARIABLE = "ALLMLP_DEADLINE"
STATUS = 75  # sysexits.h: nothing is wrong, the same command goes on later
WORDS = "left at the deadline"


def moment() -> float:
    """The deadline; infinity where none is set. UserError for a value that is no time."""
    said = os.environ.get(VARIABLE)
    try:
        return math.inf if not said else float(said)
    except ValueError:
        raise UserError(f"{VARIABLE}={said}: is no time. Give seconds since 1970, or unset it.") from None


def passed() -> bool:
    """Is it time to leave?"""
    return time.time() >= moment()


def leave(what: str) -> NoReturn:
    """End this process, with words and a status that `allmlp advance` knows."""
    print(f"{what}: {WORDS}; the same command goes on later", flush=True)
    raise SystemExit(STATUS)


def leave_if_passed(what: str) -> None:
    """For a job that starts late, or is between two pieces of work."""
    if passed():
        leave(what)
