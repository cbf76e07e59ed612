"""What the paper prints and no training can change, worked out again: claim 003-13 and the errata that are arithmetic.

Each check is one number: the erratum or claim, what is taken, the value that the paper's text implies, and ours.
"""

import math
from collections.abc import Callable, Iterator
from typing import NamedTuple

import numpy as np
from numpy.typing import NDArray

from allmlp.studies.quadrature import laws
from allmlp.studies.quadrature.errors import naive_bound
from allmlp.studies.quadrature.integrals import INTEGRALS, Integral

Floats = NDArray[np.float64]

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
FINE = 3600  # angles of a period, where a largest or mean value is taken over a grid


class Check(NamedTuple):
    """One number: `item` names the claim or erratum, `printed` is NaN where the paper gives none."""

    item: str
    quantity: str
    printed: float
    value: float
    how: str


def checks() -> list[Check]:
    """All of them, in the order of their items."""
    found = [
        *_example(),
        *_integrals(),
        *_sign(),
        *_factored_out(),
        *_double_angle(),
        *_naive(),
        *_from_table(),
        *_slope(),
    ]
    return sorted(found, key=lambda check: (check.item.startswith("E"), int(check.item.rpartition("-")[2])))


def _example() -> Iterator[Check]:
    yield Check("003-13", "sum of the five coefficients of L_x", 0.5, math.fsum(EXAMPLE), "added up")


def _integrals() -> Iterator[Check]:
    """E003-1 and E003-3: the factor of cos kt or sin kt, by numerical integration at p angles."""
    kt = 2 * np.pi * np.arange(P) / P
    for integral in INTEGRALS:
        wave = np.sin(kt) if integral.name.startswith("sin") else np.cos(kt)
        values = _values(integral, kt)
        factor, printed = (float(v @ wave / (wave @ wave)) for v in (values, _formula(integral.paper[1], kt)))
        wave_name = "sin kt" if integral.name.startswith("sin") else "cos kt"
        yield Check(
            "E003-1", f"{integral.name}: factor of {wave_name}", printed, factor,
            f"integral over φ by Gauss-Kronrod, least squares over {P} angles",
        )  # fmt: skip
    with_t, without_t = _values(INTEGRALS[0], kt), 2 / 3 * math.cos(kt[1])
    yield Check(
        "E003-3", "largest |integral - (2/3) cos k| over t: the t left out, as printed", 0.0,
        float(np.abs(with_t - without_t).max()), "the integral of ReLU against cos(-2φ) over all t, k = 1",
    )  # fmt: skip
    yield Check(
        "E003-3", "largest |integral - (2/3) cos kt| over t", 0.0,
        float(np.abs(with_t - 2 / 3 * np.cos(kt)).max()), "the same with t",
    )  # fmt: skip


def _sign() -> Iterator[Check]:
    """E003-2: ReLU(cos(kt/2 + phi)) cos(kz + psi) over all phi, for psi of either sign, against two laws."""
    kt = 2 * np.pi * np.arange(P) / P
    cosine, sine = _values(INTEGRALS[0], kt), _values(INTEGRALS[1], kt)  # against cos(-2 phi), sin(-2 phi)
    for slope in (-2, 2):
        toward = sine if slope == -2 else -sine  # against sin(psi)
        logits_TZ = np.outer(cosine, np.cos(kt)) - np.outer(toward, np.sin(kt))
        for sign, name in ((-1, "cos k(x+y-z)"), (1, "cos k(x+y+z)")):
            law_TZ = 2 / 3 * np.cos(kt[:, None] + sign * kt)
            missed = float(np.abs(logits_TZ - law_TZ).max())
            stated = 0.0 if (slope, sign) == (-2, -1) else math.nan
            yield Check(
                "E003-2", f"ψ = {slope:+d}φ: largest |integral - (2/3) {name}|", stated, missed,
                f"integrals by Gauss-Kronrod at {P} values each of kt and kz, W_out = cos(kz + ψ)",
            )  # fmt: skip


def _factored_out() -> Iterator[Check]:
    """E003-4: g(cos A cos B) against |cos A| g(cos B)."""
    A, B = np.meshgrid(*[np.pi * np.arange(360) / 180] * 2)
    for name, part in (("ReLU", _relu), ("|.|/2", lambda u: np.abs(u) / 2), ("identity/2", lambda u: u / 2)):
        missed = part(np.cos(A) * np.cos(B)) - np.abs(np.cos(A)) * part(np.cos(B))
        yield Check(
            "E003-4", f"largest |g(cos A cos B) - |cos A| g(cos B)|, g = {name}", 0.0,
            float(np.abs(missed).max()), "every whole degree of A and B",
        )  # fmt: skip


