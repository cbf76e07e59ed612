"""Study 003's mathematics: Fourier phases, sums against integrals, bounds against brute force, closed forms."""

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from scipy.integrate import quad

from allmlp.studies.quadrature import bounds, errors, frequencies
from allmlp.studies.quadrature.integrals import APPENDIX, INTEGRALS

PI = np.pi
QUICK = settings(max_examples=60, deadline=None, derandomize=True)
ANGLE = st.floats(-20, 20)


@st.composite
def rules(draw):
    """(phi, psi, widths): any phases, any widths that fill 2 pi, output phases anywhere near 2 phi."""
    n = draw(st.integers(1, 12))
    values = st.lists(st.floats(-PI, PI), min_size=n, max_size=n)
    weight = draw(st.lists(st.floats(0.01, 5), min_size=n, max_size=n))
    phi, off = np.array(draw(values)), np.array(draw(values))
    return phi, 2 * phi + draw(st.floats(0, 1)) * off, errors.normalised(np.array(weight))


def equal(n, offset=0.3):
    return offset + 2 * PI * np.arange(n) / n, np.full(n, 2 * PI / n)


def wave(p, k, phase):
    return np.cos(2 * PI * k * np.arange(p)[:, None] / p + phase)


# Frequencies and phases


@QUICK
@given(ANGLE, st.integers(-5, 5))
def test_wrapping_keeps_the_angle_and_stays_within_half_a_turn(angle, turns):
    wrapped = frequencies.wrap(angle + 2 * PI * turns)
    assert -PI <= wrapped <= PI
    assert np.exp(1j * wrapped) == pytest.approx(np.exp(1j * angle), abs=1e-12)
    assert frequencies.wrap(wrapped) == pytest.approx(wrapped, abs=1e-12)
    assert -PI / 2 <= frequencies.wrap(angle, PI) <= PI / 2


