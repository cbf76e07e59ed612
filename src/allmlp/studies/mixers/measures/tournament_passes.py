"""Search by tournament: groups of candidates meet in a pass of the matcher, winners meet again (001-30).

A pass reads the query and one group, and keeps one of it. n texts in groups of c take ceil(n / c) passes, then as many
for the winners, until one is left: about n / (c - 1) in all, which grows as n, not as n log n (E001-13):

>>> passes(1000, 32), passes(10**6, 32), round(10**6 / 31)
(33, 32259, 32258)
"""

from collections.abc import Callable

import numpy as np
import pandas as pd
from numpy.typing import NDArray

from allmlp.columns import exact, numeric
from allmlp.errors import UserError

RECIPE = 1
Groups = NDArray[np.int64]
Winners = Callable[[Groups], NDArray[np.int64]]  # (passes, group) candidates -> (passes,) which place of each wins
GROUPS = (8, 32, 128)  # the article's are 32 and 128
TEXTS = (10**3, 10**4, 10**5, 10**6)

COLUMNS = {
    "group": exact("texts that one pass compares"),
    "texts": exact("texts among which one is sought"),
    "passes": exact("forward passes, counted as they are made"),
    "passes_per_text_1": numeric("passes over texts", rtol=1e-12),
    "limit_1": numeric("1 / (group - 1), which passes over texts come near to", rtol=1e-12),
}


def measure() -> pd.DataFrame:
    """One row per size of groups and number of texts, without training."""
    rows = []
    for group in GROUPS:
        for n in TEXTS:
            _, made = search(np.arange(n), group, lambda meetings: np.zeros(len(meetings), np.int64))
            if made != passes(n, group):
                raise ValueError(f"{n} texts in groups of {group}: {made} passes made, {passes(n, group)} expected")
            rows.append((group, n, made, made / n, 1 / (group - 1)))
    return pd.DataFrame(rows, columns=list(COLUMNS))


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
