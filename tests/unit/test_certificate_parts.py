"""The parts of a certificate: each as sharp as its own arithmetic says it is, each identity against its formula."""

import itertools
from types import SimpleNamespace

import numpy as np
import pandas as pd
import pytest

from allmlp.studies.quadrature import circuits
from allmlp.studies.quadrature.certificate import fourier, margins, operations, order_levels
from allmlp.studies.quadrature.certificate.levels import certify
from allmlp.studies.quadrature.certificate.margins import factors, hidden_bounds
from allmlp.studies.quadrature.certificate.network import network
from allmlp.studies.quadrature.certificate.residual import residual
from allmlp.studies.quadrature.certificate.structure import angles_for, fit, wave
from tests.unit.known_addition import adding, noisy, random_weights


def parts(weights, angles=40, single=False):
    net = network(weights)
    model = fit(net, single_frequency=single, at_least=angles)
    return net, model, residual(net, model), fourier.profiles(net, model)


def on_grid(rng, p, m, angles):
    """A network of the model's own form, its angles multiples of 2 pi / n: the residual is rounding alone."""
    n = angles_for(p, angles)
    phi = 2 * np.pi * rng.integers(0, n, m) / n
    size = rng.uniform(0.5, 1.5, m)
    return adding(p, 2, phi, 2 * phi + 0.3 * rng.normal(size=m), size, size, direct=0.2)


@pytest.mark.parametrize("p", [5, 7, 11])
def test_all_terms_give_the_true_margins_of_a_network_that_the_model_describes(p):
    weights = on_grid(np.random.default_rng(p), p, 9, 40)
    levels = certify(weights, angles=40).levels
    np.testing.assert_allclose(levels[-2].lower, levels[0].lower, atol=1e-9)
    np.testing.assert_allclose(levels[1].lower, levels[0].lower, atol=1e-9)


def test_without_its_tail_a_bound_of_few_terms_would_be_wrong(monkeypatch):
    weights = on_grid(np.random.default_rng(1), 11, 6, 40)
    net, _, left, of_keys = parts(weights)
    truth = circuits.margins(circuits.logits(weights))
    kept = fourier.kept_terms(1, 44)
    assert kept == [2]
    assert (margins.structured_bounds(net, of_keys, left, kept) <= truth).all()
    tail = fourier.left_out_bound
    for share in (0.0, 0.5):  # half of it would be wrong as well
        monkeypatch.setattr(fourier, "left_out_bound", lambda *given, share=share, **more: share * tail(*given, **more))
        assert (margins.structured_bounds(net, of_keys, left, kept) > truth + 1e-3).any()