def _double_angle() -> Iterator[Check]:
    """E003-6: C |c| + D cos 2a with c = cos a against its printed form, term by term, at the paper's C and D."""
    a = 2 * np.pi * np.arange(FINE) / FINE
    A, B = np.meshgrid(a[::10], a[::10])
    both = np.cos(A) + np.cos(B)
    product = np.cos((A - B) / 2) * np.cos((A + B) / 2)
    for factor, printed in ((1, "as printed"), (2, "with the factor 2")):
        yield Check(
            "E003-6", f"largest |cos A + cos B - sum formula|, {printed}", 0.0,
            float(np.abs(both - factor * product).max()), "A and B over all angles",
        )  # fmt: skip
    for name, square in (("2 D², as printed", lambda D: 2 * D**2), ("2 D", lambda D: 2 * D)):
        missed = [
            C * np.abs(np.cos(a)) + D * np.cos(2 * a) - (square(D) * np.cos(a) ** 2 + C * np.abs(np.cos(a)) - D)
            for C, D in TABLE.values()
        ]
        yield Check(
            "E003-6", f"largest |C |cos a| + D cos 2a - expansion|, cos² a times {name}", 0.0,
            float(np.abs(missed).max()), "C and D of Appendix B, all four k, a over all angles",
        )  # fmt: skip
    C, D = TABLE[12]
    yield Check("E003-6", "term in |cos|² where |cos| = 1, k = 12", 2 * D**2, 2 * D, "2 D, negative as D is")
    yield Check("E003-6", "amplitude of cos k(x+y-z) where |cos| = 1, k = 12", 2 * D**2 + C - D, C + D, "C + D")
    yield Check("E003-6", "amplitude of cos k(x+y-z) where |cos| = 0, k = 12", -D, -D, "-D")


def _naive() -> Iterator[Check]:
    """E003-7: the naive bound by its stated definition, and by others that come to mind."""
    kt = 2 * np.pi * np.arange(FINE) / FINE
    integral = 4 / 3 * np.cos(kt)
    readings = {
        "mean |integral of |cos| cos 2φ| over all angles, as defined": 8 / (3 * math.pi),
        f"the same over x + y modulo {P}": naive_bound(np.pi * np.arange(P) / P),
        "the same with the factor 1/2 of ReLU": 4 / (3 * math.pi),
        "root mean square of the integral": float(np.sqrt(np.mean(integral**2))),
        "largest |integral|": 4 / 3,
        "largest |integral| with the factor 1/2": 2 / 3,
    }
    for name, value in readings.items():
        yield Check("E003-7", name, NAIVE, value, "widths summing to 2π, like the table's other rows")


def _from_table() -> Iterator[Check]:
    """E003-8: the R2 that logits of the printed C_k, D_k, and of nothing else, would have."""
    regressors: dict[laws.Law, str] = {"abs": "|cos k(x-y)/2| cos k(x+y-z)", "cosine": "cos k(x+y-z)"}
    for law, regressor in regressors.items():
        for part, factor, made_of in (
            ("whole", 1.0, "C_k and D_k"),
            ("whole", 2.0, "C_k and 2 D_k, were D_k of logit_id1"),
            ("absolute part", 0.0, "C_k"),
        ):
            yield Check(
                "E003-8", f"R2 on {regressor}, {part}, from {made_of}", R2[part, law], implied(law, factor),
                f"least squares of the logits made of them, p = {P}",
            )  # fmt: skip
    needed = _factor_for(R2["whole", "abs"])
    yield Check(
        "E003-8", f"factor on D_k with which R2 on the first is {R2['whole', 'abs']:g}", 1.0, needed,
        "by bisection",
    )  # fmt: skip
    yield Check(
        "E003-8", "R2 on cos k(x+y-z) with that factor", R2["whole", "cosine"], implied("cosine", needed),
        "as above",
    )  # fmt: skip


def implied(law: laws.Law, factor: float) -> float:
    """R2 on the law of logits of C_k and `factor` D_k of TABLE; 0 is the absolute part alone."""
    made = laws.synthesised(P, {k: (C, factor * D) for k, (C, D) in TABLE.items()})
    return laws.r2(made, list(TABLE), law)


def _factor_for(r2: float) -> float:
    """The factor on D_k between 1 and 2 that gives this R2 on |cos| cos, which falls with it."""
    low, high = 1.0, 2.0
    for _ in range(20):
        middle = (low + high) / 2
        low, high = (middle, high) if implied("abs", middle) > r2 else (low, middle)
    return (low + high) / 2


def _slope() -> Iterator[Check]:
    """The slope that the box bound of Section 4 rests on: a check that found nothing wrong."""
    u = 2 * np.pi * np.arange(FINE) / FINE
    # f' = -+ sin(u) cos(2 phi) - 2 |cos u| sin(2 phi), u = kt/2 + phi: the worst phi for each u
    slope = np.sqrt(np.sin(u) ** 2 + 4 * np.cos(u) ** 2)
    yield Check(
        "003-7", "largest |f'| of f = |cos(kt/2 + φ)| cos 2φ over φ and t", 2.0, float(slope.max()),
        "derivative by hand, fine grid",
    )  # fmt: skip


def _relu(u: Floats) -> Floats:
    return np.maximum(u, 0.0)


def _values(integral: Integral, kt: Floats) -> Floats:
    return np.array([integral.value(angle) for angle in kt.tolist()])


def _formula(formula: Callable[[float], float], kt: Floats) -> Floats:
    return np.array([formula(angle) for angle in kt.tolist()])
