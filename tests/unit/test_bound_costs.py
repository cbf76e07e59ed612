"""What the bounds cost: arithmetic that counts itself, and the three procedures written out plainly (003-8)."""

import math
import operator
from collections import Counter

import numpy as np
import pytest

from allmlp.studies.quadrature import bounds, moments, operations
from allmlp.studies.quadrature.measures.formulas import count_operations, draw, run_procedure
from allmlp.studies.quadrature.operations import BRUTE_FORCE, PAPER_BOUND

TALLY: Counter[str] = Counter()


def noted(kind, function):
    """A method that carries out `function` and notes it as one operation of its `kind`."""

    def method(self, *others):
        TALLY[kind] += 1
        result = function(self.value, *(getattr(other, "value", other) for other in others))
        return result if isinstance(result, bool) else Number(result)

    return method


class Number:
    """A real number that notes each operation carried out with it."""

    def __init__(self, value):
        self.value = float(value)

    def __neg__(self):
        return Number(-self.value)

    __add__ = __radd__ = noted("additions", operator.add)
    __sub__ = noted("additions", operator.sub)
    __mul__ = __rmul__ = noted("multiplications", operator.mul)
    __truediv__ = noted("multiplications", operator.truediv)
    __mod__ = noted("multiplications", operator.mod)
    __abs__ = noted("comparisons", abs)
    __gt__ = noted("comparisons", operator.gt)
    __le__ = noted("comparisons", operator.le)
    cos, sin, sqrt = (noted("functions", function) for function in (math.cos, math.sin, math.sqrt))


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
    return angle.cos(), angle.sin()


def size(pair):
    return (pair[0] * pair[0] + pair[1] * pair[1]).sqrt()


def plain_brute_force(phi, psi, width, p):
    weight = [tuple(part * w for part in unit(s)) for s, w in zip(psi, width, strict=True)]
    found = []
    for t in range(p):
        theta = Number(t) * math.pi / p  # at k = 1
        height = [abs((theta + f).cos()) for f in phi]
        sums = [total([h * w[part] for h, w in zip(height, weight, strict=True)]) for part in (0, 1)]
        goal = [part * (4 / 3) for part in unit(theta * -2)]
        found.append(size([s - g for s, g in zip(sums, goal, strict=True)]))
    return largest(found)


def plain_wrap(angle, period=2 * math.pi):
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
    box = plain_boxes(phi, width, 2 * math.pi) * 2
    folded = plain_boxes(phi, [w / 2 for w in width], math.pi) * 2 * 2
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
        h = Number(-1 if m % 2 else 1) * (2 / math.pi) / (-(Number(m) * m * 4 - 1))
        a = [h * part for part in nu[m]]
        a[0] = a[0] - 4 / 3 if m == -1 else a[0]
        sizes.append(size(a))
    tail = total(width) * 2 / math.pi / (Number(M) * 2 + 1)
    rounding = ((Number(M) + 4) * 160 + Number(12) * len(phi)) * moments.UNIT
    return total(sizes) + (tail + rounding)


def run_counted(procedure, rule, *further):
    """The value, and what it took."""
    TALLY.clear()
    value = procedure(*([Number(x) for x in column] for column in rule), *further)
    return value.value, operations.Count(*(TALLY[kind] for kind in operations.Count._fields))


@pytest.mark.parametrize("n", [1, 2, 9, 24])
@pytest.mark.parametrize("p", [3, 31])
def test_operations_of_brute_force_are_those_counted(n, p):
    rule = draw(n)
    value, count = run_counted(plain_brute_force, rule, p)
    assert value == pytest.approx(run_procedure(BRUTE_FORCE, p, rule), rel=1e-9)
    assert count == operations.brute_force(p, n)
    assert count_operations(BRUTE_FORCE, p, rule) == count
    assert count.operations == count.multiplications + count.comparisons


@pytest.mark.parametrize("n", [1, 2, 9, 24, 33])
def test_operations_of_the_papers_bound_are_those_counted(n):
    rule = draw(n)
    value, count = run_counted(plain_paper_bound, rule)
    assert value == pytest.approx(run_procedure(PAPER_BOUND, 59, rule), rel=1e-9)
    assert count_operations(PAPER_BOUND, 59, rule) == count


@pytest.mark.parametrize("n", [1, 2, 9, 24])
@pytest.mark.parametrize("M", [1, 2, 7])
def test_operations_of_the_moment_bound_are_those_counted(n, M):
    rule = draw(n)
    value, count = run_counted(plain_moment_bound, rule, M)
    assert value == pytest.approx(moments.moment_bound(rule, M), rel=1e-12)
    assert count == operations.moment_bound(n, M)


@pytest.mark.parametrize("n", [1, 2, 7, 64, 500])
def test_sorting_takes_at_most_n_log_n_comparisons(n):
    values = np.random.default_rng(n).normal(size=n).tolist()
    assert operations.sort_comparisons(values) <= n * math.ceil(math.log2(n)) if n > 1 else True
    assert operations.sort_comparisons(sorted(values)) >= n // 2
