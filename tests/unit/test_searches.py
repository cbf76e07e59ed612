"""The choice among the rates of a search: ties, edges, divergence, and how a run's number is found."""

import math
from dataclasses import replace
from pathlib import Path

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from allmlp.spec.search_rules import Choice, choose, decisive_values, lowest_mean
from allmlp.studies.copying.measures import strings as measures
from allmlp.studies.copying.runs import strings
from allmlp.training.checkpoint import produce
from allmlp.training.inputs import choose_settings
from allmlp.training.published import TrainedRun
from tests import tiny
from tests.unit.test_string_search import SETTINGS

RATES = [1e-3, 2e-3, 4e-3, 8e-3, 1.6e-2]


def search(*rows: list[float]) -> Choice:
    return choose(dict(zip(RATES, rows, strict=False)))


def test_a_clear_best_rate_is_chosen() -> None:
    assert search([5, 5.1, 5], [4, 4.1, 4], [5, 5.2, 5.1]) == (2e-3, False)


def test_of_rates_that_tie_the_middle_one_is_chosen() -> None:
    tied = [[4.0, 4.2, 4.1], [4.1, 4.1, 4.05], [4.05, 4.15, 4.1]]
    assert search([9, 9, 9], *tied, [9, 9, 9]) == (4e-3, False)
    assert search([9, 9, 9], *tied[:2], [9, 9, 9]) == (2e-3, False), "of an even number the lower one"


def test_a_rate_that_is_worse_in_every_seed_does_not_tie() -> None:
    assert search([9, 9, 9], [4, 5, 6], [4.1, 5.1, 6.12], [9, 9, 9]) == (2e-3, False)


def test_a_rate_beyond_a_gap_does_not_tie() -> None:
    assert search([9, 9, 9], [4, 4.1, 4.2], [7, 7, 7], [4.25, 4.0, 4.1], [9, 9, 9]).rate == 2e-3


@pytest.mark.parametrize("losses", [[1, 2, 3], [3, 2, 1]])
def test_a_best_rate_at_an_end_of_the_grid_is_an_edge(losses: list[float]) -> None:
    assert search(*([x, x + 0.1, x] for x in losses)).edge


def test_no_rate_beside_a_diverged_one_is_chosen() -> None:
    assert search([9, 9, 9], [5, 5, 5], [4, 4, 4], [math.inf, 4, 4]) == (2e-3, False), "below the tie, if need be"
    tied = [[4.0, 4.2, 4.1], [4.1, 4.1, 4.05], [4.05, 4.15, 4.1]]
    assert search([9, 9, 9], *tied, [9, math.inf, 9]).rate == 2e-3, "of 2e-3, 4e-3 and 8e-3 the last is beside it"


def test_the_first_number_that_differs_decides() -> None:
    never = 11.0  # log2 of a budget that no run needed less than
    assert decisive_values({1e-3: [(never, 5.0)], 2e-3: [(never, 4.0)]}) == {1e-3: [5.0], 2e-3: [4.0]}
    assert decisive_values({1e-3: [(never, 5.0)], 2e-3: [(10.0, 6.0)]}) == {1e-3: [never], 2e-3: [10.0]}
    lost = {1e-3: [(math.inf, math.inf)], 2e-3: [(never, 4.0)], 4e-3: [(never, 3.0)]}
    assert decisive_values(lost) == {1e-3: [math.inf], 2e-3: [4.0], 4e-3: [3.0]}
    assert decisive_values({1e-3: [(never, 5.0)], 2e-3: [(never, 5.0)]}) == {1e-3: [never], 2e-3: [never]}


def test_without_a_criterion_the_lowest_mean_is_chosen_and_of_equal_ones_the_lowest_rate() -> None:
    assert lowest_mean({4e-3: [4.0, 4.2], 2e-3: [4.1, 4.1], 1e-3: [5, 5]}) == (2e-3, False)
    assert lowest_mean({1e-3: [5, 5], 2e-3: [3.0, math.inf]}) == (1e-3, True), "a rate with a diverged run comes last"


