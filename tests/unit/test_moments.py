"""The Fourier-moment bound against brute force, and what the bounds cost, counted by arithmetic that counts itself."""

import io
import math
from types import SimpleNamespace

import matplotlib
import numpy as np
import pandas as pd
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from scipy.integrate import quad

from allmlp import studies
from allmlp.report import style
from allmlp.studies.quadrature import bounds, errors, growth, moments, operations
from allmlp.studies.quadrature.frequencies import wrap
from allmlp.studies.quadrature.measures import bound_cost
from allmlp.studies.quadrature.operations import BRUTE_FORCE, MOMENT_BOUND, PAPER_BOUND
from allmlp.studies.quadrature.verdicts import bounds as verdicts
from tests import exhibits

PI = np.pi
THETA = np.linspace(-PI / 2, PI / 2, 721)
BOUNDS = [moments.moment_bound, moments.peak_bound]


def regular(n, offset=0.3):
    phi = offset + 2 * PI * np.arange(n) / n
    return phi, 2 * phi, np.full(n, 2 * PI / n)


def kinks(phi):
    """Angles at which |cos(theta + phi)| has a kink, and the float64 neighbours: where a sum is most extreme."""
    at = PI / 2 - phi
    return np.concatenate([at, np.nextafter(at, 9), np.nextafter(at, -9)])


def true_error(rule):
    """By an independent formula, over a fine grid of angles and all kinks."""
    phi, psi, width = rule
    theta = np.concatenate([THETA, kinks(phi)])
    off = sum(w * np.abs(np.cos(theta + f)) * np.exp(1j * s) for f, s, w in zip(phi, psi, width, strict=True))
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
    return phi, psi, errors.normalised(weight)


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
    np.testing.assert_allclose(moments.terms(*rule, M), expected, atol=1e-13)


# The bounds


@pytest.mark.parametrize("block", range(12))
def test_no_bound_is_below_the_error_at_any_angle(block):
    """1,200 rules: one neuron, one huge, one angle, zero widths, any psi, the wrong sign, regular grids, turns."""
    rng = np.random.default_rng(block)
    for seed in range(100 * block, 100 * (block + 1)):
        rule, M = adversarial(seed), int(rng.choice([1, 2, 3, 8, 30, 200]))
        true, moment, peak = true_error(rule), moments.moment_bound(*rule, M), moments.peak_bound(*rule, M)
        assert true <= peak <= moment, (seed, M)


@settings(max_examples=100, deadline=None, derandomize=True)
@given(st.integers(0, 10_000), st.sampled_from([1, 3, 17, 90]))
def test_more_terms_never_make_the_moment_bound_worse(seed, M):
    rule = adversarial(seed)
    allowed = moments.rounding(2 * M, len(rule[0]))
    assert moments.moment_bound(*rule, 2 * M) <= moments.moment_bound(*rule, M) + allowed


@pytest.mark.parametrize("n", [3, 4, 5, 6, 31, 128])
def test_on_regular_grids_both_bounds_are_the_error_and_at_most_the_tail(n):
    """Where a kink meets a neuron of three or more, all terms have one phase, so that their sizes add up."""
    rule = regular(n)
    true = true_error(rule)
    for bound in BOUNDS:
        assert true <= bound(*rule, 400) <= true + moments.tail(400) + 1e-9


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
        width = errors.normalised(rng.uniform(0.5, 1.5, n))
        phi = np.cumsum(width) - width * rng.uniform(size=n)
        rule = phi, 2 * phi + 0.02 * rng.normal(size=n), width
        assert moments.peak_bound(*rule) <= 1.01 * true_error(rule) + 2 * moments.tail()
        assert moments.moment_bound(*rule) < bounds.total_bound(*rule) / 2


def test_bounds_do_not_depend_on_numbering_or_turning_of_the_circle():
    phi, psi, width = adversarial(13)
    order = np.random.default_rng(0).permutation(len(phi))
    for bound in BOUNDS:
        value = bound(phi, psi, width)
        assert bound(phi[order], psi[order], width[order]) == pytest.approx(value, rel=1e-12)
        turned = bound(phi + 0.7, psi + 1.4, width)
        assert turned == pytest.approx(value, rel=1e-12 if bound is moments.moment_bound else 6e-3)


