"""The Fourier-moment bound against brute force."""

import math

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from scipy.integrate import quad

from allmlp.studies.quadrature import bounds, moments
from allmlp.studies.quadrature.frequencies import Rule, normalise_widths, two_phi

PI = np.pi
THETA = np.linspace(-PI / 2, PI / 2, 721)
BOUNDS = [moments.moment_bound, moments.peak_bound]


def regular(n, offset=0.3):
    return two_phi(offset + 2 * PI * np.arange(n) / n, np.full(n, 2 * PI / n))


def kinks(phi):
    """Angles at which |cos(theta + phi)| has a kink, and the float64 neighbours: where a sum is most extreme."""
    at = PI / 2 - phi
    return np.concatenate([at, np.nextafter(at, 9), np.nextafter(at, -9)])


def true_error(rule):
    """By an independent formula, over a fine grid of angles and all kinks."""
    theta = np.concatenate([THETA, kinks(rule.phi)])
    off = sum(w * np.abs(np.cos(theta + f)) * np.exp(1j * s) for f, s, w in zip(*rule, strict=True))
    return np.abs(off - 4 / 3 * np.exp(-2j * theta)).max()


def adversarial(seed):
    """A rule of one of nine kinds, from one neuron to sums that nearly are, or nowhere near, the integral."""
    rng = np.random.default_rng(seed)
    n = 1 if seed % 9 == 0 else int(rng.integers(2, 40))
    phi, weight = rng.uniform(-PI, PI, n), rng.uniform(0.1, 1, n)
    psi = 2 * phi + 0.1 * rng.normal(size=n)
    match seed % 9:
        case 1:
            weight[0] = 1e9  # one neuron huge
        case 2:
            phi[:] = phi[0]  # one angle for all
            psi = 2 * phi
        case 3:
            weight[1:] = 0
        case 4:
            psi = rng.uniform(-PI, PI, n)
        case 5:
            psi = 2 * phi + PI  # the sum is minus the integral
        case 6:
            phi, psi, weight = regular(n, rng.uniform(-3, 3))
        case 7:
            phi, psi = phi + 2 * PI * rng.integers(-99, 99, n), psi - 2 * PI * rng.integers(-99, 99, n)
        case 8:
            phi = rng.integers(0, 4, n) * PI / 4  # few angles, many of each
            psi = 2 * phi
    return Rule(phi, psi, normalise_widths(weight))


# The series


@pytest.mark.parametrize("m", [0, 1, -1, 2, 7, 40])
def test_coefficients_are_those_of_the_absolute_cosine(m):
    half = quad(lambda u: math.cos(u) * math.cos(2 * m * u), -PI / 2, PI / 2, epsabs=1e-13, limit=400)[0]
    assert moments.coefficient(m) == pytest.approx(half / PI, abs=1e-12)
    assert moments.coefficient(-m) == moments.coefficient(m)


def test_the_series_adds_up_to_the_absolute_cosine():
    m, u = np.arange(-4000, 4001), np.linspace(-4, 4, 57)
    series = np.exp(2j * np.outer(u, m)) @ moments.coefficient(m)
    np.testing.assert_allclose(series, np.abs(np.cos(u)), atol=moments.tail(4000) / (2 * PI) + 1e-12)


@pytest.mark.parametrize("M", [1, 2, 10, 200])
def test_tail_is_the_sum_of_all_further_coefficients(M):
    m = np.arange(M + 1, 2_000_001, dtype=np.float64)
    summed = 2 * 2 * PI * np.abs(moments.coefficient(m)[::-1]).sum()
    left = 4 / 4_000_001  # beyond the last of these
    assert moments.tail(M) == pytest.approx(summed + left, abs=1e-10)
    assert moments.tail(M) == pytest.approx(4 / (2 * M + 1))
    assert moments.tail(M, 3.0) == pytest.approx(3.0 / (2 * PI) * moments.tail(M))


def test_terms_are_the_fourier_coefficients_of_the_error():
    rule, M = adversarial(4), 25
    phi, psi, width = rule
    m = np.arange(-M, M + 1)
    nu = np.array([(width * np.exp(1j * (psi + 2 * j * phi))).sum() for j in m])
    expected = 2 / PI * (-1.0) ** m / (1 - 4 * m**2) * nu - np.where(m == -1, 4 / 3, 0)
    np.testing.assert_allclose(moments.terms(rule, M), expected, atol=1e-13)


# The bounds


@pytest.mark.parametrize("block", range(12))
def test_no_bound_is_below_the_error_at_any_angle(block):
    """1,200 rules: one neuron, one huge, one angle, zero widths, any psi, the wrong sign, regular grids, turns."""
    rng = np.random.default_rng(block)
    for seed in range(100 * block, 100 * (block + 1)):
        rule, M = adversarial(seed), int(rng.choice([1, 2, 3, 8, 30, 200]))
        true, moment, peak = true_error(rule), moments.moment_bound(rule, M), moments.peak_bound(rule, M)
        assert true <= peak <= moment, (seed, M)


