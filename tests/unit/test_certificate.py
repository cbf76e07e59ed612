"""The whole-network certificate: no bound is above the truth, whatever the weights (003-own-2)."""

import itertools
from fractions import Fraction

import numpy as np
import pytest
import torch
from flint import arb, arb_mat

from allmlp import models
from allmlp.common.errors import UserError
from allmlp.studies.quadrature import circuits
from allmlp.studies.quadrature.certificate import intervals, network
from allmlp.studies.quadrature.certificate.levels import certify
from tests.unit.known_addition import adding, noisy, random_weights

FEW = {"terms": (1, 4), "angles": 12}  # fast, and coarser than what is used: bounds must hold all the same


def duplicates(rng, p, m):
    return adding(p, 1, np.full(m, rng.uniform(-3, 3)), rng.uniform(-3, 3, m), rng.uniform(0, 2, m))


def one_huge(rng, p, m):
    weights = noisy(rng, p, m)
    weights["W_in"][:, 0] *= 1e6
    weights["W_out"][0] *= 10.0 ** rng.integers(-6, 6)
    return weights


def zero_widths(rng, p, m):
    weights = noisy(rng, p, m)
    weights["W_out"][rng.random(m) < 0.5] = 0
    return weights


def dead(rng, p, m):
    weights = noisy(rng, p, m)
    weights["b_in"][rng.random(m) < 0.5] = -1e3
    weights["W_in"][:, rng.random(m) < 0.3] = 0
    return weights


def nothing(rng, p, m):
    return {name: 0 * values for name, values in random_weights(rng, p, m).items()}


def scaled(rng, p, m):
    size = 10.0 ** rng.uniform(-8, 8, size=9)
    return {name: s * values for s, (name, values) in zip(size, random_weights(rng, p, m).items(), strict=True)}


def float32(rng, p, m):
    return {name: values.astype(np.float32).astype(float) for name, values in noisy(rng, p, m).items()}


def constant(rng, p, m):
    weights = noisy(rng, p, m)
    weights["b_in"] += rng.uniform(0.5, 3)  # a large DC term: some |P| have no zero
    return weights


KINDS = (random_weights, noisy, scaled, float32, constant, one_huge, duplicates, zero_widths, dead, nothing)
SIZES = ((3, 4), (3, 7), (5, 6), (7, 8), (5, 12), (11, 9))


@pytest.mark.parametrize("kind", KINDS, ids=lambda kind: kind.__name__)
def test_no_level_of_a_hundred_and_two_models_of_a_kind_claims_more_than_is_true(kind):
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
            shares.append(found.levels[0].certified_share)
            for level in found.levels:
                assert (level.lower <= found.upper).all(), (step, level.name, level.terms)
        optimiser.zero_grad()
        torch.nn.functional.cross_entropy(model(pairs).double(), pairs.sum(dim=1) % p).backward()
        optimiser.step()
    assert shares[-1] == 1.0  # it did learn


# Rounding


def test_ends_of_balls_and_of_float_operations_enclose_exact_results():
    rng = np.random.default_rng(0)
    a, b = rng.normal(size=(4, 6)) * 10.0 ** rng.integers(-9, 9, (4, 6)), rng.normal(size=(6, 3))
    product = intervals.exact_matrix(a) * intervals.exact_matrix(b)
    low, high = intervals.lower_ends(product), intervals.upper_ends(product)
    for i, j in itertools.product(range(4), range(3)):
        true = sum(Fraction(a[i, n]) * Fraction(b[n, j]) for n in range(6))
        assert Fraction(low[i, j]) <= true <= Fraction(high[i, j])
    for u, v in rng.normal(size=(200, 2)) * 10.0 ** rng.integers(-12, 12, (200, 2)):
        for rounded, true in ((u + v, Fraction(u) + Fraction(v)), (u * v, Fraction(u) * Fraction(v))):
            assert (
                Fraction(float(intervals.round_down(rounded))) <= true <= Fraction(float(intervals.round_up(rounded)))
            )


def test_ends_of_balls_beyond_float64_are_still_ends():
    tiny, huge = arb(2) ** -5000, arb(2) ** 5000
    matrix = arb_mat(1, 4, [tiny, -tiny, huge, -huge])
    low, high = intervals.lower_ends(matrix)[0], intervals.upper_ends(matrix)[0]
    assert low[0] <= 0 < high[0]
    assert low[1] < 0 <= high[1]
    assert np.isfinite(low[2])
    assert high[2] == np.inf
    assert low[3] == -np.inf
    assert np.isfinite(high[3])


def cancelling(size):
    """Logits in which only a 3 for z = 0 does not cancel, which a float64 sum loses."""
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


LAYOUT = (
    "W_E (p, d), W_pos (2, d), W_V (h, d, k), W_O (h, k, d), W_in (d, m), b_in (m), W_out (m, d), b_out (d), W_U (d, p)"
)


