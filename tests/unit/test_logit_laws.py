"""The laws of Appendix B, the identity part's spectrum and the printed numbers (003-9 to -11, -13)."""

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from allmlp.studies.quadrature import circuits, laws, paper_numbers, spectrum
from tests.unit.known_addition import P, trained, untrained


def by_matrix(logits_XYZ, keys, law):
    """R2 and coefficients from the whole matrix of regressors, as the rule says it."""
    p = len(logits_XYZ)
    x, y, z = np.indices((p, p, p))
    half = {k: np.pi * k * (x - y) / p for k in keys}
    columns = [np.ones(p**3)]
    for k in keys:
        wave = np.cos(2 * np.pi * k * (x + y - z) / p)
        profiles = {
            "abs": [np.abs(np.cos(half[k]))],
            "cosine": [1.0],
            "double": [np.cos(2 * half[k])],
            "both": [np.abs(np.cos(half[k])), np.cos(2 * half[k])],
        }[law]
        columns += [(profile * wave).ravel() for profile in profiles]
    X, y = np.stack(columns, axis=1), logits_XYZ.ravel()
    found = np.linalg.lstsq(X, y, rcond=None)[0]
    rest = y - X @ found
    return 1 - rest @ rest / ((y - y.mean()) @ (y - y.mean())), found[1:]