def test_the_allowance_for_rounding_exceeds_what_exact_arithmetic_finds():
    """Exact enough: the same formula in long doubles, with each power's angle taken at once."""
    wide = np.longdouble
    if np.finfo(wide).eps > 1e-18:
        pytest.skip("this machine has no longer floating point than float64")
    for seed in range(0, 300, 7):
        phi, psi, width = adversarial(seed)
        M = 200
        m = np.arange(-M, M + 1)
        angle = psi.astype(wide) + 2 * m[:, None] * phi.astype(wide)
        nu = (width.astype(wide) * np.cos(angle)).sum(1) + 1j * (width.astype(wide) * np.sin(angle)).sum(1)
        a = 2 / (4 * np.arctan(wide(1))) * np.where(m % 2, -1, 1) / (1 - 4 * m.astype(wide) ** 2) * nu
        a[M - 1] -= wide(4) / 3
        tail = width.astype(wide).sum() / (2 * np.arctan(wide(1))) / (2 * M + 1)
        exact = np.abs(a).sum() + tail
        found = wide(moments.moment_bound(phi, psi, width))
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
    given_ = {"phi": [0.0, 1.0], "psi": [0.0, 2.0], "width": [PI, PI], "M": 5} | change
    with pytest.raises(ValueError, match=message):
        bound(*(np.array(given_[name]) for name in ("phi", "psi", "width")), given_["M"])


# Counted operations: arithmetic that counts itself, and the three procedures written out plainly


class Number:
    """A real number that notes each operation carried out with it."""

    def __init__(self, value):
        self.value = float(value)

    def _did(self, kind, value):
        TALLY[kind] += 1
        return Number(value)

    def __add__(self, other):
        return self._did("additions", self.value + _value(other))

    def __sub__(self, other):
        return self._did("additions", self.value - _value(other))

    def __mul__(self, other):
        return self._did("multiplications", self.value * _value(other))

    def __truediv__(self, other):
        return self._did("multiplications", self.value / _value(other))

    def __mod__(self, other):
        return self._did("multiplications", self.value % _value(other))

    def __neg__(self):
        return Number(-self.value)

    def __abs__(self):
        return self._did("comparisons", abs(self.value))

    def __gt__(self, other):
        TALLY["comparisons"] += 1
        return self.value > _value(other)

    def __le__(self, other):
        TALLY["comparisons"] += 1
        return self.value <= _value(other)

    def call(self, function):
        return self._did("functions", function(self.value))

    __radd__, __rmul__ = __add__, __mul__


TALLY = dict.fromkeys(("multiplications", "comparisons", "additions", "functions"), 0)


def _value(number):
    return number.value if isinstance(number, Number) else float(number)


def total(numbers):
    result, *rest = numbers
    for number in rest:
        result = result + number
    return result


def largest(numbers):
    result, *rest = numbers
    for number in rest:
        result = number if number > result else result
    return result


def times(a, b):
    """Of complex numbers as pairs."""
    return a[0] * b[0] - a[1] * b[1], a[0] * b[1] + a[1] * b[0]


def unit(angle):
    return angle.call(math.cos), angle.call(math.sin)


def size(pair):
    return (pair[0] * pair[0] + pair[1] * pair[1]).call(math.sqrt)


def plain_brute_force(phi, psi, width, p):
    weight = [tuple(part * w for part in unit(s)) for s, w in zip(psi, width, strict=True)]
    found = []
    for t in range(p):
        theta = Number(t) * PI / p  # at k = 1
        height = [abs((theta + f).call(math.cos)) for f in phi]
        sums = [total([h * w[part] for h, w in zip(height, weight, strict=True)]) for part in (0, 1)]
        goal = [part * (4 / 3) for part in unit(theta * -2)]
        found.append(size([s - g for s, g in zip(sums, goal, strict=True)]))
    return largest(found)


def plain_wrap(angle, period=2 * PI):
    return (angle + period / 2) % period - period / 2


def plain_sort(numbers):
    """Positions in rising order, by merging."""
    if len(numbers) < 2:
        return list(range(len(numbers)))
    half = len(numbers) // 2
    left, right = plain_sort(numbers[:half]), [half + i for i in plain_sort(numbers[half:])]
    merged = []
    while left and right:
        merged.append((left if numbers[left[0]] <= numbers[right[0]] else right).pop(0))
    return merged + left + right


