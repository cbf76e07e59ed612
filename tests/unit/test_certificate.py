"""The whole-network certificate: every bound below the truth, and as sharp as its own arithmetic says it is."""

import itertools
from fractions import Fraction
from types import SimpleNamespace

import numpy as np
import pandas as pd
import pytest
import torch
from flint import arb, arb_mat

from allmlp import models
from allmlp.errors import UserError
from allmlp.studies.quadrature import circuits
from allmlp.studies.quadrature.certificate import fourier, intervals, operations, structured
from allmlp.studies.quadrature.certificate.hidden import factors, hidden
from allmlp.studies.quadrature.certificate.levels import certify
from allmlp.studies.quadrature.certificate.network import network
from allmlp.studies.quadrature.certificate.residual import residual
from allmlp.studies.quadrature.certificate.structure import angles_for, fit
from allmlp.studies.quadrature.figures import certificate as figure
from allmlp.studies.quadrature.measures import certificate as measure
from allmlp.studies.quadrature.tables import certificates as table
from allmlp.studies.quadrature.verdicts.certificate import certificate_cost, whole_network_certificate

FEW = {"terms": (1, 4), "angles": 12}  # fast, and coarser than what is used: bounds must hold all the same


def random_weights(rng, p, m, d=5, heads=2, k=2):
    """Nothing but noise, every tensor used."""
    shapes = {
        "W_E": (p, d),
        "W_pos": (2, d),
        "W_V": (heads, d, k),
        "W_O": (heads, k, d),
        "W_in": (d, m),
        "b_in": (m,),
        "W_out": (m, d),
        "b_out": (d,),
        "W_U": (d, p),
    }
    return {name: rng.normal(size=shape) for name, shape in shapes.items()}


def adding(p, k, phi, psi=None, c=1.0, e=1.0, direct=0.0):
    """Neurons ReLU(c cos(kx + phi) + (c + direct) cos(ky + phi)) with W_out = e cos(kz + psi); float64."""
    k, phi, c, e = np.broadcast_arrays(np.atleast_1d(k), phi, c, e)
    psi = 2 * phi if psi is None else psi
    keys = sorted(set(k.tolist()))
    waves = np.stack([f(2 * np.pi * q * np.arange(p) / p) for q in keys for f in (np.cos, np.sin)], axis=1)
    own, n, r = 2 * np.array([keys.index(q) for q in k]), np.arange(len(phi)), waves.shape[1]
    into, out = np.zeros((r, len(phi))), np.zeros((len(phi), r))
    into[own, n], into[own + 1, n] = c * np.cos(phi), -c * np.sin(phi)
    out[n, own], out[n, own + 1] = e * np.cos(psi), -e * np.sin(psi)
    zero, one = np.zeros((r, r)), np.eye(r)
    return {
        "W_E": waves @ np.hstack([one, zero, zero]),
        "W_pos": np.zeros((2, 3 * r)),
        "W_V": np.vstack([2 * one, zero, zero])[None],
        "W_O": np.hstack([zero, one, zero])[None],
        "W_in": np.vstack([direct * into, into, 0 * into]),
        "b_in": np.zeros(len(phi)),
        "W_out": np.hstack([0 * out, 0 * out, out]),
        "b_out": np.zeros(3 * r),
        "W_U": np.vstack([zero, zero, one]) @ waves.T,
    }


