"""The maths of first-layer neurons: frequencies, energies of inner products, profiles, constructed ones, keywords."""

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from hypothesis.extra.numpy import arrays
from scipy import fft

from allmlp.studies.language import classification, neurons, profiles
from allmlp.studies.language.classification import CLASSES, DCT_SPARSE, PAPER, RELATIVE, Reading
from allmlp.studies.language.keywords import CoOccurrence, nearest_tokens
from allmlp.studies.language.measures.classes import bag_of_words, kinds, n_gram, unit_rows
from allmlp.studies.language.measures.energies import class_shares

T = 15
weights = arrays(np.float64, (3, 7, 4), elements=st.floats(-9, 9).filter(lambda x: x == 0 or abs(x) > 1e-6))
SLICES = pytest.mark.parametrize("slices", ["time-slice", "mean-slice", "rms-row"])


def random_neurons(seed: int = 0, count: int = 6, width: int = 5) -> np.ndarray:
    return np.random.default_rng(seed).normal(size=(count, T, width))


@pytest.mark.parametrize("length", [1, 2, 15, 64])
def test_the_basis_is_the_orthonormal_dct_and_its_first_wave_the_mean(length):
    waves = neurons.basis(length)
    np.testing.assert_allclose(waves, fft.dct(np.eye(length), type=2, norm="ortho", axis=0), atol=1e-13)
    np.testing.assert_allclose(waves @ waves.T, np.eye(length), atol=1e-13)
    np.testing.assert_allclose(waves[0], 1 / np.sqrt(length))


def test_a_basis_needs_a_position():
    with pytest.raises(ValueError, match="at least"):
        neurons.basis(0)


def test_frequencies_are_taken_over_time():
    w = random_neurons()
    np.testing.assert_allclose(neurons.transform_neurons(w), fft.dct(w, type=2, norm="ortho", axis=1), atol=1e-13)


@settings(max_examples=60, deadline=None)
@given(weights)
def test_energies_are_those_of_the_weights_themselves(w):
    found = neurons.neuron_energies(w)
    largest = (w**2).sum() + 1e-300
    np.testing.assert_allclose(found.rows, (w**2).sum(axis=2), rtol=1e-12)
    of_waves = (fft.dct(w, type=2, norm="ortho", axis=1) ** 2).sum(axis=2)
    np.testing.assert_allclose(found.frequencies, of_waves, atol=1e-12 * largest)
    np.testing.assert_allclose(found.frequencies.sum(axis=1), found.total, rtol=1e-10)
    for recent in (0, 3):
        mean = w[:, : 7 - recent].mean(axis=1)
        np.testing.assert_allclose(found.constant(recent), (7 - recent) * (mean**2).sum(axis=1), atol=1e-12 * largest)


@pytest.mark.parametrize("window", [0, 2, 6])
def test_a_window_and_a_constant_explain_what_least_squares_leave(window):
    """The best fit by free last rows and one row repeated before them, column by column."""
    w = random_neurons()[:, :7]
    design = np.zeros((7, window + 1))
    design[: 7 - window, 0] = 1
    design[7 - window :, 1:] = np.eye(window)
    flat = w.transpose(1, 0, 2).reshape(7, -1)
    fit = (design @ np.linalg.lstsq(design, flat, rcond=None)[0]).reshape(7, len(w), -1).transpose(1, 0, 2)
    expected = 1 - ((w - fit) ** 2).sum(axis=(1, 2)) / (w**2).sum(axis=(1, 2))
    np.testing.assert_allclose(neurons.neuron_energies(w).explained_share(window), expected, rtol=1e-12)
    np.testing.assert_allclose(profiles.window_share(w, window), expected, rtol=1e-12)


@SLICES
@settings(max_examples=40, deadline=None)
@given(weights)
def test_the_variance_over_time_is_the_papers_formula(slices, w):
    """(1/d) sum_i var_t(w_ti / |w|), in the words of Appendix H."""
    norms = np.linalg.norm(w, axis=2)
    scale = {
        "time-slice": norms,
        "mean-slice": np.repeat(norms.mean(axis=1)[:, None], 7, axis=1),
        "rms-row": np.repeat(np.sqrt((norms**2).mean(axis=1))[:, None], 7, axis=1),
    }[slices]
    scaled = np.divide(w, scale[..., None], out=np.zeros_like(w), where=scale[..., None] > 0)
    expected = np.where((w != 0).any(axis=(1, 2)), scaled.var(axis=1).mean(axis=1), np.inf)
    found = classification.time_variance(w, Reading("one", rows="raw", slices=slices))
    np.testing.assert_allclose(found, expected, rtol=1e-9, atol=1e-15)


def test_equal_rows_have_no_variance_to_the_last_digits():
    w = np.repeat(random_neurons(width=512)[:, :1], T, axis=1)
    assert (classification.time_variance(w, PAPER) < 1e-17).all()


@pytest.mark.parametrize("at_once", [1, 200, 1 << 20])
def test_a_profile_does_not_depend_on_how_many_neurons_are_taken_at_once(monkeypatch, at_once):
    w = random_neurons().astype(np.float32)
    monkeypatch.setattr(profiles, "AT_ONCE", at_once)
    found = profiles.profile(w)
    exact = w.astype(np.float64)
    np.testing.assert_array_equal(found.energies.gram, neurons.gram(exact))
    np.testing.assert_array_equal(found.time_ratio, profiles.l1_l2(exact))
    np.testing.assert_array_equal(found.frequency_ratio, profiles.l1_l2(neurons.transform_neurons(exact)))