def plain_boxes(phi, width, period):
    wrapped = [plain_wrap(f, period) for f in phi]
    order = plain_sort(wrapped)
    ends = [width[order[0]]]
    for i in order[1:]:
        ends.append(ends[-1] + width[i])
    edges = [e - period / 2 for e in (Number(0), *ends)]
    phases = [wrapped[i] for i in order]
    left = [e - f for e, f in zip(edges[:-1], phases, strict=True)]
    right = [e - f for e, f in zip(edges[1:], phases, strict=True)]
    reach = largest([largest([abs(x) for x in left]), largest([abs(x) for x in right])])
    low, high = -reach, reach
    for _ in range(bounds.HALVINGS):
        middle = (low + high) / 2
        slopes = [abs(r + middle) - abs(x + middle) for x, r in zip(left, right, strict=True)]
        low, high = (low, middle) if total(slopes) > 0 else (middle, high)
    shift = (low + high) / 2
    edges = [e + shift for e in edges]
    areas = []
    for start, end, f in zip(edges[:-1], edges[1:], phases, strict=True):
        x, r = start - f, end - f
        areas.append((r * abs(r) - x * abs(x)) / 2)
    return total(areas)


def plain_paper_bound(phi, psi, width):
    box = plain_boxes(phi, width, 2 * PI) * 2
    folded = plain_boxes(phi, [w / 2 for w in width], PI) * 2 * 2
    angle = total([abs(plain_wrap(s - f * 2)) * w for f, s, w in zip(phi, psi, width, strict=True)])
    return (folded if box > folded else box) + angle


def plain_moment_bound(phi, psi, width, M):
    turn = [unit(f * 2) for f in phi]
    plus = [tuple(part * w for part in unit(s)) for s, w in zip(psi, width, strict=True)]
    minus = list(plus)
    nu = {0: [total([term[part] for term in plus]) for part in (0, 1)]}
    for m in range(1, M + 1):
        plus = [times(term, z) for term, z in zip(plus, turn, strict=True)]
        minus = [times(term, (z[0], -z[1])) for term, z in zip(minus, turn, strict=True)]
        nu[m], nu[-m] = ([total([term[part] for term in terms]) for part in (0, 1)] for terms in (plus, minus))
    sizes = []
    for m in range(-M, M + 1):
        h = Number(-1 if m % 2 else 1) * (2 / PI) / (-(Number(m) * m * 4 - 1))
        a = [h * part for part in nu[m]]
        a[0] = a[0] - 4 / 3 if m == -1 else a[0]
        sizes.append(size(a))
    tail = total(width) * 2 / PI / (Number(M) * 2 + 1)
    rounding = ((Number(M) + 4) * 160 + Number(12) * len(phi)) * moments.UNIT
    return total(sizes) + (tail + rounding)


def run_counted(procedure, rule, *further):
    """The value, and what it took."""
    for kind in TALLY:
        TALLY[kind] = 0
    value = procedure(*([Number(x) for x in column] for column in rule), *further)
    return value.value, operations.Count(**TALLY)


@pytest.mark.parametrize("n", [1, 2, 9, 24])
@pytest.mark.parametrize("p", [3, 31])
def test_operations_of_brute_force_are_those_counted(n, p):
    rule = bound_cost.draw(n)
    value, count = run_counted(plain_brute_force, rule, p)
    assert value == pytest.approx(bound_cost.carry_out(BRUTE_FORCE, p, rule), rel=1e-9)
    assert count == operations.brute_force(p, n)
    assert bound_cost.counted(BRUTE_FORCE, p, rule)[0] == count.multiplications + count.comparisons


@pytest.mark.parametrize("n", [1, 2, 9, 24, 33])
def test_operations_of_the_papers_bound_are_those_counted(n):
    rule = bound_cost.draw(n)
    value, count = run_counted(plain_paper_bound, rule)
    assert value == pytest.approx(bound_cost.carry_out(PAPER_BOUND, 59, rule), rel=1e-9)
    assert bound_cost.counted(PAPER_BOUND, 59, rule) == (
        count.operations,
        count.multiplications,
        count.comparisons,
        count.additions,
        count.functions,
    )