@pytest.mark.parametrize(
    ("change", "message"),
    [
        (
            lambda w: [w.pop(name) for name in ("W_pos", "b_in")],
            "mine: has no tensor W_pos, b_in, but W_E, W_O, W_U, W_V, W_in, W_out, b_out. "
            f"A certificate needs {LAYOUT}; a missing bias or W_pos is one of zeros.",
        ),
        (
            lambda w: w.clear(),
            "mine: has no tensor W_E, W_pos, W_V, W_O, W_in, b_in, W_out, b_out, W_U, but nothing. "
            f"A certificate needs {LAYOUT}; a missing bias or W_pos is one of zeros.",
        ),
        (
            lambda w: w.update(W_V=w["W_V"][0]),
            f"mine: W_V has shape (5, 2), but must be (h, d, k): {LAYOUT}.",
        ),
        (
            lambda w: w.update(W_U=w["W_U"].T),
            f"mine: W_U has shape (7, 5), but must be (d, p) with d = 5 (from W_E): {LAYOUT}.",
        ),
        (
            lambda w: w.update(b_in=w["b_in"][:-1]),
            f"mine: b_in has shape (5,), but must be (m) with m = 6 (from W_in): {LAYOUT}.",
        ),
        (
            lambda w: w.update(W_pos=w["W_pos"][:1]),
            f"mine: W_pos has shape (1, 5), but must be (2, d) with 2 = 2 (two positions): {LAYOUT}.",
        ),
        (
            lambda w: w["W_in"].__setitem__((1, 2), np.nan),
            "mine: W_in has 1 of 30 entries NaN or infinite.",
        ),
        (
            lambda w: w.update(W_V=w["W_V"][..., :0], W_O=w["W_O"][:, :0]),
            f"mine: a tensor is empty; a certificate needs {LAYOUT}.",
        ),
    ],
)
def test_a_refusal_of_weights_in_full(change, message):
    weights = random_weights(np.random.default_rng(0), 7, 6)
    change(weights)
    with pytest.raises(UserError) as refused:
        network.check(weights, "mine")
    assert str(refused.value) == message


@pytest.mark.parametrize(
    ("p", "m", "message"),
    [
        (9, 6, "mine: is for p=9 tokens (rows of W_E); addition modulo p needs a prime p above 2."),
        (7, 3, "mine: W_in has 3 neurons; a certificate needs at least 4."),
    ],
)
def test_a_refusal_of_sizes_in_full(p, m, message):
    with pytest.raises(UserError) as refused:
        network.check(random_weights(np.random.default_rng(0), p, m), "mine")
    assert str(refused.value) == message


def test_sizes_are_those_that_all_tensors_agree_on():
    weights = random_weights(np.random.default_rng(0), 7, 4, d=5, heads=3, k=2)
    assert network.check(weights, "mine") == {"p": 7, "d": 5, "h": 3, "k": 2, "m": 4}
    assert network.check({**weights, "more": np.zeros(1)}, "mine")["p"] == 7
    with pytest.raises(UserError, match=r"^weights: "):
        network.network({})


def test_the_tables_of_a_network_are_those_of_the_plain_forward_pass():
    """A, B, W, S1 and S2 as in `network`'s docstring, of a network in which every tensor counts."""
    weights = random_weights(np.random.default_rng(3), 7, 6)
    net = network.network(weights)
    A, B, W = net.A_float, net.B_float, net.W_float
    for table, ball in ((A, net.A), (B, net.B), (W, net.W)):
        np.testing.assert_allclose(intervals.lower_ends(ball), table, rtol=1e-9, atol=1e-9)
    logits = circuits.logits(weights)  # (x, y, z)
    S1, S2 = intervals.lower_ends(net.S1), intervals.lower_ends(net.S2)
    pre = A[:, None] + B[None]
    np.testing.assert_allclose(S1[:, None] + S2[None] + np.maximum(pre, 0) @ W.T, logits, rtol=1e-9, atol=1e-9)
    L1, L2 = map(intervals.lower_ends, net.linear)
    np.testing.assert_allclose(L1[:, None] + L2[None] + 0.5 * np.abs(pre) @ W.T, logits, rtol=1e-9, atol=1e-9)
    assert (net.p, net.m) == (7, 6)


# Small arithmetic, against exact fractions


def test_balls_are_arranged_as_asked():
    values = [[1.0, -2.0, 3.0], [-4.0, 5.0, -6.0]]
    rows = intervals.matrix_rows(intervals.exact_matrix(values))
    assert [[float(ball) for ball in row] for row in rows] == values
    assert [float(ball) for ball in intervals.numbers(np.array([1, 2]))] == [1.0, 2.0]
    np.testing.assert_array_equal(
        intervals.upper_ends(intervals.absolute_values(intervals.exact_matrix(values))).round(9), np.abs(values)
    )
    picked = intervals.columns(rows, iter([2, 0, 2]))
    assert intervals.lower_ends(picked).round(9).tolist() == [[3.0, 1.0, 3.0], [-6.0, -4.0, -6.0]]
    both = intervals.stack_matrices(intervals.exact_matrix(values), intervals.exact_matrix([[7.0, 8.0, 9.0]]))
    assert intervals.lower_ends(both).round(9).tolist() == [*values, [7.0, 8.0, 9.0]]
    assert intervals.spans(intervals.exact_matrix(values)) == pytest.approx([5.0, 7.0, 9.0], abs=1e-12)


@pytest.mark.parametrize("n", [1, 3, 8])
def test_waves_are_cosines_and_sines_of_any_integers(n):
    indices = np.array([[0, 1, 2], [-1, n, 5 * n + 3]])
    cosine, sine = intervals.waves(indices, n)
    for ball, wave in ((cosine, np.cos), (sine, np.sin)):
        expected = wave(2 * np.pi * indices / n)
        assert (intervals.lower_ends(ball) <= expected + 1e-14).all()
        assert (intervals.upper_ends(ball) >= expected - 1e-14).all()
        np.testing.assert_allclose(intervals.lower_ends(ball), expected, atol=1e-12)


def test_ends_are_the_neighbouring_floats():
    assert intervals.round_down(np.array([1.0]))[0] == np.nextafter(1.0, 0)
    assert intervals.round_up(np.array([1.0]))[0] == np.nextafter(1.0, 2)
    third = intervals.exact_matrix([[1.0]]) * (arb(1) / 3)
    assert Fraction(intervals.lower_ends(third)[0, 0]) < Fraction(1, 3) < Fraction(intervals.upper_ends(third)[0, 0])
    assert intervals.upper_ends(third)[0, 0] - intervals.lower_ends(third)[0, 0] < 1e-15