@pytest.mark.parametrize("law", laws.LAWS)
@pytest.mark.parametrize("p", [3, 7, 13])
def test_the_regression_is_that_of_the_whole_matrix_of_regressors(law, p):
    rng = np.random.default_rng(p)
    keys = [1, 3, 5][: (p - 1) // 3] or [1]
    logits = 1.5 + rng.normal(size=(p, p, p)) + laws.synthesise_logits(p, {keys[0]: (2.0, -1.0)})
    r2, found = by_matrix(logits, keys, law)
    profile = laws.profiles(logits, keys)
    assert laws.r2(logits, keys, law) == pytest.approx(r2, abs=1e-12)
    ours = [c for k, of_k in zip(keys, profile, strict=True) for c in laws.coefficients(of_k, law, k)]
    np.testing.assert_allclose(ours, found, atol=1e-10)


def test_logits_of_one_law_have_r2_1_on_it_and_the_analytic_value_on_the_other():
    keys = [2, 7]
    c = np.abs(np.cos(np.pi * np.arange(P) / P))  # the same values at every k
    between = c.sum() ** 2 / (P * (c @ c))  # squared cosine of the angle between |cos| and 1
    assert between == pytest.approx(8 / np.pi**2, abs=2e-3)
    absolute = laws.synthesise_logits(P, dict.fromkeys(keys, (3.0, 0.0)))
    assert laws.r2(absolute, keys, "abs") == pytest.approx(1)
    assert laws.r2(absolute, keys, "cosine") == pytest.approx(between)
    s, z = np.indices((P, P))
    x, y = np.indices((P, P))
    cosine = sum(np.cos(2 * np.pi * k * (s - z) / P) for k in keys)[(x + y) % P] + 4.0
    assert laws.r2(cosine, keys, "cosine") == pytest.approx(1)
    assert laws.r2(cosine, keys, "abs") == pytest.approx(between)
    assert laws.r2(cosine, keys, "double") == pytest.approx(0, abs=1e-12)
    both = laws.synthesise_logits(P, {2: (3.0, -0.8), 7: (1.0, 0.5)})
    assert laws.r2(both, keys, "both") == pytest.approx(1)
    for k, profile, expected in zip(keys, laws.profiles(both, keys), [(3.0, -0.8), (1.0, 0.5)], strict=True):
        np.testing.assert_allclose(laws.coefficients(profile, "both", k), expected)


@given(st.integers(0, 2**32 - 1))
@settings(max_examples=30, deadline=None)
def test_r2_is_a_share_and_the_law_with_two_profiles_never_explains_less(seed):
    rng = np.random.default_rng(seed)
    logits = rng.normal(size=(11, 11, 11)) * rng.uniform(0.1, 10) + rng.normal()
    r2 = {law: laws.r2(logits, [1, 2, 5], law) for law in laws.LAWS}
    assert all(-1e-12 <= value <= 1 + 1e-12 for value in r2.values())
    assert max(r2["abs"], r2["double"]) <= r2["both"] + 1e-12


def test_parts_add_up_to_the_network():
    w = circuits.weights(trained(untrained(7, biases=True).state_dict(), p=7))
    part = laws.parts(w)
    assert tuple(part) == laws.PARTS
    np.testing.assert_allclose(part["logits"], circuits.logits(w), rtol=1e-10)
    np.testing.assert_allclose(part["abs"] + part["identity"] + w["b_out"] @ w["W_U"], part["mlp"], rtol=1e-10)
    np.testing.assert_allclose(part["logits"] - part["mlp"], circuits.residual(w) @ w["W_U"], atol=1e-10)


def test_bad_logits_and_frequencies_are_refused():
    with pytest.raises(ValueError, match="odd p"):
        laws.profiles(np.zeros((4, 4, 4)), [1])
    with pytest.raises(ValueError, match="odd p"):
        laws.profiles(np.zeros((5, 5, 3)), [1])
    for keys in ([0], [3], [1, 8]):
        with pytest.raises(ValueError, match="from 1 to 2"):
            laws.profiles(np.zeros((5, 5, 5)), keys)
    with pytest.raises(ValueError, match="no variance"):
        laws.r2(np.ones((5, 5, 5)), [1], "abs")


# Spectra


def test_a_spectrum_gives_back_the_cosines_and_sines_it_was_made_of():
    D, E = {3: -2.0, 9: 0.5}, {3: 0.25, 9: 0.0}
    z, x = 2 * np.pi * np.indices((P, P)) / P
    matrix = 7.0 + sum(D[k] * np.cos(k * z - 2 * k * x) + E[k] * np.sin(k * z - 2 * k * x) for k in D)
    a = spectrum.spectrum(matrix)
    at = spectrum.key_coefficients(a, [3, 9])
    np.testing.assert_allclose(2 * at.real, [-2.0, 0.5])
    np.testing.assert_allclose(-2 * at.imag, [0.25, 0.0], atol=1e-12)
    assert spectrum.energy_share(a, [3, 9]) == pytest.approx(1)
    energy = {k: D[k] ** 2 + E[k] ** 2 for k in D}
    assert spectrum.energy_share(a, [9]) == pytest.approx(energy[9] / sum(energy.values()))
    size = {k: np.sqrt(energy[k]) for k in D}
    assert spectrum.imaginary_share(a, [3, 9]) == pytest.approx(0.25 / sum(size.values()))
    assert spectrum.constant_share(a) == pytest.approx(0, abs=1e-12)
    assert spectrum.constant_share(spectrum.spectrum(np.cos(z))) == pytest.approx(1)
    found = spectrum.largest_coefficients(a, 2)
    assert found[["z_frequency", "x_frequency"]].to_numpy().tolist() == [[3, -6], [9, 13]]  # -18 = 13 modulo 31
    np.testing.assert_allclose(2 * found["real"], [-2.0, 0.5])


def test_one_of_each_mirrored_pair_is_listed_and_they_hold_all_energy():
    a = spectrum.spectrum(np.random.default_rng(0).normal(size=(7, 7)))
    found = spectrum.largest_coefficients(a, 100)
    assert len(found) == (49 - 1) / 2
    energy = np.abs(a) ** 2
    assert 2 * (found["real"] ** 2 + found["imaginary"] ** 2).sum() == pytest.approx(energy.sum() - energy[0, 0])
    assert np.hypot(found["real"], found["imaginary"]).is_monotonic_decreasing


def test_a_bad_matrix_has_no_spectrum():
    for bad in (np.zeros((3, 4)), np.zeros((4, 4)), np.full((3, 3), np.nan)):
        with pytest.raises(ValueError, match="finite matrix"):
            spectrum.spectrum(bad)
    nothing = spectrum.spectrum(np.ones((5, 5)))
    nothing[0, 0], nothing[1:, :], nothing[:, 1:] = 1.0, 0.0, 0.0
    assert np.isnan(spectrum.energy_share(nothing, [1]))
    assert np.isnan(spectrum.imaginary_share(nothing, [1]))


# Printed numbers


def value(item, quantity):
    found = [check for check in paper_numbers.checks() if check.item == item and quantity in check.quantity]
    assert len(found) == 1, [check.quantity for check in found]
    return found[0].value


def test_printed_numbers_come_out_as_the_errata_say():
    assert value("003-13", "coefficients") == 0.5
    made = {law: [paper_numbers.implied_r2(law, factor) for factor in (1.0, 0.0)] for law in ("abs", "cosine")}
    assert [round(r2, 2) for r2 in made["abs"]] == [0.93, 1.0]
    assert [round(r2, 2) for r2 in made["cosine"]] == [0.96, 0.81]
    assert value("E003-7", "as defined") == pytest.approx(8 / (3 * np.pi))
    assert value("E003-7", "modulo 59") == pytest.approx(0.849, abs=5e-4)
    assert value("E003-2", "ψ = -2φ: largest |integral - (2/3) cos k(x+y-z)|") > 1
    assert value("E003-2", "ψ = -2φ: largest |integral - (2/3) cos k(x+y+z)|") < 1e-12
    assert value("E003-2", "ψ = +2φ: largest |integral - (2/3) cos k(x+y-z)|") < 1e-12
    assert value("E003-2", "ψ = +2φ: largest |integral - (2/3) cos k(x+y+z)|") > 1
    assert value("E003-1", "cos(-2φ) cos(kt/2 + φ) / 2") == pytest.approx(0, abs=1e-12)
    assert value("E003-1", "sin(-2φ) |cos(kt/2 + φ)| / 2") == pytest.approx(2 / 3)
    assert value("003-7", "largest |f'|") == pytest.approx(2)
    assert value("E003-6", "term in |cos|²") == pytest.approx(-7.4)
    assert value("E003-6", "times 2 D², as printed") > 20
    assert value("E003-6", "amplitude of cos k(x+y-z) where |cos| = 1") == pytest.approx(10.2)
    assert value("E003-4", "g = |.|/2") == pytest.approx(0, abs=1e-12)
    assert value("E003-4", "g = identity/2") == pytest.approx(1)


def test_the_factor_on_d_gives_the_r2_it_was_sought_for():
    factor = value("E003-8", "factor on D_k")
    assert 1 < factor < 2
    assert paper_numbers.implied_r2("abs", factor) == pytest.approx(0.86, abs=1e-5)