def test_seeds_must_be_the_same_at_each_rate() -> None:
    with pytest.raises(ValueError, match="the same seeds"):
        search([1, 2, 3], [1, 2])


@given(st.lists(st.lists(st.floats(0, 9), min_size=3, max_size=3), min_size=1, max_size=5))
def test_the_choice_is_a_rate_that_was_tried_and_ties_with_the_best(rows: list[list[float]]) -> None:
    found = search(*rows)
    difference = np.array(rows[RATES.index(found.rate)]) - rows[int(np.argmin([np.mean(row) for row in rows]))]
    assert difference.mean() <= difference.std(ddof=1) / math.sqrt(3) + 1e-9


BY_ITERATIONS = {**SETTINGS["search"], "seeds": [7, 8, 9], "criterion": "iterations_to_99"}


def test_the_runs_of_a_search_by_iterations_end_where_they_arrive_and_are_measured() -> None:
    settings = strings.StringSettings(**{**SETTINGS, "search": BY_ITERATIONS})
    runs = strings.runs(settings, type("Context", (), {"device": "cpu"})())
    searched = {run.id: run for run in runs if run.labels["part"] == "search"}
    assert all(run.until == 0.99 and "falls" in run.measures and not run.search for run in searched.values())
    for run in runs:
        if run.id not in searched:
            assert (run.criterion, run.until) == ("iterations_to_99", None)
            assert {searched[one].labels["variant"] for one in run.search} == {run.labels["variant"]}
            assert len(run.search) == 6
    assert len(searched) == len([run for run in runs if run.labels["part"] == "search"]), "no run is planned twice"


def test_a_search_by_a_criterion_needs_three_seeds() -> None:
    with pytest.raises(ValueError, match="needs 3 seeds"):
        strings.StringSettings(**{**SETTINGS, "search": {**BY_ITERATIONS, "seeds": [8, 9]}})


def test_the_criterion_and_the_accuracy_are_part_of_the_id() -> None:
    run = tiny.run("transformer", search=("a",))
    assert len({run.id, replace(run, criterion="iterations_to_99").id, replace(run, until=0.99).id}) == 3


def test_a_run_ends_with_the_batch_that_arrives(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.chdir(tmp_path)
    whole = tiny.run("transformer", steps=12)
    produce(whole)
    accuracy = TrainedRun(whole).log["token_accuracy"]
    best = int(accuracy.idxmax())
    run = replace(whole, until=float(accuracy[best]))
    produce(run)
    log = TrainedRun(run).log
    assert TrainedRun(run).ending["steps_done"] == len(log) == best + 1
    assert log.equals(TrainedRun(whole).log[: best + 1])
    never = replace(whole, until=1.1)
    produce(never)
    assert len(TrainedRun(never).log) == 12


def test_a_search_by_iterations_prefers_the_rate_that_arrives_first(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.chdir(tmp_path)
    tried = [
        tiny.run("transformer", steps=10, seed=seed, until=level, optimiser={**tiny.OPTIMISER, "learning_rate": rate})
        for rate, level in ((1e-3, 1.1), (2e-3, 0.0), (4e-3, 1.1))
        for seed in (1, 2, 3)
    ]
    for one in tried:
        produce(one)
    run = tiny.run("transformer", criterion="iterations_to_99", search=tuple(one.id for one in tried))
    monkeypatch.setattr(measures, "first_step_at_level", lambda steps, _: None if len(steps) > 1 else 1)
    assert choose_settings(run, map(TrainedRun, tried)).learning_rate == 2e-3
    monkeypatch.setattr(measures, "first_step_at_level", lambda *_: None)
    monkeypatch.setattr(measures, "first_step_below", lambda steps, *_: None if len(steps) > 1 else 4)
    assert choose_settings(run, map(TrainedRun, tried)).learning_rate == 2e-3, (
        "no run arrives: the plateau is left first there"
    )
