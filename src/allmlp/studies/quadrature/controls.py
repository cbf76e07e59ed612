"""Other angles for the widths of one key frequency: how much of a small error is due to where training put them.

    random    the trained widths at independent uniform angles
    own_box   the trained widths, each at a uniformly random point of its own box (`bounds.lay`)
    jittered  as many equal widths, each at a uniformly random point of its box
    regular   as many equal widths at equally spaced angles

All with psi = 2 phi, so that only the angles differ. Jittered and regular grids have a uniform offset.
"""

from collections.abc import Callable

import numpy as np
from numpy.typing import NDArray

from allmlp.models.angles import fill, place
from allmlp.studies.quadrature import bounds, errors
from allmlp.studies.quadrature.frequencies import Floats
from allmlp.studies.quadrature.rule import Rule, two_phi

Draw = Callable[[np.random.Generator], Rule]

CONTROLS = ("random", "own_box", "jittered", "regular")


def controls(rule: Rule) -> dict[str, Draw]:
    """One drawing function per name of CONTROLS. Widths sum to 2 pi (ValueError)."""
    n, boxes = len(rule.phi), bounds.lay(rule.phi, rule.width)
    own = np.diff(boxes.edges)

    def offset(rng: np.random.Generator) -> float:
        return float(rng.uniform(0, 2 * np.pi))

    return {
        "random": lambda rng: two_phi(place(rule.width, "random", rng=rng), rule.width),
        "own_box": lambda rng: two_phi(boxes.edges[:-1] + own * rng.random(n), own),
        "jittered": lambda rng: two_phi(place(fill(n), "jittered", offset(rng), rng), fill(n)),
        "regular": lambda rng: two_phi(place(fill(n), "regular", offset(rng)), fill(n)),
    }


def drawn_errors(draw: Draw, theta_T: NDArray, draws: int, rng: np.random.Generator) -> Floats:
    """Largest error over theta of the absolute part's sum, for each of several draws, (draws,)."""
    return np.array([errors.largest_error("abs", theta_T, draw(rng)) for _ in range(draws)])