def test_without_the_residual_a_bound_would_be_wrong():
    weights = noisy(np.random.default_rng(7), 11, 8)
    weights["W_in"] += 0.1 * np.random.default_rng(8).normal(size=weights["W_in"].shape)
    net, model, left, of_keys = parts(weights)
    truth = circuits.margins(circuits.logits(weights))
    everything = list(range(model.angles // 2 + 1))
    assert (margins.structured_bounds(net, of_keys, left, everything) <= truth).all()
    free = type(left)(
        {f: 0 * values for f, values in left.first.items()},
        {f: 0 * values for f, values in left.second.items()},
        0 * left.rest_first,
        0 * left.rest_second,
        left.rest_range,
    )
    assert (margins.structured_bounds(net, of_keys, free, everything) > truth + 1e-3).any()


def test_without_the_range_of_the_rest_a_compressed_unembedding_would_be_wrong(monkeypatch):
    weights = noisy(np.random.default_rng(2), 11, 12)
    weights["W_out"] += np.random.default_rng(3).normal(size=weights["W_out"].shape)
    net, truth = network(weights), circuits.margins(circuits.logits(weights))
    F, G = factors(net)
    F, G = F[:, :2], G[:2]
    assert (hidden_bounds(net, F, G) <= truth).all()
    monkeypatch.setattr("allmlp.studies.quadrature.certificate.margins.spans", lambda rest: np.zeros(rest.ncols()))
    assert (hidden_bounds(net, F, G) > truth + 1e-3).any()


def test_the_range_of_the_rest_is_all_charged_and_no_more():
    # one neuron, always at 1, and nothing kept of W: the worst pair loses exactly the range
    weights = {name: 0 * values for name, values in random_weights(np.random.default_rng(0), 5, 4).items()}
    weights["b_in"][0], weights["W_out"][0, 0], weights["W_U"][0] = 1.0, 1.0, [3, 1, 4, 1, 5]
    net = network(weights)
    bounds = hidden_bounds(net, np.zeros((5, 1)), np.zeros((1, 4)))
    truth = circuits.margins(circuits.logits(weights))
    assert (bounds <= truth).all()
    assert truth.min() == -4
    assert bounds.min() == pytest.approx(-4, abs=1e-12)


def test_of_evenly_spread_angles_the_integral_is_the_sum_s_term():
    net, _, left, of_keys = parts(adding(11, 2, 2 * np.pi * np.arange(11) / 11), angles=44, single=True)
    ideal = fourier.left_out_bound(net, of_keys, [], left.rest_range, ideal=True)
    np.testing.assert_allclose(ideal, fourier.left_out_bound(net, of_keys, [2], left.rest_range), atol=1e-9)
    assert (ideal < fourier.left_out_bound(net, of_keys, [], left.rest_range) - 0.1)[0, 1:].all()


# Each identity against its formula, in plain float64


def profile(key, p, x, y, phi):
    """P_k(x, y; phi) as the docstring of `structure` has it."""
    kx, ky = (2 * np.pi * key.k * token / p for token in (x, y))
    (a, a2), (b, b2) = key.primary, key.double
    once = ((a * np.exp(1j * kx) + a2 * np.exp(1j * ky)) * np.exp(1j * phi)).real
    twice = ((b * np.exp(2j * kx) + b2 * np.exp(2j * ky)) * np.exp(2j * phi)).real
    return once + twice + key.constant


def modelled(net, model):
    """sum_i amp_i |P_k(x, y; phi_i)| W[z, i] / 2, (x, y, z), and the model of pre (x, y, i)."""
    p, pre = net.p, np.zeros((net.p, net.p, net.m))
    x, y = np.indices((p, p))
    for key in model.keys:
        for i, amplitude, angle in zip(key.neurons, key.amplitude, key.angle, strict=True):
            pre[:, :, i] = amplitude * profile(key, p, x, y, 2 * np.pi * angle / model.angles)
    return 0.5 * np.abs(pre) @ net.W_float.T, pre


def by_difference(low_DYZ):
    """(d, y, z) -> (x, y, z)."""
    p = len(low_DYZ)
    x, y = np.indices((p, p))
    return low_DYZ[(x - y) % p, y]


@pytest.mark.parametrize(("p", "angles"), [(3, 8), (5, 9), (7, 40), (11, 30)])
def test_all_fourier_terms_are_the_sum_over_neurons(p, angles):
    net, model, _, of_keys = parts(noisy(np.random.default_rng(p), p, 10), angles)
    kept = list(range(model.angles // 2 + 1))
    low, high = fourier.sum_pairs(fourier.kept_sum(net, of_keys, kept))
    expected, _ = modelled(net, model)
    assert (low <= high).all()
    np.testing.assert_allclose(by_difference(low), expected, atol=1e-10)
    np.testing.assert_allclose(by_difference(high), expected, atol=1e-10)


@pytest.mark.parametrize("terms", [1, 2, 3, 6])
@pytest.mark.parametrize("ideal", [False, True])
def test_what_is_left_out_covers_all_that_the_kept_terms_miss(terms, ideal):
    net, model, left, of_keys = parts(noisy(np.random.default_rng(terms), 7, 9), single=ideal)
    kept = [] if ideal else fourier.kept_terms(terms, model.angles)
    main = fourier.ideal_sum(net, of_keys) if ideal else fourier.kept_sum(net, of_keys, kept)
    missed = modelled(net, model)[0] - by_difference(fourier.sum_pairs(main)[0])
    allowed = fourier.left_out_bound(net, of_keys, kept, left.rest_range, ideal=ideal)
    used = []
    for x, y, z in itertools.product(range(7), repeat=3):
        c = (x + y) % 7
        at_most, taken = allowed[(x - y) % 7, (c - z) % 7], missed[x, y, z] - missed[x, y, c]
        assert taken <= at_most + 1e-12
        used += [taken / at_most] if z != c else []
    assert max(used) > 0.1  # somewhere a tenth of it is needed: no bound on something else


def test_the_residual_covers_all_that_the_model_misses():
    p = 7
    weights = noisy(np.random.default_rng(5), p, 12)
    net, model, left, _ = parts(weights)
    pre = np.abs(net.A_float[:, None] + net.B_float[None])
    missed = 0.5 * (pre - np.abs(modelled(net, model)[1])) @ net.W_float.T
    for x, y, z in itertools.product(range(p), repeat=3):
        c = (x + y) % p
        allowed = left.rest_first[x] + left.rest_second[y]
        for f in left.first:
            sine = abs(np.sin(np.pi * f * (c - z) / p))
            allowed += sine * (left.first[f][x, (c + z) % p] + left.second[f][y, (c + z) % p])
        assert missed[x, y, z] - missed[x, y, c] <= allowed + 1e-12


def test_the_paper_s_story_knows_one_frequency_and_both_tokens_alike():
    model = fit(network(noisy(np.random.default_rng(0), 11, 12)), single_frequency=True)
    for key in model.keys:
        assert key.primary[0] == key.primary[1]
        assert key.double == (0, 0)
        assert key.constant == 0
        others = np.setdiff1d(np.arange(12), key.neurons)
        assert not model.waves_out[key.k][others].any()


def test_a_number_of_terms_starts_with_the_integral_s():
    assert [fourier.kept_terms(n, 12) for n in (1, 2, 3, 5)] == [[2], [0, 2], [0, 1, 2], [0, 1, 2, 3, 4]]
    assert fourier.kept_terms(81, 12) == [0, 1, 2, 3, 4, 5, 6]


# The model is read off as least squares has it


def of_model(rng, p, k, m, primary, double, constant):
    """Tables of neurons amp_i P_k(x, y; phi_i), and per neuron (amp_i, phi_i, offset_i), as `structure` has them."""
    amplitude, phi, offset = rng.uniform(0.5, 2, m), rng.uniform(0, 2 * np.pi, m), rng.normal(size=m)
    t = 2 * np.pi * k * np.arange(p)[:, None] / p

    def token(once, twice):
        waves = once * np.exp(1j * (t + phi)) + twice * np.exp(2j * (t + phi))
        return amplitude * waves.real

    A = token(primary[0], double[0]) + offset
    B = token(primary[1], double[1]) + amplitude * constant - offset
    W = rng.uniform(0.5, 2, m) * np.cos(t + rng.uniform(0, 2 * np.pi, m))
    return SimpleNamespace(p=p, A_float=A, B_float=B, W_float=W)


def tables(net, model):
    """What the model says A and B are."""
    A, B = np.zeros_like(net.A_float), np.zeros_like(net.B_float)
    for key in model.keys:
        turn = 2 * np.pi * (key.k * np.arange(net.p)[:, None] / net.p + key.angle / model.angles)
        for table, a, b in ((A, key.primary[0], key.double[0]), (B, key.primary[1], key.double[1])):
            table[:, key.neurons] = key.amplitude * (a * np.exp(1j * turn) + b * np.exp(2j * turn)).real
        A[:, key.neurons] += key.offset
        B[:, key.neurons] += key.amplitude * key.constant - key.offset
    return A, B


@pytest.mark.parametrize("seed", range(3))
def test_a_network_of_the_model_s_form_is_read_off_whole(seed):
    rng = np.random.default_rng(seed)
    one, two = (
        of_model(rng, 13, 3, 8, (1, 0.8 - 0.3j), (0.2j, 0.1), 0.4),
        of_model(rng, 13, 5, 6, (0.5j, 1), (0, 0.3), -1),
    )
    net = SimpleNamespace(
        p=13,
        **{name: np.hstack([getattr(one, name), getattr(two, name)]) for name in ("A_float", "B_float", "W_float")},
    )
    model = fit(net, at_least=10**7)  # rounded angles: 3e-7
    assert [(key.k, key.neurons.tolist()) for key in model.keys] == [(3, [*range(8)]), (5, [*range(8, 14)])]
    for made, given in zip(tables(net, model), (net.A_float, net.B_float), strict=True):
        np.testing.assert_allclose(made, given, atol=1e-5)


def test_what_neurons_share_is_weighted_by_their_part_in_the_output():
    rng = np.random.default_rng(9)
    net = of_model(rng, 13, 3, 8, (1, 0.8 - 0.3j), (0.2j, 0.1), 0.4)
    net.A_float, net.B_float = (table + 0.3 * rng.normal(size=table.shape) for table in (net.A_float, net.B_float))
    model = fit(net, at_least=10**7)
    (key,) = model.keys
    weight, phi = np.abs(wave(net.W_float, 3)), 2 * np.pi * key.angle / model.angles

    def shared(values, harmonic):
        basis = key.amplitude * np.exp(1j * harmonic * phi)
        return np.linalg.lstsq((weight * basis)[:, None], weight * values, rcond=None)[0][0]

    for found, table in zip(key.double, (net.A_float, net.B_float), strict=True):
        assert found == pytest.approx(shared(wave(table, 6), 2))
    means = net.A_float.mean(axis=0), net.B_float.mean(axis=0)
    assert key.constant == pytest.approx(shared(sum(means) + 0j, 0).real)
    misses = key.offset - means[0], key.amplitude * key.constant - key.offset - means[1]
    np.testing.assert_allclose(*misses, atol=1e-12)  # both tokens miss the same


def test_the_story_s_turn_is_the_mean_of_both_tokens_and_its_offset_halves_what_is_left():
    net = of_model(np.random.default_rng(3), 13, 3, 8, (1, 0.8 - 0.3j), (0.2j, 0.1), 0.4)
    model = fit(net, single_frequency=True, at_least=10**7)
    (key,) = model.keys
    turn = (wave(net.A_float, 3) + wave(net.B_float, 3)) / 2
    np.testing.assert_allclose(key.amplitude, np.abs(turn))
    np.testing.assert_allclose(np.exp(2j * np.pi * key.angle / model.angles), turn / np.abs(turn), atol=1e-6)
    np.testing.assert_allclose(key.offset, (net.A_float.mean(axis=0) - net.B_float.mean(axis=0)) / 2)


@pytest.mark.parametrize("table", ["A_float", "B_float"])
def test_neurons_without_a_wave_of_their_own_have_a_model_of_none(table):
    net = of_model(np.random.default_rng(4), 13, 3, 5, (1, 1), (0, 0), 0)
    net.A_float, net.B_float = 0 * net.A_float, 0 * net.B_float
    (key,) = fit(net).keys
    assert key.primary == (1, 1)
    assert not key.amplitude.any()
    getattr(net, table)[:] = np.nan
    (key,) = fit(net).keys
    assert key.primary == (1, 1)
    assert (key.double, key.constant) == ((0, 0), 0)
    assert not key.amplitude.any()
    assert not key.offset.any()


def test_levels_come_in_the_order_of_their_strength():
    rows = order_levels(pd.DataFrame({"level": ["story", "truth", "structured"], "margin": [1, 2, 3]}))
    assert rows.sort_values("level").margin.tolist() == [2, 3, 1]
    assert rows.groupby("level", observed=True).margin.first().index.tolist() == ["truth", "structured", "story"]


# Cost


def test_operations_are_those_counted_by_hand():
    sizes = {"p": 3, "d": 2, "h": 1, "k": 1, "m": 4}
    # 4 for V O; 12 + 24 + 12 residual streams; 48 + 12 for A and B; 36 for S1 and S2; 24 for W
    assert operations.count_tables(sizes) == 172
    # 2 of 9 pairs x 4 neurons; 27 x 4 products; residual stream and comparison
    assert operations.count_brute_force(sizes) == 172 + 72 + 108 + 54 + 27
    assert operations.count_hidden(sizes, 1) == 172 + (72 + 18) + (24 + 243 + 12) + (12 + 8) + 9 * 4 * 4 + 27 * 3 + 9
    # reading 344, residuals 180, charged 120, moments 110, profiles 378, left out 48; kept 72, pairs 63, margins 216
    assert operations.count_structured(sizes, 1, 9, 1) == 172 + 90 + (344 + 180 + 120 + 110 + 378 + 48) + (
        72 + 63 + 216
    )


def test_the_counted_transform_is_one():
    """A discrete Fourier transform by even and odd halves, counting each operation as it is done."""
    for p in (3, 7, 59):
        values, half, done = np.random.default_rng(p).normal(size=p), p // 2, 0
        even, odd = values[1 : half + 1] + values[:half:-1], values[1 : half + 1] - values[:half:-1]
        done += 2 * half
        angles = 2 * np.pi * np.outer(np.arange(half + 1), np.arange(1, half + 1)) / p
        real, imag = values[0] + np.cos(angles) @ even, -np.sin(angles[1:]) @ odd
        done += (half + 1) * (half + 1) + half * half
        np.testing.assert_allclose(real + 1j * np.append(0, imag), np.fft.rfft(values), atol=1e-12)
        assert operations.count_transform(p) == done


def test_costs_grow_as_they_should():
    def at(p, m):
        return {"p": p, "d": 128, "h": 4, "k": 32, "m": m}

    many = 10**7  # neurons: what does not grow with them is nothing
    for p in (31, 113):
        assert operations.count_brute_force(at(p, many)) / many == pytest.approx(
            p**3 + 2 * p**2 + (2 * 128 + 1) * p + 128 * p, rel=1e-3
        )
    small, large = (operations.count_hidden(at(p, many), 8) for p in (101, 202))
    assert large / small < 4.1  # p^2
    assert operations.count_structured(at(59, 512), 4, 295, 81) < 0.5 * operations.count_brute_force(at(59, 512))
