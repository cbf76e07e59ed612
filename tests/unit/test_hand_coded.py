"""The law of hand-coded networks against brute force, and angles by chance (003-own-3, -own-4)."""

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from allmlp.models.angles import GRIDS, fill, place
from allmlp.models.primes import odd_primes
from allmlp.studies.quadrature import bounds, circuits, errors
from allmlp.studies.quadrature.frequencies import angles, normalise_widths, two_phi
from allmlp.studies.quadrature.hand_coded import forward_scores, regular_wobble, scores, wobble
from allmlp.studies.quadrature.measures.hand_coded import CONTROLS, controls, drawn_errors
from tests.unit.known_addition import written_out


def even(n, offset=0.3):
    return place(fill(n), "regular", offset), fill(n)


def sampled_wobble(phi, width, points=20001):
    theta = np.linspace(0, 2 * np.pi, points)
    S = np.maximum(np.cos(theta[:, None] + phi), 0) @ (width * np.exp(2j * phi))
    return np.abs(np.angle(S * np.exp(2j * theta))).max()


@settings(max_examples=60, deadline=None)
@given(st.integers(5, 24), st.integers(0, 10**6), st.sampled_from(GRIDS), st.booleans())
def test_wobble_is_the_maximum_over_all_angles(n, seed, grid, equal):
    rng = np.random.default_rng(seed)
    width = fill(n, None if equal else rng.uniform(0.2, 2, n).tolist())
    phi = place(width, grid, rng.uniform(0, 7), rng)
    exactly, sampled = wobble(phi, width), sampled_wobble(phi, width)
    assert exactly >= sampled - 1e-9
    if exactly < 1:  # else the phase may turn faster than the samples follow
        assert exactly == pytest.approx(sampled, abs=2e-3)


@pytest.mark.parametrize("n", range(1, 5))
def test_up_to_four_angles_lose_the_phase(n):
    assert wobble(*even(n)) == pytest.approx(np.pi)
    assert sampled_wobble(*even(n)) > 1.5
    with pytest.raises(ValueError, match="from 5 angles on"):
        regular_wobble(n)


@pytest.mark.parametrize("n", range(5, 17))
@pytest.mark.parametrize("offset", [0.0, 0.3, 2.0])
def test_closed_form_of_the_regular_wobble(n, offset):
    assert wobble(*even(n, offset)) == pytest.approx(regular_wobble(n), rel=1e-9)


@pytest.mark.parametrize("n", [21, 51, 101])
def test_the_law_is_3_over_n_cubed_and_even_numbers_count_half(n):
    assert regular_wobble(n) == pytest.approx(np.pi**3 / (6 * np.sqrt(3)) / n**3, rel=3 / n**2)
    x, terms = np.linspace(0, np.pi, 20001), np.arange(1, 200)
    series = 3 / n**3 * np.abs(((-1.0) ** terms / terms**3) @ np.sin(np.outer(terms, x)))
    assert regular_wobble(n) == pytest.approx(series.max(), rel=3 / n**2)
    assert regular_wobble(2 * n) == pytest.approx(regular_wobble(n), rel=1e-9)
    assert regular_wobble(2 * n + 2) > 7 * regular_wobble(2 * n + 1)


@settings(max_examples=60, deadline=None)
@given(st.sampled_from(odd_primes(61)), st.integers(1, 20), st.integers(0, 10**6), st.sampled_from(GRIDS))
def test_no_error_exactly_where_the_phase_error_is_below_pi_over_p_at_each_angle_that_occurs(p, n, seed, grid):
    rng = np.random.default_rng(seed)
    width = fill(n, rng.uniform(0.5, 1.5, n).tolist())
    phi = place(width, grid, rng.uniform(0, 7), rng)
    theta = np.pi * np.arange(2 * p) / p
    delta = np.angle(errors.trained_sum("relu", theta, two_phi(phi, width)) * np.exp(2j * theta))
    found = scores(p, phi, width)
    assert (found.accuracy == 1) == (np.abs(delta).max() < np.pi / p)
    if wobble(phi, width) < np.pi / p:
        assert found.accuracy == 1
        assert found.smallest_margin > 0


