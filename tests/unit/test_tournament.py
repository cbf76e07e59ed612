"""Tournaments find their text in about n / (group - 1) passes, counted as they are made (001-30, E001-13)."""

import math

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from allmlp.common.errors import UserError
from allmlp.studies.mixers.measures.tournament import GROUPS, TEXTS, passes, rounds, search, tournament_passes


@given(st.integers(1, 3000), st.integers(2, 130), st.integers(0, 2**32 - 1))
def test_the_best_text_wins_wherever_it_stands(n, group, seed):
    rng = np.random.default_rng(seed)
    strength = rng.permutation(n)
    texts = rng.permutation(n)
    found, taken = search(texts, group, lambda meetings: strength[meetings].argmax(axis=1))
    assert strength[found] == n - 1
    assert taken == passes(n, group) == sum(rounds(n, group))


@given(st.integers(2, 10**7), st.integers(2, 200))
def test_passes_are_n_over_group_less_one_and_a_round_more_at_most(n, group):
    """Each whole group takes group - 1 texts out; a round has at most one group that takes out fewer."""
    least = (n - 1) / (group - 1)
    assert math.ceil(least) <= passes(n, group) <= least + len(rounds(n, group))


def test_every_text_is_seen_in_the_first_round_or_waits():
    seen: list[np.ndarray] = []

    def first(meetings: np.ndarray) -> np.ndarray:
        seen.append(meetings)
        return np.zeros(len(meetings), np.int64)

    search(np.arange(10), 4, first)
    assert [meetings.tolist() for meetings in seen] == [[[0, 1, 2, 3], [4, 5, 6, 7], [8, 9, 8, 9]], [[0, 4, 8, 0]]]


def test_no_text_meets_only_itself():
    assert (rounds(5, 4), rounds(1, 4), rounds(4, 4), rounds(6, 5)) == ([1, 1], [], [1], [1, 1])


@pytest.mark.parametrize(("n", "group"), [(0, 4), (5, 1)])
def test_an_impossible_tournament_is_refused(n, group):
    with pytest.raises(UserError, match="needs a text, and two in a group"):
        passes(n, group)
    with pytest.raises(UserError, match="needs a text, and two in a group"):
        search(np.arange(n), group, lambda meetings: np.zeros(len(meetings), np.int64))


def test_the_measure_counts_what_the_formula_says():
    rows = tournament_passes()
    assert len(rows) == len(GROUPS) * len(TEXTS)
    of_32 = rows[rows["group"].eq(32)].set_index("texts")["passes"]
    # by hand: ceil(10^6 / 32) = 31250; ceil(31250 / 32) = 977 (of 18 in the last); 31 (of 17); 1
    assert of_32.to_dict() == {10**3: 33, 10**4: 324, 10**5: 3228, 10**6: 31250 + 977 + 31 + 1}
    largest = rows[rows["texts"].eq(10**6)]
    np.testing.assert_allclose(largest["passes_per_text_1"], largest["limit_1"], rtol=1e-3)
