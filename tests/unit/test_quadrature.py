"""Study 003's mathematics: circuits, Fourier phases, sums against integrals, bounds against brute force."""

import numpy as np
import pytest
import torch
from hypothesis import given, settings
from hypothesis import strategies as st
from scipy.integrate import quad

from allmlp.studies.quadrature import bounds, circuits, errors, frequencies
from allmlp.studies.quadrature.frequencies import Rule, angles, normalise_widths, two_phi
from allmlp.studies.quadrature.integrals import APPENDIX, INTEGRALS
from tests.unit.known_addition import trained, untrained, waves

PI = np.pi
QUICK = settings(max_examples=60, deadline=None, derandomize=True)
ANGLE = st.floats(-20, 20)


@st.composite
def rules(draw):
    """Any phases, any widths that fill 2 pi, output phases anywhere near 2 phi."""
    n = draw(st.integers(1, 12))
    values = st.lists(st.floats(-PI, PI), min_size=n, max_size=n)
    weight = draw(st.lists(st.floats(0.01, 5), min_size=n, max_size=n))
    phi, off = np.array(draw(values)), np.array(draw(values))
    return Rule(phi, 2 * phi + draw(st.floats(0, 1)) * off, normalise_widths(np.array(weight)))


def equal(n, offset=0.3):
    return two_phi(offset + 2 * PI * np.arange(n) / n, np.full(n, 2 * PI / n))


# Circuits


def test_logits_are_those_of_the_model():
    model = untrained(7, biases=True)
    pairs = torch.cartesian_prod(torch.arange(7), torch.arange(7))
    ours = circuits.logits(circuits.weights(trained(model.state_dict(), p=7)))
    np.testing.assert_allclose(ours.reshape(49, 7), model(pairs).detach().numpy(), rtol=1e-10)


def test_margin_is_the_right_logit_minus_the_best_wrong_one():
    logits = np.zeros((3, 3, 3))
    logits[1, 1] = [5.0, 2.0, 9.0]
    logits[2, 2] = [5.0, 2.0, 9.0]
    assert circuits.margins(logits)[1, 1] == 4.0
    assert circuits.margins(logits)[2, 2] == -7.0


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
    found = frequencies.read_neurons(c * waves(k, phi, p=p) + 7.0, e * waves(k, psi, p=p) - 2.0)
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
    ov, out = waves(2, 0.4, p=11) + 0.5 * waves(3, 1.0, p=11), 0.3 * waves(2, 0.8, p=11) + waves(5, 2.0, p=11)
    found = frequencies.read_neurons(ov, out)
    assert found.share_in[0] == pytest.approx(1 / 1.25)
    assert (found.frequency[0], found.frequency_out[0]) == (2, 5)
    assert found.psi[0] == pytest.approx(0.8)
    assert found.amplitude_out[0] == pytest.approx(0.3)


def test_key_frequencies_are_those_with_weight():
    k = np.array([1, 1, 2, 4])
    found = frequencies.read_neurons(waves(k, 0.0, p=9) * [3, 1, 0.01, 2], waves(k, 0.0, p=9))
    assert frequencies.weight_shares(found) == pytest.approx({1: 4 / 6.01, 2: 0.01 / 6.01, 4: 2 / 6.01})
    assert frequencies.key_frequencies(found) == [1, 4]


@pytest.mark.parametrize("values", [np.ones(5), np.ones((2, 3)), np.full((5, 2), np.nan)])
def test_values_without_frequencies_are_refused(values):
    with pytest.raises(ValueError, match="p >= 3"):
        frequencies.fourier(values)


def test_circuits_of_different_shapes_or_without_weight_are_refused():
    with pytest.raises(ValueError, match="one shape"):
        frequencies.read_neurons(np.ones((5, 2)), np.ones((5, 3)))
    with pytest.raises(ValueError, match="any weight"):
        frequencies.key_frequencies(frequencies.read_neurons(np.ones((5, 2)), np.zeros((5, 2))))


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
    rule = Rule(*rng.uniform(-3, 3, (2, 6)), normalise_widths(rng.uniform(0.1, 1, 6)))
    assert rule.width.sum() == pytest.approx(2 * PI)
    found = []
    for t in range(p):
        kt = 2 * PI * k * t / p
        g = sum(w * abs(np.cos(kt / 2 + f)) * np.cos(s) for f, s, w in zip(*rule, strict=True))
        h = sum(w * abs(np.cos(kt / 2 + f)) * np.sin(s) for f, s, w in zip(*rule, strict=True))
        found.append(complex(g - 4 / 3 * np.cos(kt), h + 4 / 3 * np.sin(kt)))
    np.testing.assert_allclose(errors.difference("abs", angles(k, p), rule), found, atol=1e-12)
    assert errors.largest_error("abs", angles(k, p), rule) == pytest.approx(np.abs(found).max())


def test_relu_is_half_identity_plus_half_absolute():
    rule, theta = equal(9), angles(2, 11)
    total = sum(errors.trained_sum(part, theta, rule) for part in ("abs", "identity"))
    np.testing.assert_allclose(errors.trained_sum("relu", theta, rule), total / 2, atol=1e-12)


def test_error_falls_with_the_square_of_the_number_of_equal_boxes():
    few, many = (errors.largest_error("abs", np.linspace(0, PI, 997), equal(n)) for n in (15, 45))
    assert few / many == pytest.approx(9, rel=0.1)  # the kinks of |cos| hold it at second order
    assert errors.largest_error("identity", angles(1, 59), equal(15)) < 1e-12