@settings(max_examples=100, deadline=None, derandomize=True)
@given(st.integers(0, 10_000), st.sampled_from([1, 3, 17, 90]))
def test_more_terms_never_make_the_moment_bound_worse(seed, M):
    rule = adversarial(seed)
    allowed = moments.rounding(2 * M, len(rule.phi))
    assert moments.moment_bound(rule, 2 * M) <= moments.moment_bound(rule, M) + allowed


@pytest.mark.parametrize("n", [3, 4, 5, 6, 31, 128])
def test_on_regular_grids_both_bounds_are_the_error_and_at_most_the_tail(n):
    """Where a kink meets a neuron of three or more, all terms have one phase, so that their sizes add up."""
    rule = regular(n)
    true = true_error(rule)
    for bound in BOUNDS:
        assert true <= bound(rule, 400) <= true + moments.tail(400) + 1e-9


@pytest.mark.parametrize("M", [1, 3, 8, 200])
def test_a_peak_between_two_points_of_the_grid_is_not_missed(M):
    """cos(M (x - x*)) with x* half way between: the grid sees cos(pi M / N) only."""
    a = np.zeros(2 * M + 1, dtype=complex)
    for turn in PI / 2 ** np.arange(2, 16):  # one of them is half a step
        a[0], a[-1] = np.exp(1j * M * turn) / 2, np.exp(-1j * M * turn) / 2
        assert 1 - 1e-15 <= moments.largest_sum(a) <= 1.005
    rng = np.random.default_rng(M)
    a = rng.normal(size=2 * M + 1) + 1j * rng.normal(size=2 * M + 1)
    x = np.linspace(-PI, PI, 20_001)
    true = np.abs(np.exp(1j * np.outer(x, np.arange(-M, M + 1))) @ a).max()
    assert true <= moments.largest_sum(a) <= 1.01 * true


def test_the_peak_bound_is_the_true_error_and_little_more():
    rng = np.random.default_rng(3)
    for n in (40, 150):
        width = normalise_widths(rng.uniform(0.5, 1.5, n))
        phi = np.cumsum(width) - width * rng.uniform(size=n)
        rule = Rule(phi, 2 * phi + 0.02 * rng.normal(size=n), width)
        assert moments.peak_bound(rule) <= 1.01 * true_error(rule) + 2 * moments.tail()
        assert moments.moment_bound(rule) < bounds.total_bound(rule) / 2


def test_bounds_do_not_depend_on_numbering_or_turning_of_the_circle():
    rule = adversarial(13)
    order = np.random.default_rng(0).permutation(len(rule.phi))
    for bound in BOUNDS:
        value = bound(rule)
        assert bound(Rule(*(values[order] for values in rule))) == pytest.approx(value, rel=1e-12)
        turned = bound(Rule(rule.phi + 0.7, rule.psi + 1.4, rule.width))
        assert turned == pytest.approx(value, rel=1e-12 if bound is moments.moment_bound else 6e-3)


def test_the_allowance_for_rounding_exceeds_what_exact_arithmetic_finds():
    """Exact enough: the same formula in long doubles, with each power's angle taken at once."""
    wide = np.longdouble
    if np.finfo(wide).eps > 1e-18:
        pytest.skip("this machine has no longer floating point than float64")
    for seed in range(0, 300, 7):
        rule, M = adversarial(seed), 200
        m = np.arange(-M, M + 1)
        phi, psi, width = (values.astype(wide) for values in rule)
        angle = psi + 2 * m[:, None] * phi
        nu = (width * np.cos(angle)).sum(1) + 1j * (width * np.sin(angle)).sum(1)
        a = 2 / (4 * np.arctan(wide(1))) * np.where(m % 2, -1, 1) / (1 - 4 * m.astype(wide) ** 2) * nu
        a[M - 1] -= wide(4) / 3
        tail = width.sum() / (2 * np.arctan(wide(1))) / (2 * M + 1)
        exact = np.abs(a).sum() + tail
        found = wide(moments.moment_bound(rule))
        assert exact <= found <= exact + 2 * moments.rounding(M, len(phi))
    assert moments.rounding(moments.TERMS, 512) < 1e-10


@pytest.mark.parametrize("bound", BOUNDS)
@pytest.mark.parametrize(
    ("change", "message"),
    [
        ({"phi": [0.0, np.nan]}, "finite"),
        ({"psi": [np.inf, 0.0]}, "finite"),
        ({"width": [PI, np.nan]}, "not be negative and must sum to 2 pi"),
        ({"width": [3 * PI, -PI]}, "not be negative"),
        ({"width": [1.0, 1.0]}, r"must sum to 2 pi, not 2"),
        ({"phi": [0.0]}, "one psi and one width per phi"),
        ({"phi": [], "psi": [], "width": []}, "must sum to 2 pi, not 0"),
        ({"M": 0}, "M = 1 at least, not M = 0"),
        ({"M": -3}, "not M = -3"),
        ({"M": 2.5}, r"not M = 2\.5"),
    ],
    ids=str,
)
def test_what_is_no_rule_is_refused(bound, change, message):
    made = {"phi": [0.0, 1.0], "psi": [0.0, 2.0], "width": [PI, PI], "M": 5} | change
    with pytest.raises(ValueError, match=message):
        bound(Rule(*(np.array(made[name]) for name in ("phi", "psi", "width"))), made["M"])