def test_a_profile_refuses_weights_that_are_not_finite():
    w = random_neurons().astype(np.float32)
    w[3, 2, 1] = np.inf
    with pytest.raises(ValueError, match="not finite"):
        profiles.profile(w)


@pytest.mark.parametrize("reading", [PAPER, RELATIVE])
def test_a_low_cosine_wave_is_dct_sparse(reading):
    """Section 4.3: few large frequencies, and neither an n-gram nor a bag-of-words neuron."""
    directions = unit_rows(np.random.default_rng(0), 20, 1, 512)
    wave = directions * neurons.basis(T)[2][None, :, None]
    assert (classification.classify(wave, reading) == DCT_SPARSE).all()
    assert classification.is_dct_sparse(wave, reading, reading.strict).all()
    assert not classification.is_n_gram(wave, reading, reading.strict).any()


def test_l1_l2_over_frequencies_is_the_inverse_picture():
    rng = np.random.default_rng(1)
    words = profiles.profile(bag_of_words(rng, 5, 64, noise=0.0))
    unigrams = profiles.profile(n_gram(rng, 5, 64, positions=1))
    np.testing.assert_allclose(words.frequency_ratio, 1.0, atol=1e-6)
    np.testing.assert_allclose(words.time_ratio, np.sqrt(T))
    np.testing.assert_allclose(unigrams.time_ratio, 1.0)
    assert (unigrams.frequency_ratio > 3).all()


def test_constructed_neurons_are_what_they_are_called():
    made = kinds(np.random.default_rng(0), 4, 64)
    assert {name for name, _ in made.values()} < set(CLASSES)
    for kind, (_, w) in made.items():
        assert w.shape == (4, T, 64), kind
    for n in (1, 4):
        w = made[f"{n} recent"][1]
        assert not w[:, :-n].any()
        np.testing.assert_allclose(np.linalg.norm(w[:, -n:], axis=2), 1.0)
    noisy = made["equal rows, 30 % noise"][1]
    apart = np.linalg.norm(noisy - noisy.mean(axis=1, keepdims=True), axis=2)
    assert apart.mean() == pytest.approx(0.3 * np.sqrt(1 - 1 / T), rel=0.02)


def test_energy_shares_of_clear_neurons():
    rng = np.random.default_rng(2)
    pair = class_shares(neurons.neuron_energies(n_gram(rng, 3, 16, positions=2)))
    assert (pair[["window_energy_1", "recent_energy_1"]] > 1 - 1e-12).all(axis=None)
    early = np.roll(n_gram(rng, 3, 16, positions=4), -5, axis=1)  # a window need not be the last rows
    assert (class_shares(neurons.neuron_energies(early))["window_energy_1"] > 1 - 1e-12).all()
    words = class_shares(neurons.neuron_energies(bag_of_words(rng, 3, 16, noise=0.0)))
    np.testing.assert_allclose(words["constant_energy_1"], 1.0)
    np.testing.assert_allclose(words["window_energy_1"], 4 / T)
    dead = class_shares(neurons.neuron_energies(np.zeros((1, T, 4))))
    assert dead.isna().all(axis=None)


def test_nearest_tokens_by_each_nearness():
    embedding = np.array([[3.0, 0.0], [0.9, 0.1], [0.0, 2.0], [-1.0, 0.0]])
    vector = np.array([[1.0, 0.05]])
    assert nearest_tokens(vector, embedding, "dot", 2).tolist() == [[0, 1]]
    assert nearest_tokens(vector, embedding, "cosine", 4).tolist() == [[0, 1, 2, 3]]
    assert nearest_tokens(np.array([[1.0, 0.2]]), embedding, "cosine", 1).tolist() == [[1]]
    distances = np.linalg.norm(embedding - vector, axis=1)
    assert nearest_tokens(vector, embedding, "l2", 4)[0].tolist() == np.argsort(distances).tolist()
    with pytest.raises(ValueError, match="none of dot, cosine, l2"):
        nearest_tokens(vector, embedding, "angle", 1)


def test_npmi_of_counted_documents():
    documents = [np.array(ids) for ids in ([1, 2, 2, 9], [1, 2], [3], [1, 3, 9], [4, 4], [9])]
    together = CoOccurrence(documents, np.array([1, 2, 3, 4, 5]), vocabulary=10)
    expected = np.log((2 / 6) / ((3 / 6) * (2 / 6))) / -np.log(2 / 6)
    assert together.npmi(1, 2) == pytest.approx(expected)
    assert together.npmi(2, 1) == pytest.approx(expected)
    assert together.npmi(1, 4) == -1.0
    assert np.isnan(together.npmi(1, 5))  # 5 is in no document
    assert together.coherence([1, 2, 5]) == pytest.approx(expected)
    assert together.coherence([1, 2, 4]) == pytest.approx((expected - 2) / 3)
    assert np.isnan(together.coherence([5, 1]))


def test_npmi_is_one_of_tokens_that_are_only_together_and_zero_of_independent_ones():
    documents = [np.array(ids) for ids in ([1, 2, 5], [1, 2], [3, 5], [3], [7])]
    together = CoOccurrence(documents[:4], np.array([1, 2, 3, 5]), vocabulary=8)
    assert together.npmi(1, 2) == pytest.approx(1.0)
    assert together.npmi(1, 5) == pytest.approx(0.0, abs=1e-12)
    everywhere = CoOccurrence([np.array([1, 2])] * 3, np.array([1, 2]), vocabulary=3)
    assert everywhere.npmi(1, 2) == 1.0
