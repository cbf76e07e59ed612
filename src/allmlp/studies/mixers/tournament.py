"""Search by tournament: groups of candidates meet in a pass of the matcher, winners meet again (001-30).

A pass reads the query and one group, and keeps one of it. n texts in groups of c take ceil(n / c) passes, then as many
for the winners, until one is left: about n / (c - 1) in all, which grows as n, not as n log n (E001-13):

>>> passes(1000, 32), passes(10**6, 32), round(10**6 / 31)
(33, 32259, 32258)
"""

from collections.abc import Callable

import numpy as np
from numpy.typing import NDArray

from allmlp.errors import UserError

Groups = NDArray[np.int64]
Winners = Callable[[Groups], NDArray[np.int64]]  # (passes, group) candidates -> (passes,) which place of each wins


def rounds(n: int, group: int) -> list[int]:
    """Passes in each round of a tournament of n texts in groups of `group`.

    A text left alone goes to the next round without a pass. Raises UserError unless n >= 1 and group >= 2.
    """
    if n < 1 or group < 2:
        raise UserError(f"a tournament of {n} texts in groups of {group}: needs a text, and two in a group")
    found = []
    while n > 1:
        whole, left = divmod(n, group)
        found.append(whole + (left > 1))
        n = whole + (left > 0)
    return found


def passes(n: int, group: int) -> int:
    """Forward passes of the matcher in the whole tournament."""
    return sum(rounds(n, group))


def search(candidates: NDArray[np.int64], group: int, winners: Winners) -> tuple[int, int]:
    """The candidate that wins, and the passes it took.

    `winners` needs full groups: a smaller group is filled up by repeating its members.
    """
    taken, left = 0, np.asarray(candidates, dtype=np.int64)
    if not len(left) or group < 2:
        raise UserError(f"a tournament of {len(left)} texts in groups of {group}: needs a text, and two in a group")
    while len(left) > 1:
        unasked = left[-1:] if len(left) % group == 1 else left[:0]
        playing = left[: len(left) - len(unasked)]
        whole, rest = np.split(playing, [len(playing) // group * group])
        groups = [whole.reshape(-1, group)] + ([np.resize(rest, (1, group))] if len(rest) else [])
        meetings = np.concatenate(groups)
        taken += len(meetings)
        left = np.concatenate([meetings[np.arange(len(meetings)), winners(meetings)], unasked])
    return int(left[0]), taken