@pytest.mark.parametrize("n", [1, 2, 9, 24])
@pytest.mark.parametrize("M", [1, 2, 7])
def test_operations_of_the_moment_bound_are_those_counted(n, M):
    rule = bound_cost.draw(n)
    value, count = run_counted(plain_moment_bound, rule, M)
    assert value == pytest.approx(moments.moment_bound(*rule, M), rel=1e-12)
    assert count == operations.moment_bound(n, M)


@pytest.mark.parametrize("n", [1, 2, 7, 64, 500])
def test_sorting_takes_at_most_n_log_n_comparisons(n):
    values = np.random.default_rng(n).normal(size=n).tolist()
    assert operations.sort_comparisons(values) <= n * math.ceil(math.log2(n)) if n > 1 else True
    assert operations.sort_comparisons(sorted(values)) >= n // 2


# Cost, measured and judged


@pytest.fixture(scope="module")
def costs():
    """The measure at fewer sizes."""
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(bound_cost, "NEURONS", (16, 64))
        patch.setattr(bound_cost, "LARGE", (4096, 8192))
        patch.setattr(bound_cost, "REPEATS", 1)
        return bound_cost.measure().assign(run="hand", seed=0)


def claim(name, table):
    row = next(row for row in studies.ledger("quadrature") if row["id"] == name)
    given_ = SimpleNamespace(table=lambda _: table.copy(), margin=row["margin"], paper=row["paper"])
    found = {"003-8": verdicts.bound_cost, "003-own-1": verdicts.moment_bound}[name](given_)
    return found, [part.verdict for part in found.parts]


def test_costs_have_the_declared_columns_and_the_bounds_do_not_know_p(costs):
    assert list(costs.columns) == [*bound_cost.COLUMNS, "run", "seed"]
    assert (costs["operations_1"] == costs["multiplications_1"] + costs["comparisons_1"]).all()
    assert (costs["time_s"] > 0).all()
    counts = costs.groupby(["procedure", "neurons"])["operations_1"].nunique().unstack("neurons")
    assert counts.loc[[PAPER_BOUND, MOMENT_BOUND]].to_numpy().max() == 1
    assert counts.loc[BRUTE_FORCE, 16] == len(bound_cost.PRIMES)


def test_the_angles_that_are_timed_are_like_trained_ones():
    phi, psi, width = bound_cost.draw(128)
    assert width.sum() == pytest.approx(2 * PI)
    np.testing.assert_allclose(wrap(psi - 2 * phi), 0, atol=1e-12)
    assert 0.005 < errors.largest_error("abs", THETA, phi, psi, width) < 0.1


def test_growth_is_judged_by_the_counts(costs):
    found, parts = claim("003-8", costs)
    assert (found.verdict, parts) == ("reproduced", ["reproduced", "reproduced"])
    growing = costs.assign(operations_1=costs["operations_1"] * costs["p"] ** 0.2)
    assert claim("003-8", growing)[1] == ["contradicted", "contradicted"]
    one = costs.assign(
        operations_1=np.where(costs["neurons"] == 64, costs["operations_1"] * costs["p"], costs["operations_1"])
    )
    assert claim("003-8", one)[1] == ["contradicted", "contradicted"]  # at every number of neurons, not on average
    beyond = costs.assign(operations_1=np.where(costs["p"] == 401, 1, costs["operations_1"]))
    assert claim("003-8", beyond)[0].verdict == "reproduced"  # the rule names four primes
    assert claim("003-8", costs[costs["p"] != 31])[1] == ["undecided", "undecided"]


def bound_rows(ratio=4.0, excess=-0.02, seeds=range(8), spread=0.05):
    """Two keys a seed, and one that is fading out, with a moment bound that would refute everything."""
    rows = []
    for seed in seeds:
        for key, share in ((1, 0.5), (2, 0.45), (3, 0.04)):
            moment = 0.1 if share > 0.05 else 1e-9
            total_bound = 0.1 * ratio * math.exp(spread * (-1) ** seed)
            rows.append((seed, key, share, 0.1 + excess if key == 2 else 0.01, moment, total_bound))
    columns = ["seed", "frequency", "weight_share_1", "abs_error_1", "moment_bound_1", "total_bound_1"]
    return pd.DataFrame(rows, columns=columns)


