"""What reads embeddings without a matcher: distances, and closed-form linear probes (001-21, own-7)."""

import numpy as np
import pytest
import torch

from allmlp.studies.mixers.measures.embeddings import (
    PENALTIES,
    bags,
    distance,
    explained_variance,
    nearest_candidate,
    ridge,
    vocabulary,
)


def test_distances_are_what_they_are_called():
    q, c = torch.randn(5, 6), torch.randn(5, 4, 6)
    q64, c64 = q.double().numpy(), c.double().numpy()
    l2 = np.sqrt(((q64[:, None] - c64) ** 2).sum(-1))
    cosine = 1 - (q64[:, None] * c64).sum(-1) / np.linalg.norm(q64, axis=-1)[:, None] / np.linalg.norm(c64, axis=-1)
    expected = {"cosine": cosine, "l1": np.abs(q64[:, None] - c64).sum(-1), "l2": l2}
    for metric, values in expected.items():
        np.testing.assert_allclose(distance(q, c, metric).numpy(), values, rtol=1e-5, atol=1e-6)


def test_ridge_solves_its_normal_equations_with_the_penalty_that_is_best_on_the_last_tenth():
    rng = np.random.default_rng(0)
    x, y = rng.normal(3, 2, (200, 5)), rng.normal(size=(200, 2))

    def solved(x, y, penalty):
        z = (x - x.mean(0)) / x.std(0)
        weights = np.linalg.solve(z.T @ z / len(z) + penalty * np.eye(5), z.T @ (y - y.mean(0)) / len(z))
        return weights, lambda at: (at - x.mean(0)) / x.std(0) @ weights + y.mean(0)

    errors = {p: ((solved(x[:180], y[:180], p)[1](x[180:]) - y[180:]) ** 2).mean() for p in PENALTIES}
    expected, _ = solved(x, y, min(errors, key=errors.__getitem__))
    np.testing.assert_allclose(ridge(x, y).weights, expected, rtol=1e-9, atol=1e-12)
    true = x @ rng.normal(size=(5, 2)) + 1
    assert explained_variance(ridge(x, true)(x), true) > 0.9999
    assert explained_variance(np.broadcast_to(true.mean(0), true.shape), true) == pytest.approx(0)


def test_probed_words_are_neither_rare_nor_everywhere():
    texts = ["the cat sat"] * 6 + ["The dog sat"] * 6 + ["the cow"] * 2
    assert vocabulary(texts) == ["cat", "dog"]
    assert bags(["A DOG and a cat", "cow"], ["cat", "dog"]).tolist() == [[1, 1], [0, 0]]


def test_nearest_is_by_cosine():
    queries = np.array([[1.0, 0.0], [0.0, 2.0]])
    candidates = np.array([[[9.0, 9.0], [1.0, 0.1]], [[0.0, 0.1], [5.0, 1.0]]])
    assert nearest_candidate(queries, candidates).tolist() == [1, 0]
