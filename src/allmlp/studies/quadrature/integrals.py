"""The six integrals over all phases that the paper evaluates, numerically and by hand (003-3).

With theta = k t / 2 (the paper prints k/2, E003-3), u = phi + theta gives for ReLU

    int ReLU(cos u) cos(2u - kt) du = cos(kt) int over |u| < pi/2 of cos u cos 2u du = (2/3) cos(kt),

the sine part being odd in u; with sin(-2 phi), (2/3) sin(kt). The absolute part |cos u| / 2 gives the same,
and the identity part cos(u) / 2 gives 0, being orthogonal to cos 2u and sin 2u. Appendix B exchanges the last two
results (E003-1).
"""

import math
from collections.abc import Callable
from typing import NamedTuple

from scipy.integrate import quad

from allmlp.studies.quadrature.errors import Part, relu_part

TOLERANCE = 1e-12


class Formula(NamedTuple):
    """A function of k t in rad, and how it is written."""

    text: str
    at: Callable[[float], float]


ZERO = Formula("0", lambda kt: 0.0)
COSINE = Formula("(2/3) cos kt", lambda kt: 2 / 3 * math.cos(kt))
SINE = Formula("(2/3) sin kt", lambda kt: 2 / 3 * math.sin(kt))


class Integral(NamedTuple):
    """Integral over phi from -pi to pi of weight(-2 phi) g(cos(k t / 2 + phi)), g a part of ReLU."""

    name: str
    where: str
    weight: Callable[[float], float]
    part: Part
    closed_form: Formula
    paper: Formula

    def value(self, kt: float) -> float:
        """By adaptive Gauss-Kronrod quadrature in float64, split where the cosine changes its sign."""

        def integrand(phi: float) -> float:
            return self.weight(-2 * phi) * relu_part(self.part, math.cos(kt / 2 + phi))

        kinks = sorted(math.remainder(side * math.pi / 2 - kt / 2, 2 * math.pi) for side in (-1, 1))
        return quad(integrand, -math.pi, math.pi, points=kinks, epsabs=TOLERANCE, epsrel=TOLERANCE)[0]


MAIN, APPENDIX = "Section 3", "Appendix B"
INTEGRALS = (
    Integral("cos(-2φ) ReLU(cos(kt/2 + φ))", MAIN, math.cos, "relu", COSINE, COSINE),
    Integral("sin(-2φ) ReLU(cos(kt/2 + φ))", MAIN, math.sin, "relu", SINE, SINE),
    Integral("cos(-2φ) cos(kt/2 + φ) / 2", APPENDIX, math.cos, "identity", ZERO, COSINE),
    Integral("sin(-2φ) cos(kt/2 + φ) / 2", APPENDIX, math.sin, "identity", ZERO, SINE),
    Integral("cos(-2φ) |cos(kt/2 + φ)| / 2", APPENDIX, math.cos, "abs", COSINE, ZERO),
    Integral("sin(-2φ) |cos(kt/2 + φ)| / 2", APPENDIX, math.sin, "abs", SINE, ZERO),
)