@pytest.mark.parametrize(
    ("made", "expected"),
    [
        ({}, ["reproduced", "reproduced"]),
        ({"excess": 0.0}, ["reproduced", "reproduced"]),
        ({"excess": 1e-6}, ["contradicted", "reproduced"]),
        ({"ratio": 1.5}, ["reproduced", "contradicted"]),
        ({"ratio": 2.0}, ["reproduced", "undecided"]),
        ({"seeds": range(3)}, ["reproduced", "undecided"]),
    ],
    ids=str,
)
def test_the_moment_bound_is_judged_without_the_fading_frequency(made, expected):
    found, parts = claim("003-own-1", bound_rows(**made))
    assert parts == expected
    assert found.n == len(made.get("seeds", range(8)))


def test_one_seed_with_an_error_above_its_bound_refutes_and_one_without_a_key_leaves_it_open():
    rows = bound_rows()
    rows.loc[3, "abs_error_1"] = 0.1001
    assert claim("003-own-1", rows)[1][0] == "contradicted"
    lost = bound_rows()
    lost.loc[lost["seed"] == 2, "weight_share_1"] = 0.01
    found, parts = claim("003-own-1", lost)
    assert (found.n, parts) == (8, ["undecided", "undecided"])


def test_growth_is_read_off_at_one_size_and_overhead_is_left_out(costs):
    assert growth.over_p(costs)["neurons"].unique().tolist() == [64]
    assert growth.over_neurons(costs)["p"].unique().tolist() == [growth.P]
    assert growth.fitted(costs, "neurons", "time_s")["neurons"].min() == growth.TIMED_FROM
    assert len(growth.fitted(costs, "neurons", "operations_1")) == len(costs)


@pytest.fixture(scope="module")
def sizes():
    """The measure's rows at the sizes that the table shows, with made times."""
    rows = []
    for n in (128, 4096, 8192):
        rule = bound_cost.draw(n)
        for p in bound_cost.PRIMES:
            for name in (PAPER_BOUND, BRUTE_FORCE, MOMENT_BOUND):
                seconds = 1e-8 * n * (p if name == BRUTE_FORCE else 1)
                rows.append((name, p, n, *bound_cost.counted(name, p, rule), seconds))
    return pd.DataFrame(rows, columns=list(bound_cost.COLUMNS)).assign(run="hand", seed=0)


def test_the_table_sets_exponents_beside_the_papers_and_says_from_which_p_a_bound_saves(sizes):
    module = studies.module("quadrature", "tables.bound_cost")
    table = module.tabulate({"bound_cost": sizes, "paper": exhibits.paper_values("quadrature")}).set_index("procedure")
    assert table["p_exponent_paper_1"].to_dict() == {PAPER_BOUND: "0", BRUTE_FORCE: "1", MOMENT_BOUND: ""}
    assert table["p_exponent_timed_1"].to_dict() == {PAPER_BOUND: "0.000", BRUTE_FORCE: "1.000", MOMENT_BOUND: "0.000"}
    assert float(table.loc[PAPER_BOUND, "neurons_exponent_counted_1"]) > 1  # the sorting
    for name in (PAPER_BOUND, MOMENT_BOUND):
        p, cost = int(table.loc[name, "cheaper_from_p"]), int(table.loc[name, "operations_1"].replace(",", ""))
        dear = [operations.brute_force(q, module.NEURONS).operations for q in (p - 1, p)]
        assert dear[0] <= cost < dear[1]


def test_the_figure_of_costs_has_the_same_bytes_each_time(sizes):
    module, drawn = studies.module("quadrature", "figures.bound_cost"), []
    for _ in range(2):
        buffer = io.BytesIO()
        with matplotlib.rc_context(style.RC):
            module.draw({"bound_cost": sizes.copy()}).savefig(buffer, format="svg", metadata={"Date": None})
        drawn.append(buffer.getvalue())
    assert drawn[0] == drawn[1]
    assert len(drawn[0]) < 300_000
    assert b"brute force over p sums (1.00)" in drawn[0]


@pytest.mark.parametrize(("p", "neurons"), [(59, 128), (401, 64), (3, 9)])
def test_the_terms_that_cost_as_much_as_brute_force(p, neurons):
    terms = studies.module("quadrature", "figures.moment_bound").as_dear_as_brute_force(p, neurons)
    allowed, M = operations.brute_force(p, neurons).operations, (terms - 1) // 2
    assert operations.moment_bound(neurons, M + 1).operations > allowed
    assert M == 1 or operations.moment_bound(neurons, M).operations <= allowed
