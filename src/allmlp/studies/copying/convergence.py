"""When a learning curve of the copying study reaches 99 % accuracy, how steeply it falls, how far it rises again
(002-1, 002-2, 002-4, 002-5).

Curves are arrays (n,) over logged steps that rise, losses in nats. The plateau is the loss of a model that only knows
which tokens are letters; a curve "falls to a share" at the first step where the median of its last five losses is below
that share of the plateau.
"""

import math
from typing import NamedTuple

import numpy as np
from numpy.typing import NDArray

from allmlp.studies.shared.curve_statistics import check_rising, first_step_below, interval_mean

WITHIN = 25  # iterations in which a phase change happens
LETTERS = 26
LEARNED_NATS = 0.01  # strings are copied without an error; the loss is on its way to 1e-4


class Fall(NamedTuple):
    """The largest fall of a loss: by how much (nats), from which step on."""

    nats: float
    step: int


class Rise(NamedTuple):
    """The largest rise of a loss once it is learned: when that was, by how much (nats), and the step of the peak."""

    learned: int
    nats: float
    step: int


def largest_fall(steps: NDArray, loss: NDArray, within: int = WITHIN) -> Fall:
    """The largest loss[t] - min(loss[t .. t + within]), in nats, and the step t where it begins (002-2).

    Steps may be further apart than one iteration. Losses that are not finite are left out. 0 if the loss never falls,
    as in an empty curve (a run that diverged at once). Raises ValueError as `check_rising`.
    """
    steps, loss = check_rising(steps, loss)
    finite = np.isfinite(loss)
    best = Fall(0.0, int(steps[0]) if len(steps) else 0)
    for row in np.flatnonzero(finite):
        last = np.searchsorted(steps, steps[row] + within, side="right")
        window = loss[row:last]
        fall = float(loss[row] - window[finite[row:last]].min())
        if fall > best.nats:
            best = Fall(fall, int(steps[row]))
    return best


def largest_rise(steps: NDArray, loss: NDArray, level: float = LEARNED_NATS) -> Rise | None:
    """The largest loss[t] - min(loss[.. t]) from the first loss of at most `level` nats on (002-1).

    None for a loss that never gets there. Losses that are not finite are left out. Raises ValueError as `check_rising`.
    """
    steps, loss = check_rising(steps, loss)
    steps, loss = steps[np.isfinite(loss)], loss[np.isfinite(loss)]
    learned = np.flatnonzero(loss <= level)
    if not len(learned):
        return None
    steps, loss = steps[learned[0] :], loss[learned[0] :]
    rises = loss - np.minimum.accumulate(loss)
    peak = int(rises.argmax())
    return Rise(int(steps[0]), float(rises[peak]), int(steps[peak]))


def plateau(string_length: int) -> float:
    """n ln(26) / (n + 1) nats: the loss of guessing n letters at random and predicting their end correctly (002-4)."""
    return string_length * math.log(LETTERS) / (string_length + 1)


def sharpness(steps: NDArray, loss: NDArray, height: float, budget: int) -> float:
    """Steps from 0.9 to 0.1 of the plateau's `height` (nats), over steps to 0.9: below 1, a sudden fall.

    A straight descent from the plateau has 8, an exponential one 21. A curve that does not fall to 0.1 counts with the
    whole `budget` as the time it took, one that does not fall to 0.9 with the budget as its plateau too.
    """
    begins, ends = first_step_below(steps, loss, 0.9 * height), first_step_below(steps, loss, 0.1 * height)
    took = budget if begins is None or ends is None else ends - begins
    return took / (budget if begins is None else begins)


def gap(steps: NDArray, loss_a: NDArray, loss_b: NDArray, height: float) -> float:
    """Mean |loss_a - loss_b| of the steps over the plateau's `height`, up to twice the later fall to 0.1 of it (002-4).

    Up to the last step if a curve does not fall, or if twice its time is beyond the last step. Raises ValueError as
    `check_rising`.
    """
    steps, loss_a = check_rising(steps, loss_a)
    falls = [first_step_below(steps, loss, 0.1 * height) for loss in (loss_a, check_rising(steps, loss_b)[1])]
    until = steps[-1] if None in falls else 2 * max(fall for fall in falls if fall is not None)
    return interval_mean(steps, np.abs(loss_a - loss_b), int(steps[0]), int(min(until, steps[-1]))) / height