def trained_like(rng, p, m):
    """Cosines in and out at a key or two, embed(y) felt, noise on every tensor."""
    k = rng.integers(1, p // 2 + 1, size=min(2, p // 2))[rng.integers(0, min(2, p // 2), size=m)]
    phi = rng.uniform(-np.pi, np.pi, m)
    size = rng.uniform(0.2, 2.0, m)
    weights = adding(p, k, phi, 2 * phi + 0.1 * rng.normal(size=m), size, size, direct=rng.uniform(0, 0.3))
    noise = 10.0 ** rng.uniform(-6, -1)
    return {name: values + noise * rng.normal(size=values.shape) for name, values in weights.items()}


def duplicates(rng, p, m):
    return adding(p, 1, np.full(m, rng.uniform(-3, 3)), rng.uniform(-3, 3, m), rng.uniform(0, 2, m))


def one_huge(rng, p, m):
    weights = trained_like(rng, p, m)
    weights["W_in"][:, 0] *= 1e6
    weights["W_out"][0] *= 10.0 ** rng.integers(-6, 6)
    return weights


def zero_widths(rng, p, m):
    weights = trained_like(rng, p, m)
    weights["W_out"][rng.random(m) < 0.5] = 0
    return weights


def dead(rng, p, m):
    weights = trained_like(rng, p, m)
    weights["b_in"][rng.random(m) < 0.5] = -1e3
    weights["W_in"][:, rng.random(m) < 0.3] = 0
    return weights


def nothing(rng, p, m):
    return {name: 0 * values for name, values in random_weights(rng, p, m).items()}


def scaled(rng, p, m):
    size = 10.0 ** rng.uniform(-8, 8, size=9)
    return {name: s * values for s, (name, values) in zip(size, random_weights(rng, p, m).items(), strict=True)}


def float32(rng, p, m):
    return {name: values.astype(np.float32).astype(float) for name, values in trained_like(rng, p, m).items()}


def constant(rng, p, m):
    weights = trained_like(rng, p, m)
    weights["b_in"] += rng.uniform(0.5, 3)  # a large DC term: some |P| have no zero
    return weights


KINDS = (random_weights, trained_like, scaled, float32, constant, one_huge, duplicates, zero_widths, dead, nothing)
SIZES = ((3, 4), (3, 7), (5, 6), (7, 8), (5, 12), (11, 9))


# Never above the truth


@pytest.mark.parametrize("kind", KINDS, ids=lambda kind: kind.__name__)
def test_no_level_of_a_hundred_and_two_models_of_a_kind_claims_more_than_is_true(kind):
    # 10 kinds x 102 models; all levels of each
    rng = np.random.default_rng([3, KINDS.index(kind)])
    for p, m in SIZES:
        for _ in range(17):
            weights = kind(rng, p, m)
            found = certify(weights, terms=(1, 4), angles=int(rng.integers(8, 20)))
            margins = circuits.margins(circuits.logits(weights))
            slack = 1e-9 * np.abs(circuits.logits(weights)).max()
            assert (found.levels[0].lower <= margins + slack).all()
            assert (margins <= found.upper + slack).all()
            assert [level.name for level in found.levels] == ["truth", "hidden", *["structured"] * 3, "story"]
            for level in found.levels:
                assert not np.isnan(level.lower).any()
                assert (level.lower <= found.upper).all(), (level.name, level.terms)


def test_no_level_claims_more_than_is_true_while_a_network_is_trained():
    torch.manual_seed(0)
    p = 7
    model = models.build("constant-attention", vocabulary=p, d_model=16, n_heads=2, d_mlp=16)
    pairs = torch.cartesian_prod(torch.arange(p), torch.arange(p))
    optimiser = torch.optim.AdamW(model.parameters(), lr=1e-2, weight_decay=1.0)
    shares = []
    for step in range(200):
        if step % 20 == 19:
            found = certify({name: value.double().numpy() for name, value in model.state_dict().items()}, **FEW)
            shares.append(found.levels[0].certified)
            for level in found.levels:
                assert (level.lower <= found.upper).all(), (step, level.name, level.terms)
        optimiser.zero_grad()
        torch.nn.functional.cross_entropy(model(pairs).double(), pairs.sum(dim=1) % p).backward()
        optimiser.step()
    assert shares[-1] == 1.0  # it did learn


# As sharp as it says: nothing that is subtracted is subtracted for nothing


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
    assert (structured.structured(net, of_keys, left, kept) <= truth).all()
    tail = fourier.left_out
    for share in (0.0, 0.5):  # half of it would be wrong as well
        monkeypatch.setattr(fourier, "left_out", lambda *given, share=share, **more: share * tail(*given, **more))
        assert (structured.structured(net, of_keys, left, kept) > truth + 1e-3).any()


def test_without_the_residual_a_bound_would_be_wrong():
    weights = trained_like(np.random.default_rng(7), 11, 8)
    weights["W_in"] += 0.1 * np.random.default_rng(8).normal(size=weights["W_in"].shape)
    net, model, left, of_keys = parts(weights)
    truth = circuits.margins(circuits.logits(weights))
    everything = list(range(model.angles // 2 + 1))
    assert (structured.structured(net, of_keys, left, everything) <= truth).all()
    free = type(left)(
        {f: 0 * values for f, values in left.first.items()},
        {f: 0 * values for f, values in left.second.items()},
        0 * left.rest_first,
        0 * left.rest_second,
        left.rest_range,
    )
    assert (structured.structured(net, of_keys, free, everything) > truth + 1e-3).any()


def test_without_the_range_of_the_rest_a_compressed_unembedding_would_be_wrong(monkeypatch):
    weights = trained_like(np.random.default_rng(2), 11, 12)
    weights["W_out"] += np.random.default_rng(3).normal(size=weights["W_out"].shape)
    net, truth = network(weights), circuits.margins(circuits.logits(weights))
    F, G = factors(net)
    F, G = F[:, :2], G[:2]
    assert (hidden(net, F, G) <= truth).all()
    monkeypatch.setattr("allmlp.studies.quadrature.certificate.hidden.spans", lambda rest: np.zeros(rest.ncols()))
    assert (hidden(net, F, G) > truth + 1e-3).any()


def test_the_range_of_the_rest_is_all_charged_and_no_more():
    # one neuron, always at 1, and nothing kept of W: the worst pair loses exactly the range
    weights = {name: 0 * values for name, values in random_weights(np.random.default_rng(0), 5, 4).items()}
    weights["b_in"][0], weights["W_out"][0, 0], weights["W_U"][0] = 1.0, 1.0, [3, 1, 4, 1, 5]
    net = network(weights)
    bounds = hidden(net, np.zeros((5, 1)), np.zeros((1, 4)))
    truth = circuits.margins(circuits.logits(weights))
    assert (bounds <= truth).all()
    assert truth.min() == -4
    assert bounds.min() == pytest.approx(-4, abs=1e-12)


def test_of_evenly_spread_angles_the_integral_is_the_sum_s_term():
    net, _, left, of_keys = parts(adding(11, 2, 2 * np.pi * np.arange(11) / 11), angles=44, single=True)
    ideal = fourier.left_out(net, of_keys, [], left.rest_range, ideal=True)
    np.testing.assert_allclose(ideal, fourier.left_out(net, of_keys, [2], left.rest_range), atol=1e-9)
    assert (ideal < fourier.left_out(net, of_keys, [], left.rest_range) - 0.1)[0, 1:].all()


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
    net, model, _, of_keys = parts(trained_like(np.random.default_rng(p), p, 10), angles)
    kept = list(range(model.angles // 2 + 1))
    low, high = fourier.over_pairs(fourier.kept_sum(net, of_keys, kept))
    expected, _ = modelled(net, model)
    assert (low <= high).all()
    np.testing.assert_allclose(by_difference(low), expected, atol=1e-10)
    np.testing.assert_allclose(by_difference(high), expected, atol=1e-10)


@pytest.mark.parametrize("terms", [1, 2, 3, 6])
@pytest.mark.parametrize("ideal", [False, True])
def test_what_is_left_out_covers_all_that_the_kept_terms_miss(terms, ideal):
    net, model, left, of_keys = parts(trained_like(np.random.default_rng(terms), 7, 9), single=ideal)
    kept = [] if ideal else fourier.kept_terms(terms, model.angles)
    main = fourier.ideal_sum(net, of_keys) if ideal else fourier.kept_sum(net, of_keys, kept)
    missed = modelled(net, model)[0] - by_difference(fourier.over_pairs(main)[0])
    allowed = fourier.left_out(net, of_keys, kept, left.rest_range, ideal=ideal)
    used = []
    for x, y, z in itertools.product(range(7), repeat=3):
        c = (x + y) % 7
        at_most, taken = allowed[(x - y) % 7, (c - z) % 7], missed[x, y, z] - missed[x, y, c]
        assert taken <= at_most + 1e-12
        used += [taken / at_most] if z != c else []
    assert max(used) > 0.1  # somewhere a tenth of it is needed: no bound on something else


def test_the_residual_covers_all_that_the_model_misses():
    p = 7
    weights = trained_like(np.random.default_rng(5), p, 12)
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
    model = fit(network(trained_like(np.random.default_rng(0), 11, 12)), single_frequency=True)
    for key in model.keys:
        assert key.primary[0] == key.primary[1]
        assert key.double == (0, 0)
        assert key.constant == 0
        others = np.setdiff1d(np.arange(12), key.neurons)
        assert not model.waves_out[key.k][others].any()


def test_a_number_of_terms_starts_with_the_integral_s():
    assert [fourier.kept_terms(n, 12) for n in (1, 2, 3, 5)] == [[2], [0, 2], [0, 1, 2], [0, 1, 2, 3, 4]]
    assert fourier.kept_terms(81, 12) == [0, 1, 2, 3, 4, 5, 6]


# Rounding


def test_ends_of_balls_and_of_float_operations_enclose_exact_results():
    rng = np.random.default_rng(0)
    a, b = rng.normal(size=(4, 6)) * 10.0 ** rng.integers(-9, 9, (4, 6)), rng.normal(size=(6, 3))
    product = intervals.exact(a) * intervals.exact(b)
    low, high = intervals.lower(product), intervals.upper(product)
    for i, j in itertools.product(range(4), range(3)):
        true = sum(Fraction(a[i, n]) * Fraction(b[n, j]) for n in range(6))
        assert Fraction(low[i, j]) <= true <= Fraction(high[i, j])
    for u, v in rng.normal(size=(200, 2)) * 10.0 ** rng.integers(-12, 12, (200, 2)):
        for rounded, true in ((u + v, Fraction(u) + Fraction(v)), (u * v, Fraction(u) * Fraction(v))):
            assert Fraction(float(intervals.down(rounded))) <= true <= Fraction(float(intervals.up(rounded)))


def test_ends_of_balls_beyond_float64_are_still_ends():
    tiny, huge = arb(2) ** -5000, arb(2) ** 5000
    matrix = arb_mat(1, 4, [tiny, -tiny, huge, -huge])
    low, high = intervals.lower(matrix)[0], intervals.upper(matrix)[0]
    assert low[0] <= 0 < high[0]
    assert low[1] < 0 <= high[1]
    assert np.isfinite(low[2])
    assert high[2] == np.inf
    assert low[3] == -np.inf
    assert np.isfinite(high[3])


def cancelling(size):
    """Logits whose only part that does not cancel, 3 for z = 0, is lost in a float64 sum."""
    p, m = 3, 4
    weights = {name: 0 * values for name, values in random_weights(np.random.default_rng(0), p, m, d=3).items()}
    weights["b_out"] = np.ones(3)
    weights["W_U"] = np.array([[size] * 3, [3.0, 0, 0], [-size] * 3])
    return weights


def test_a_margin_that_float64_loses_is_proved_and_one_beyond_precision_is_not_claimed():
    lost = cancelling(1e17)
    assert circuits.margins(circuits.logits(lost)).max() <= 0  # float64 says: no sum is right
    for level in certify(lost, **FEW).levels:
        right = np.add.outer(range(3), range(3)) % 3 == 0
        assert (level.lower[right] > 2.9).all(), level.name
        assert (level.lower[~right] < 0).all()
    for level in certify(cancelling(1e40), **FEW).levels:
        assert (level.lower <= 3).all()


def test_weights_beyond_float64_s_range_end_in_no_claim_and_no_error():
    rng = np.random.default_rng(0)
    for size in (1e150, 1e300):
        found = certify({name: size * values for name, values in random_weights(rng, 5, 6).items()}, **FEW)
        for level in found.levels:
            assert not np.isnan(level.lower).any()
            assert (level.lower <= found.upper).all()


# Bad input


@pytest.mark.parametrize(
    ("change", "message"),
    [
        (lambda w: w.pop("W_pos"), "mine: has no tensor W_pos"),
        (lambda w: w["W_in"].__setitem__((1, 2), np.nan), "mine: W_in has 1 of 30 entries NaN or infinite"),
        (lambda w: w["b_out"].__setitem__(slice(2), np.inf), "mine: b_out has 2 of 5 entries NaN or infinite"),
        (lambda w: w.update(W_U=w["W_U"].T), r"W_U has shape \(7, 5\), but must be \(d, p\) with d = 5 \(from W_E\)"),
        (lambda w: w.update(b_in=w["b_in"][:-1]), r"b_in has shape \(5,\), but must be \(m\) with m = 6"),
        (lambda w: w.update(W_V=w["W_V"][0]), r"W_V has shape \(5, 2\), but must be \(h, d, k\)"),
        (lambda w: w.update(W_pos=w["W_pos"][:1]), r"W_pos has shape \(1, 5\), but must be \(2, d\)"),
    ],
)
def test_weights_of_another_layout_are_refused_by_name(change, message):
    weights = random_weights(np.random.default_rng(0), 7, 6)
    change(weights)
    with pytest.raises(UserError, match=message):
        certify(weights, "mine")


@pytest.mark.parametrize(("p", "m", "message"), [(9, 6, "p=9"), (2, 6, "p=2"), (1, 6, "p=1"), (7, 3, "3 neurons")])
def test_sizes_without_a_meaning_are_refused(p, m, message):
    with pytest.raises(UserError, match=message):
        certify(random_weights(np.random.default_rng(0), p, m))


# Cost


def test_operations_are_those_counted_by_hand():
    sizes = {"p": 3, "d": 2, "h": 1, "k": 1, "m": 4}
    # 4 for V O; 12 + 24 + 12 residual streams; 48 + 12 for A and B; 36 for S1 and S2; 24 for W
    assert operations.tables(sizes) == 172
    # 2 of 9 pairs x 4 neurons; 27 x 4 products; residual stream and comparison
    assert operations.brute(sizes) == 172 + 72 + 108 + 54 + 27
    assert operations.hidden(sizes, 1) == 172 + (72 + 18) + (24 + 243 + 12) + (12 + 8) + 9 * 4 * 4 + 27 * 3 + 9
    # reading 344, residuals 180, charged 120, moments 110, profiles 378, left out 48; kept 72, pairs 63, margins 216
    assert operations.structured(sizes, 1, 9, 1) == 172 + 90 + (344 + 180 + 120 + 110 + 378 + 48) + (72 + 63 + 216)


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
        assert operations.transform(p) == done


def test_costs_grow_as_they_should():
    def at(p, m):
        return {"p": p, "d": 128, "h": 4, "k": 32, "m": m}

    many = 10**7  # neurons: what does not grow with them is nothing
    for p in (31, 113):
        assert operations.brute(at(p, many)) / many == pytest.approx(
            p**3 + 2 * p**2 + (2 * 128 + 1) * p + 128 * p, rel=1e-3
        )
    small, large = (operations.hidden(at(p, many), 8) for p in (101, 202))
    assert large / small < 4.1  # p^2
    assert operations.structured(at(59, 512), 4, 295, 81) < 0.5 * operations.brute(at(59, 512))


# Measure, table, figure, verdicts


@pytest.fixture(scope="module")
def rows():
    found = []
    for seed in range(5):
        rng = np.random.default_rng(seed)
        phi = 2 * np.pi * np.arange(9) / 9 + 1e-3 * rng.normal(size=9)
        weights = {name: torch.tensor(v) for name, v in adding(11, 2, phi, direct=1e-3).items()}
        run = SimpleNamespace(hyperparameters={"vocabulary": 11}, labels={"model": "constant-attention"}, id=f"r{seed}")
        trained = SimpleNamespace(run=run, weights=lambda step=None, weights=weights: weights)
        found.append(measure.measure(trained).assign(run=run.id, seed=seed, p=11, d_mlp=9))
    return pd.concat(found, ignore_index=True)


def test_the_measure_has_a_row_per_level_and_its_declared_columns(rows):
    one = rows[rows["seed"] == 0]
    assert list(one.columns[: len(measure.COLUMNS)]) == list(measure.COLUMNS)
    assert one["level"].tolist() == ["truth", "hidden", *["structured"] * 6, "story"]
    assert one["terms"].tolist() == [0, 0, 1, 5, 17, 41, 81, 133, 1]
    assert (one["largest_excess_nats"] <= 0).all()
    assert one["true_accuracy_1"].unique() == [1.0]
    structured_rows = one[one["level"] == "structured"]
    assert structured_rows["smallest_bound_nats"].is_monotonic_increasing
    assert structured_rows["operations"].is_monotonic_increasing


def test_table_and_figure_show_every_level(rows):
    shown = table.tabulate({"certificate": rows})
    assert len(shown) == 9
    assert shown["seeds"].unique() == ["5"]
    drawn = figure.draw({"certificate": rows})
    assert len(drawn.axes) == 2
    assert len(drawn.legends[0].get_texts()) == 4


def evidence(rows, **margin):
    return SimpleNamespace(table=lambda name: rows.copy(), margin=margin, paper={})


def test_verdicts_follow_the_rules(rows):
    certain = rows.assign(certified_accuracy_1=np.where(rows["level"] == "story", 0.0, 1.0))
    assert whole_network_certificate(evidence(certain, share_1=0.99)).verdict == "reproduced"
    none = rows.assign(certified_accuracy_1=np.where(rows["level"] == "story", 1.0, 0.0))
    assert whole_network_certificate(evidence(none, share_1=0.99)).verdict == "contradicted"

    cheap = rows.assign(operations=0.4 * rows["brute_operations"])
    assert certificate_cost(evidence(cheap, share_1=0.5)).verdict == "reproduced"
    wrong = cheap.assign(largest_excess_nats=1e-300)
    verdicts = [part.verdict for part in certificate_cost(evidence(wrong, share_1=0.5)).parts]
    assert verdicts == ["contradicted", "reproduced", "reproduced"]
    dear = rows.assign(operations=0.6 * rows["brute_operations"])
    verdicts = [part.verdict for part in certificate_cost(evidence(dear, share_1=0.5)).parts]
    assert verdicts == ["reproduced", "contradicted", "contradicted"]