@pytest.mark.parametrize("p", [7, 8, 59])
def test_phases_amplitudes_and_frequencies_are_read_back(p):
    rng = np.random.default_rng(p)
    k = rng.integers(1, (p + 1) // 2, size=20)
    phi, psi = rng.uniform(-3, 3, (2, 20))
    c, e = rng.uniform(0.1, 4, (2, 20))
    found = frequencies.read_off(c * wave(p, k, phi) + 7.0, e * wave(p, k, psi) - 2.0)
    assert (found.frequency == k).all()
    assert (found.frequency_out == k).all()
    for got, true in (
        (found.phi, phi),
        (found.psi, psi),
        (found.amplitude_in, c),
        (found.amplitude_out, e),
        (found.weight, 2 * c * e),
        (found.share_in, 1),
        (found.share_out, 1),
    ):
        np.testing.assert_allclose(got, np.broadcast_to(true, 20), atol=1e-12)


@pytest.mark.parametrize("p", [7, 8])
def test_fourier_series_adds_up_to_its_values(p):
    values = np.random.default_rng(0).normal(size=(p, 4))
    series = frequencies.fourier(values)
    k, t = np.arange(1, p // 2 + 1)[:, None, None], np.arange(p)[None, :, None]
    waves = series.amplitude[:, None] * np.cos(2 * PI * k * t / p + series.phase[:, None])
    np.testing.assert_allclose(waves.sum(axis=0) + values.mean(axis=0), values, atol=1e-12)
    np.testing.assert_allclose(series.share.sum(axis=0), 1)
    np.testing.assert_allclose(series.share, waves.var(axis=1) / values.var(axis=0), atol=1e-12)


def test_share_falls_with_a_second_frequency_and_output_phase_is_read_at_the_input_frequency():
    ov, out = wave(11, 2, 0.4) + 0.5 * wave(11, 3, 1.0), 0.3 * wave(11, 2, 0.8) + wave(11, 5, 2.0)
    found = frequencies.read_off(ov, out)
    assert found.share_in[0] == pytest.approx(1 / 1.25)
    assert (found.frequency[0], found.frequency_out[0]) == (2, 5)
    assert found.psi[0] == pytest.approx(0.8)
    assert found.amplitude_out[0] == pytest.approx(0.3)


def test_key_frequencies_are_those_with_weight():
    k = np.array([1, 1, 2, 4])
    found = frequencies.read_off(wave(9, k, 0.0) * [3, 1, 0.01, 2], wave(9, k, 0.0))
    assert frequencies.weight_shares(found) == pytest.approx({1: 4 / 6.01, 2: 0.01 / 6.01, 4: 2 / 6.01})
    assert frequencies.key_frequencies(found) == [1, 4]


@pytest.mark.parametrize("values", [np.ones(5), np.ones((2, 3)), np.full((5, 2), np.nan)])
def test_values_without_frequencies_are_refused(values):
    with pytest.raises(ValueError, match="p >= 3"):
        frequencies.fourier(values)


def test_circuits_of_different_shapes_or_without_weight_are_refused():
    with pytest.raises(ValueError, match="one shape"):
        frequencies.read_off(np.ones((5, 2)), np.ones((5, 3)))
    with pytest.raises(ValueError, match="any weight"):
        frequencies.key_frequencies(frequencies.read_off(np.ones((5, 2)), np.zeros((5, 2))))


# Sums and integrals


@pytest.mark.parametrize(("part", "g"), [("abs", abs), ("identity", float), ("relu", lambda u: max(u, 0.0))])
def test_integral_is_that_of_the_rule(part, g):
    for theta in (0.0, 0.7, 4.0):
        kinks = sorted(frequencies.wrap(np.array([PI / 2, -PI / 2]) - theta))
        real, imaginary = (
            quad(lambda phi, f=f, theta=theta: g(np.cos(theta + phi)) * f(2 * phi), -PI, PI, points=kinks)[0]
            for f in (np.cos, np.sin)
        )
        assert errors.integral(part, theta) == pytest.approx(complex(real, imaginary), abs=1e-9)


def test_errors_are_those_of_the_papers_two_sums_term_by_term():
    rng, p, k = np.random.default_rng(1), 13, 5
    phi, psi, r = rng.uniform(-3, 3, 6), rng.uniform(-3, 3, 6), rng.uniform(0.1, 1, 6)
    width = errors.normalised(r)
    assert width.sum() == pytest.approx(2 * PI)
    largest, largest_cosine = 0.0, 0.0
    for t in range(p):
        kt = 2 * PI * k * t / p
        g = sum(w * abs(np.cos(kt / 2 + f)) * np.cos(s) for w, f, s in zip(width, phi, psi, strict=True))
        h = sum(w * abs(np.cos(kt / 2 + f)) * np.sin(s) for w, f, s in zip(width, phi, psi, strict=True))
        off = (g - 4 / 3 * np.cos(kt), h + 4 / 3 * np.sin(kt))
        largest, largest_cosine = max(largest, np.hypot(*off)), max(largest_cosine, abs(off[0]))
    theta = errors.angles(k, p)
    assert errors.largest_error("abs", theta, phi, psi, width) == pytest.approx(largest)
    assert errors.largest_cosine_error("abs", theta, phi, psi, width) == pytest.approx(largest_cosine)


def test_relu_is_half_identity_plus_half_absolute():
    phi, width = equal(9)
    theta = errors.angles(2, 11)
    total = sum(errors.trained_sum(part, theta, phi, 2 * phi, width) for part in ("abs", "identity"))
    np.testing.assert_allclose(errors.trained_sum("relu", theta, phi, 2 * phi, width), total / 2, atol=1e-12)


def test_error_falls_with_the_square_of_the_number_of_equal_boxes():
    sizes = [
        errors.largest_error("abs", np.linspace(0, PI, 997), equal(n)[0], 2 * equal(n)[0], equal(n)[1])
        for n in (15, 45)
    ]
    assert sizes[0] / sizes[1] == pytest.approx(9, rel=0.1)  # the kinks of |cos| hold it at second order
    phi, width = equal(15)
    assert errors.largest_error("identity", errors.angles(1, 59), phi, 2 * phi, width) < 1e-12


def test_naive_bound_is_the_mean_of_its_definition_not_the_printed_one():
    assert errors.naive_bound(np.linspace(0, PI, 100_001)) == pytest.approx(8 / (3 * PI), abs=1e-4)
    for k in (12, 18, 21, 22):
        assert errors.naive_bound(errors.angles(k, 59)) == pytest.approx(0.849, abs=5e-4)


@pytest.mark.parametrize("weight", [[1.0, -0.1], [0.0, 0.0], [1.0, np.nan]])
def test_weights_that_are_no_widths_are_refused(weight):
    with pytest.raises(ValueError, match="not negative and not all zero"):
        errors.normalised(np.array(weight))


# Bounds


def test_slope_of_the_integrand_is_at_most_two_and_reaches_it():
    phi = np.linspace(-PI, PI, 200_001)
    slopes = [np.abs(np.gradient(np.abs(np.cos(t + phi)) * np.cos(2 * phi), phi)) for t in (0.0, 0.4, PI / 4, 2.0)]
    assert np.max(slopes) <= bounds.SLOPE + 1e-6
    assert np.max(slopes) == pytest.approx(bounds.SLOPE, abs=1e-4)


@QUICK
@given(rules())
def test_bounds_hold_whatever_the_phases_and_widths(rule):
    phi, psi, width = rule
    theta = np.linspace(0, PI, 64)
    exact = errors.largest_error("abs", theta, phi, 2 * phi, width)
    assert exact <= bounds.box_bound(phi, width) + 1e-9
    assert exact <= bounds.folded_bound(phi, width) + 1e-9
    assert errors.largest_error("abs", theta, phi, psi, width) <= bounds.total_bound(phi, psi, width) + 1e-9


@pytest.mark.parametrize("n", [1, 5, 129])
def test_equal_boxes_give_the_known_bounds(n):
    phi, width = equal(n)
    assert bounds.box_bound(phi, width) == pytest.approx(2 * PI**2 / n)
    assert bounds.folded_bound(phi, width) == pytest.approx(PI**2 / n)
    assert bounds.angle_bound(phi, 2 * phi + 2 * PI, width) == pytest.approx(0, abs=1e-12)
    assert bounds.angle_bound(phi, 2 * phi - 0.02, width) == pytest.approx(2 * PI * 0.02)


@QUICK
@given(rules())
def test_no_shift_on_a_grid_is_better_than_the_one_found(rule):
    phi, _, width = rule
    boxes = bounds.lay(phi, width)
    left, right = boxes.edges[:-1] - boxes.phases, boxes.edges[1:] - boxes.phases
    for shift in np.linspace(-PI, PI, 201):
        low, high = left + shift, right + shift
        area = ((high * np.abs(high) - low * np.abs(low)) / 2).sum()
        assert boxes.distance <= area + 1e-9


@QUICK
@given(rules(), st.floats(-PI, PI), st.randoms(use_true_random=False))
def test_bounds_do_not_depend_on_where_the_circle_is_cut_or_how_neurons_are_numbered(rule, turn, random):
    phi, _, width = rule
    order = random.sample(range(len(phi)), len(phi))
    turned = frequencies.wrap(phi + turn)[order]
    assert bounds.box_bound(turned, width[order]) == pytest.approx(bounds.box_bound(phi, width), abs=1e-7)
    opposite = phi + PI * np.arange(len(phi))
    assert bounds.folded_bound(opposite, width) == pytest.approx(bounds.folded_bound(phi, width), abs=1e-7)


def test_boxes_fill_the_period_in_the_order_of_their_phases():
    rng = np.random.default_rng(2)
    phi, width = rng.uniform(-9, 9, 40), errors.normalised(rng.uniform(0, 1, 40))
    boxes = bounds.lay(phi, width)
    np.testing.assert_allclose(np.diff(boxes.edges), width[boxes.neurons], atol=1e-12)
    assert boxes.edges[-1] - boxes.edges[0] == pytest.approx(2 * PI)
    assert (np.diff(boxes.phases) >= 0).all()
    np.testing.assert_allclose(boxes.phases, frequencies.wrap(phi)[boxes.neurons])


@pytest.mark.parametrize(("phi", "width"), [([0.0, 1.0], [1.0, 1.0]), ([0.0], [PI, PI]), ([0.0, 1.0], [9.0, -3.0])])
def test_boxes_that_do_not_fill_the_period_are_refused(phi, width):
    with pytest.raises(ValueError, match=r"period|one width per phase"):
        bounds.lay(np.array(phi), np.array(width))


# Closed forms


@pytest.mark.parametrize("integral", INTEGRALS, ids=lambda i: i.name)
def test_integrals_have_the_closed_form_and_the_printed_one_only_in_section_3(integral):
    angles = np.linspace(-7, 7, 15)
    values = np.array([integral.value(kt) for kt in angles])
    np.testing.assert_allclose(values, [integral.closed_form[1](kt) for kt in angles], atol=1e-10)
    missed = np.abs(values - [integral.paper[1](kt) for kt in angles]).max()
    assert (missed > 0.5) == (integral.where == APPENDIX)


def test_appendix_b_is_right_once_its_pairs_are_swapped():
    of_appendix = [integral for integral in INTEGRALS if integral.where == APPENDIX]
    identity, absolute = of_appendix[:2], of_appendix[2:]
    assert [i.paper for i in identity] == [i.closed_form for i in absolute]
    assert [i.paper for i in absolute] == [i.closed_form for i in identity]