@settings(max_examples=30, deadline=None)
@given(st.sampled_from(odd_primes(43)), st.integers(1, 9), st.integers(0, 10**6), st.sampled_from(GRIDS))
def test_the_quick_scores_are_those_of_the_whole_forward_pass_at_any_frequency(p, n, seed, grid):
    rng = np.random.default_rng(seed)
    phi, k = place(fill(n), grid, rng.uniform(0, 7), rng), int(rng.integers(1, (p + 1) // 2))
    quick, whole = scores(p, phi, fill(n)), forward_scores(p, [k], phi, fill(n))
    assert quick.accuracy == pytest.approx(whole.accuracy, abs=1e-12)
    assert quick.smallest_margin == pytest.approx(whole.smallest_margin, abs=1e-11)


def test_the_forward_pass_is_the_formula_for_several_frequencies(monkeypatch):
    rng = np.random.default_rng(0)
    phi, width = rng.uniform(0, 7, (3, 8)), rng.uniform(0.5, 1, (3, 8))
    margin = circuits.margins(written_out(11, [1, 2, 5], phi, width))
    for elements in (1, 10**6):  # a row at a time, and all at once
        monkeypatch.setattr("allmlp.studies.quadrature.hand_coded.ELEMENTS", elements)
        found = forward_scores(11, [1, 2, 5], phi, width)
        assert found.accuracy == (margin > 0).mean()
        assert found.smallest_margin == pytest.approx(margin.min(), abs=1e-12)


@pytest.mark.parametrize(("n", "right", "wrong"), [(5, 113, 127), (7, 337, 347), (6, 19, 23), (8, 53, 59)])
def test_primes_on_both_sides_of_a_threshold_by_the_whole_forward_pass(n, right, wrong):
    for offset in (0.0, 1.3):
        assert forward_scores(right, [3], *even(n, offset)).accuracy == 1
        assert forward_scores(wrong, [3], *even(n, offset)).accuracy < 0.9


def test_primes():
    assert odd_primes(31) == [3, 5, 7, 11, 13, 17, 19, 23, 29, 31]


# Other angles for the same neurons


def test_the_regular_control_has_the_error_of_its_aliases():
    """|cos| has about (4/3) 3/(2 l n)^2 at q = l n - 1, l = -1, 1, ...: all in phase at a kink, 2/n^2 sum of 1/l^2."""
    drawn = drawn_errors(controls(two_phi(*even(41)))["regular"], angles(1, 59), 20, np.random.default_rng(0))
    assert drawn.max() == pytest.approx(np.pi**2 / (3 * 41**2), rel=0.01)


def test_controls_keep_the_widths_and_the_boxes():
    rng = np.random.default_rng(1)
    rule = two_phi(rng.uniform(-3, 3, 12), normalise_widths(rng.uniform(0.1, 2, 12)))
    drawn = {name: draw(rng) for name, draw in controls(rule).items()}
    assert tuple(drawn) == tuple(CONTROLS)
    for name in ("random", "own_box"):
        np.testing.assert_allclose(sorted(drawn[name].width), sorted(rule.width))
    edges = bounds.lay(rule.phi, rule.width).edges
    assert ((edges[:-1] <= drawn["own_box"].phi) & (drawn["own_box"].phi <= edges[1:])).all()
    assert all(of.width.sum() == pytest.approx(2 * np.pi) for of in drawn.values())


def test_random_angles_err_as_one_over_the_root_of_their_number():
    rng, theta = np.random.default_rng(2), angles(1, 59)
    few, many = (drawn_errors(controls(two_phi(*even(n)))["random"], theta, 100, rng).mean() for n in (50, 800))
    assert few / many == pytest.approx(4, rel=0.15)
