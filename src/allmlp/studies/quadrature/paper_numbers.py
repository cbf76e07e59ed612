"""What the paper prints and no training can change, worked out again (003-13, and the errata that are arithmetic)."""

import math
from collections.abc import Iterator
from typing import NamedTuple

import numpy as np
from numpy.typing import ArrayLike

from allmlp.studies.quadrature import laws
from allmlp.studies.quadrature.errors import Part, naive_bound, relu_part
from allmlp.studies.quadrature.frequencies import Floats
from allmlp.studies.quadrature.integrals import INTEGRALS, Integral

P = 59
EXAMPLE = (0.1, 0.11, 0.09, 0.12, 0.08)  # L_x of the introduction, coefficients of f_x(0.2), ..., f_x(1)
TABLE = {12: (13.9, -3.7), 18: (15.1, -3.9), 21: (12.1, -3.2), 22: (11.2, -3.3)}  # k -> C_k, D_k of Appendix B
R2: dict[tuple[str, laws.Law], float] = {  # Appendix B
    ("whole", "abs"): 0.86,
    ("whole", "cosine"): 0.98,
    ("absolute part", "abs"): 0.99,
    ("absolute part", "cosine"): 0.85,
}
NAIVE = 0.74
KT = 2 * np.pi * np.arange(P) / P  # the angles kt
FINE = 2 * np.pi * np.arange(3600) / 3600  # a grid for largest and mean values over all angles


class Check(NamedTuple):
    """One number: `item` names the claim or erratum, `printed` is NaN where the paper gives none."""

    item: str
    quantity: str
    printed: float  # or what the paper's text implies
    value: float
    how: str


def checks() -> list[Check]:
    """All of them, in the order of their items."""
    example = Check("003-13", "sum of the five coefficients of L_x", 0.5, math.fsum(EXAMPLE), "added up")
    of_errata = (_integrals, _sign, _factoring, _double_angle, _naive_bounds, _table_r2, _slope)
    found = [example, *(check for make in of_errata for check in make())]
    return sorted(found, key=lambda check: (check.item.startswith("E"), int(check.item.rpartition("-")[2])))


def _integrals() -> Iterator[Check]:
    """E003-1 and E003-3: the factor of cos kt or sin kt, by numerical integration at p angles."""
    for integral in INTEGRALS:
        name, wave = ("sin kt", np.sin(KT)) if integral.name.startswith("sin") else ("cos kt", np.cos(KT))
        as_printed = np.array([integral.paper.at(kt) for kt in KT.tolist()])
        factor, printed = (float(values @ wave / (wave @ wave)) for values in (_values(integral), as_printed))
        how = f"integral over φ by Gauss-Kronrod, least squares over {P} angles"
        yield Check("E003-1", f"{integral.name}: factor of {name}", printed, factor, how)
    values = _values(INTEGRALS[0])
    without_t, with_t = _largest_error(values - 2 / 3 * math.cos(KT[1])), _largest_error(values - 2 / 3 * np.cos(KT))
    quantity = "largest |integral - (2/3) cos k| over t: the t left out, as printed"
    yield Check("E003-3", quantity, 0.0, without_t, "the integral of ReLU against cos(-2φ) over all t, k = 1")
    yield Check("E003-3", "largest |integral - (2/3) cos kt| over t", 0.0, with_t, "the same with t")


def _sign() -> Iterator[Check]:
    """E003-2: ReLU(cos(kt/2 + phi)) cos(kz + psi) over all phi, for psi of either sign, against two laws."""
    cosine, sine = _values(INTEGRALS[0]), _values(INTEGRALS[1])  # against cos(-2 phi), sin(-2 phi)
    how = f"integrals by Gauss-Kronrod at {P} values each of kt and kz, W_out = cos(kz + ψ)"
    for slope in (-2, 2):
        toward = sine if slope == -2 else -sine  # against sin(psi)
        logits_TZ = np.outer(cosine, np.cos(KT)) - np.outer(toward, np.sin(KT))
        for sign, name in ((-1, "cos k(x+y-z)"), (1, "cos k(x+y+z)")):
            missed = _largest_error(logits_TZ - 2 / 3 * np.cos(KT[:, None] + sign * KT))
            stated = 0.0 if (slope, sign) == (-2, -1) else math.nan
            yield Check("E003-2", f"ψ = {slope:+d}φ: largest |integral - (2/3) {name}|", stated, missed, how)


def _factoring() -> Iterator[Check]:
    """E003-4: g(cos A cos B) against |cos A| g(cos B)."""
    A, B = np.meshgrid(*[np.pi * np.arange(360) / 180] * 2)
    parts: dict[str, Part] = {"ReLU": "relu", "|.|/2": "abs", "identity/2": "identity"}
    for name, part in parts.items():
        missed = _largest_error(relu_part(part, np.cos(A) * np.cos(B)) - np.abs(np.cos(A)) * relu_part(part, np.cos(B)))
        quantity = f"largest |g(cos A cos B) - |cos A| g(cos B)|, g = {name}"
        yield Check("E003-4", quantity, 0.0, missed, "every whole degree of A and B")