def test_proportional_has_no_intercept_and_knows_its_sign():
    wave = np.cos(np.linspace(0, 6, 50))
    assert errors.proportional(3 * wave, wave) == pytest.approx((3, 1))
    assert errors.proportional(-3 * wave, wave) == pytest.approx((-3, 0))
    shifted = wave + 1.0
    slope = shifted @ wave / (wave @ wave)
    expected = slope**2 * (wave @ wave) / (shifted @ shifted)
    assert errors.proportional(shifted, wave) == pytest.approx((slope, expected))
    assert errors.proportional(np.zeros(50), wave).r2 == 0


def test_naive_bound_is_the_mean_of_its_definition_not_the_printed_one():
    assert errors.naive_bound(np.linspace(0, PI, 100_001)) == pytest.approx(8 / (3 * PI), abs=1e-4)
    for k in (12, 18, 21, 22):
        assert errors.naive_bound(angles(k, 59)) == pytest.approx(0.849, abs=5e-4)


@pytest.mark.parametrize("weight", [[1.0, -0.1], [0.0, 0.0], [1.0, np.nan]])
def test_weights_that_are_no_widths_are_refused(weight):
    with pytest.raises(ValueError, match="not negative and not all zero"):
        normalise_widths(np.array(weight))


# Bounds


def test_slope_of_the_integrand_is_at_most_two_and_reaches_it():
    phi = np.linspace(-PI, PI, 200_001)
    slopes = [np.abs(np.gradient(np.abs(np.cos(t + phi)) * np.cos(2 * phi), phi)) for t in (0.0, 0.4, PI / 4, 2.0)]
    assert np.max(slopes) <= bounds.SLOPE + 1e-6
    assert np.max(slopes) == pytest.approx(bounds.SLOPE, abs=1e-4)


@QUICK
@given(rules())
def test_bounds_hold_whatever_the_phases_and_widths(rule):
    theta = np.linspace(0, PI, 64)
    exact = errors.largest_error("abs", theta, two_phi(rule.phi, rule.width))
    assert exact <= bounds.box_bound(rule) + 1e-9
    assert exact <= bounds.folded_bound(rule) + 1e-9
    assert errors.largest_error("abs", theta, rule) <= bounds.total_bound(rule) + 1e-9


@given(st.integers(0, 2**32 - 1), st.integers(1, 30))
@settings(max_examples=60, deadline=None)
def test_no_real_angle_is_above_the_ceiling_nor_the_error_above_the_bound(seed, n):
    rng = np.random.default_rng(seed)
    phi, width = rng.uniform(-PI, PI, n), normalise_widths(rng.exponential(size=n))
    rule = Rule(phi, 2 * phi + rng.normal(0, 0.3, n), width)
    largest, ceiling = errors.error_at_any_angle(rule)
    assert errors.largest_error("abs", rng.uniform(-10, 10, 3000), rule) <= ceiling + 1e-12
    assert largest <= min(ceiling, bounds.total_bound(rule)) + 1e-9


@pytest.mark.parametrize("n", [1, 5, 129])
def test_equal_boxes_give_the_known_bounds(n):
    rule = equal(n)
    assert bounds.box_bound(rule) == pytest.approx(2 * PI**2 / n)
    assert bounds.folded_bound(rule) == pytest.approx(PI**2 / n)
    assert bounds.angle_bound(rule._replace(psi=rule.psi + 2 * PI)) == pytest.approx(0, abs=1e-12)
    assert bounds.angle_bound(rule._replace(psi=rule.psi - 0.02)) == pytest.approx(2 * PI * 0.02)


@QUICK
@given(rules())
def test_no_shift_on_a_grid_is_better_than_the_one_found(rule):
    boxes = bounds.lay(rule.phi, rule.width)
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
    turned = two_phi(frequencies.wrap(phi + turn)[order], width[order])
    assert bounds.box_bound(turned) == pytest.approx(bounds.box_bound(rule), abs=1e-7)
    opposite = rule._replace(phi=phi + PI * np.arange(len(phi)))
    assert bounds.folded_bound(opposite) == pytest.approx(bounds.folded_bound(rule), abs=1e-7)


def test_boxes_fill_the_period_in_the_order_of_their_phases():
    rng = np.random.default_rng(2)
    phi, width = rng.uniform(-9, 9, 40), normalise_widths(rng.uniform(0, 1, 40))
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


def test_appendix_b_is_right_once_its_pairs_are_swapped():
    of_appendix = [integral for integral in INTEGRALS if integral.where == APPENDIX]
    identity, absolute = of_appendix[:2], of_appendix[2:]
    assert [i.paper for i in identity] == [i.closed_form for i in absolute]
    assert [i.paper for i in absolute] == [i.closed_form for i in identity]


@pytest.mark.parametrize("uneven", [False, True])
def test_rectangles_of_random_phases_lie_as_far_off_as_the_reason_of_003_4_says(uneven: bool) -> None:
    rng, n, found = np.random.default_rng(0), 150, []
    for _ in range(60):
        width = rng.gamma(2, size=n) if uneven else np.ones(n)
        boxes = bounds.lay(rng.uniform(-np.pi, np.pi, n), 2 * np.pi * width / width.sum())
        centres = (boxes.edges[1:] + boxes.edges[:-1]) / 2
        found.append(np.median(np.abs(centres - boxes.phases)) / np.diff(boxes.edges).mean())
    assert np.mean(found) == pytest.approx(2.9 if uneven else 2.4, abs=0.1)