def _double_angle() -> Iterator[Check]:
    """E003-6: C |c| + D cos 2a with c = cos a against its printed form, term by term, at the paper's C and D."""
    A, B = np.meshgrid(FINE[::10], FINE[::10])
    both = np.cos(A) + np.cos(B)
    product = np.cos((A - B) / 2) * np.cos((A + B) / 2)
    for factor, form in ((1, "as printed"), (2, "with the factor 2")):
        quantity, missed = f"largest |cos A + cos B - sum formula|, {form}", _largest_error(both - factor * product)
        yield Check("E003-6", quantity, 0.0, missed, "A and B over all angles")
    cosine, how = np.cos(FINE), "C and D of Appendix B, all four k, a over all angles"
    for name, square in (("2 D², as printed", lambda D: 2 * D**2), ("2 D", lambda D: 2 * D)):
        missed = _largest_error(
            [
                C * np.abs(cosine) + D * np.cos(2 * FINE) - (square(D) * cosine**2 + C * np.abs(cosine) - D)
                for C, D in TABLE.values()
            ]
        )
        yield Check("E003-6", f"largest |C |cos a| + D cos 2a - expansion|, cos² a times {name}", 0.0, missed, how)
    C, D = TABLE[12]
    yield Check("E003-6", "term in |cos|² where |cos| = 1, k = 12", 2 * D**2, 2 * D, "2 D, negative as D is")
    yield Check("E003-6", "amplitude of cos k(x+y-z) where |cos| = 1, k = 12", 2 * D**2 + C - D, C + D, "C + D")
    yield Check("E003-6", "amplitude of cos k(x+y-z) where |cos| = 0, k = 12", -D, -D, "-D")


def _naive_bounds() -> Iterator[Check]:
    """E003-7: the naive bound by its stated definition, and by others that come to mind."""
    readings = {
        "mean |integral of |cos| cos 2φ| over all angles, as defined": 8 / (3 * math.pi),
        f"the same over x + y modulo {P}": naive_bound(np.pi * np.arange(P) / P),
        "the same with the factor 1/2 of ReLU": 4 / (3 * math.pi),
        "root mean square of the integral": float(np.sqrt(np.mean((4 / 3 * np.cos(FINE)) ** 2))),
        "largest |integral|": 4 / 3,
        "largest |integral| with the factor 1/2": 2 / 3,
    }
    for name, value in readings.items():
        yield Check("E003-7", name, NAIVE, value, "widths summing to 2π, like the table's other rows")


def _table_r2() -> Iterator[Check]:
    """E003-8: the R2 that logits of the printed C_k, D_k, and of nothing else, would have."""
    regressors: dict[laws.Law, str] = {"abs": "|cos k(x-y)/2| cos k(x+y-z)", "cosine": "cos k(x+y-z)"}
    made = (
        ("whole", 1.0, "C_k and D_k"),
        ("whole", 2.0, "C_k and 2 D_k, were D_k of logit_id1"),
        ("absolute part", 0.0, "C_k"),
    )
    how = f"least squares of the logits made of them, p = {P}"
    for law, regressor in regressors.items():
        for part, factor, of in made:
            yield Check("E003-8", f"R2 on {regressor}, {part}, from {of}", R2[part, law], implied_r2(law, factor), how)
    first, second = R2["whole", "abs"], R2["whole", "cosine"]
    needed = _factor_for(first)
    yield Check("E003-8", f"factor on D_k with which R2 on the first is {first:g}", 1.0, needed, "by bisection")
    yield Check("E003-8", "R2 on cos k(x+y-z) with that factor", second, implied_r2("cosine", needed), "as above")


def implied_r2(law: laws.Law, factor: float) -> float:
    """R2 on the law of logits of C_k and `factor` D_k of TABLE; 0 is the absolute part alone."""
    made = laws.synthesise_logits(P, {k: (C, factor * D) for k, (C, D) in TABLE.items()})
    return laws.r2(made, list(TABLE), law)


def _factor_for(r2: float) -> float:
    """The factor on D_k between 1 and 2 that gives this R2 on |cos| cos, which falls with it."""
    low, high = 1.0, 2.0
    for _ in range(20):
        middle = (low + high) / 2
        low, high = (middle, high) if implied_r2("abs", middle) > r2 else (low, middle)
    return (low + high) / 2


def _slope() -> Iterator[Check]:
    """The slope that the box bound of Section 4 rests on: a check that found nothing wrong.

    f' = -+ sin(u) cos(2 phi) - 2 |cos u| sin(2 phi), u = kt/2 + phi: the worst phi for each u.
    """
    slope = np.sqrt(np.sin(FINE) ** 2 + 4 * np.cos(FINE) ** 2)
    quantity = "largest |f'| of f = |cos(kt/2 + φ)| cos 2φ over φ and t"
    yield Check("003-7", quantity, 2.0, float(slope.max()), "derivative by hand, fine grid")


def _values(integral: Integral) -> Floats:
    return np.array([integral.value(kt) for kt in KT.tolist()])


def _largest_error(missed: ArrayLike) -> float:
    return float(np.abs(missed).max())
