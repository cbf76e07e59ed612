"""The learning rates behind a verdict: the choice of each search, its neighbours, and whether the grid went far enough.

A claim names the models that it compares, part by part (`compares` of claims.yaml). A verdict that rests on a rate at
an edge of its search is withheld: a better rate may lie outside, for one model and not for the other.
"""

import math
from collections.abc import Mapping, Sequence
from typing import Any, NamedTuple

from allmlp.judging import needs
from allmlp.judging.evidence import SEARCH, Evidence
from allmlp.judging.statistics import NOT_TESTABLE, RESTS_ON
from allmlp.measurements import search_losses, store
from allmlp.spec import search_rules
from allmlp.spec.run import Run

COLUMNS = ("learning_rate", "learning_rate_1")  # of a measure: the rate that a run was trained with
WITHHELD = tuple(RESTS_ON)  # verdicts
MOST_SHOWN = 8  # searches in one sentence; of more, only those at an edge


class RateSearch(NamedTuple):
    """A search: its rates in rising order, the mean result at each (None: not measured), steps, seeds, the chosen rate
    (None: not known), whether it is at an edge, and the unit of the results."""

    rates: list[float]
    results: list[float | None]
    steps: int
    seeds: int
    chosen: float | None
    edge: bool
    unit: str

    def text(self, model: str) -> str:
        """`flat: 0.0043 (1.72; 1.75 at 0.0024, 1.74 at 0.0077)`, and the grid where the rate is at its edge."""
        if self.chosen is None:
            return f"{model}: not known"
        place = self.rates.index(self.chosen)
        edge = f", at an edge of {self.rates[0]:g} to {self.rates[-1]:g}" if self.edge else ""
        if self.results[place] is None:
            return f"{model}: {self.chosen:g} (the losses of its search were not kept{edge})"
        beside = [n for n in (place - 1, place + 1) if 0 <= n < len(self.rates)]
        around = ", ".join(f"{_result_text(self.results[n])} at {self.rates[n]:g}" for n in beside)
        return f"{model}: {self.chosen:g} ({_result_text(self.results[place])}; {around}{edge})"


def _result_text(value: float | None) -> str:
    return "not measured" if value is None else "diverged" if math.isinf(value) else f"{value:.3g}"


# --- from the plan and the store, for results/selected.json


def pack_searches(runs: Sequence[Run]) -> dict[str, Any]:
    """`searches`, as lists, and `searched`: place of a run in `runs` -> place of its search."""
    tuples = list(dict.fromkeys(run.search for run in runs if run.search))
    place = {search: number for number, search in enumerate(tuples)}
    searching: dict[tuple[str, ...], list[Run]] = {}
    for run in runs:
        if run.search:
            searching.setdefault(run.search, []).append(run)
    return {
        "searches": [_round_results(_shared_search(searching[search])) for search in tuples],
        "searched": {str(number): place[run.search] for number, run in enumerate(runs) if run.search},
    }


def _shared_search(runs: Sequence[Run]) -> RateSearch:
    """The search that these runs share."""
    run = runs[0]
    found: dict[float, list[tuple[float, ...] | None]] = {}
    for one in run.search:
        relative = run.relatives[one]
        rate = relative.optimiser["learning_rate"]
        found.setdefault(rate, []).append(search_losses.search_numbers(relative, run.criterion))
    measured = {rate: [one for one in of_rate if one is not None] for rate, of_rate in found.items()}
    complete = all(len(measured[rate]) == len(found[rate]) for rate in found)
    of_runs = {rate: of_rate for rate, of_rate in measured.items() if of_rate}
    values = search_rules.decisive_values(of_runs) if of_runs else {}
    rates, means = sorted(found), {rate: sum(of_rate) / len(of_rate) for rate, of_rate in values.items()}
    results = [means.get(rate) for rate in rates]
    first = run.relatives[run.search[0]]
    seeds = len({run.relatives[one].seed for one in run.search})
    unit = search_rules.CRITERIA[run.criterion or "held_out_nats"]
    if run.criterion and complete:
        rate, edge = search_rules.choose(values)
    else:
        used = next((rate for one in runs if (rate := _training_rate(one)) is not None), None)
        best = search_rules.lowest_mean(values).rate if complete else None
        rate = used if used is not None else best
        edge = rate in (rates[0], rates[-1])
    return RateSearch(rates, results, first.steps, seeds, rate, edge, unit)


def _training_rate(run: Run) -> float | None:
    """The rate that one of a run's measurements names; None without one."""
    for measure in run.measures:
        stored, key = store.read_measure(run.study, measure), (run.id, run.recipe(measure))
        if key in stored.places:
            rows = stored.rows(key)
            for column in COLUMNS:
                if column in rows.column_names and rows.num_rows:
                    return float(rows[column][0].as_py())
    return None


def _round_results(searched: RateSearch) -> list[Any]:
    results = [None if one is None else "inf" if math.isinf(one) else float(f"{one:.5g}") for one in searched.results]
    return list(searched._replace(results=results))  # type: ignore[arg-type]


# --- for a claim


def study_searches(found: Evidence) -> dict[str, RateSearch]:
    """run -> its search, for the runs of a study at one scale."""
    content, ids = found.content, list(found.content["runs"])
    of = [
        RateSearch(rates, [None if x is None else float(x) for x in results], *rest)
        for rates, results, *rest in content.get("searches", ())
    ]
    return {ids[int(number)]: of[place] for number, place in content.get("searched", {}).items()}


def claim_searches(claim: Mapping[str, Any], found: Evidence) -> dict[str, dict[str, RateSearch]]:
    """Letter of a part ("" for all) -> name of a model -> the search of its judged runs.

    The name is the claim's own, with the labels in which several searches of one name differ.
    """
    searched = study_searches(found)
    runs = dict.fromkeys(
        run for measure in claim["measures"] for run in found.measured_runs(measure) if run in searched
    )
    labels = {run: {k: str(v) for k, v in found.content["runs"][run]["labels"].items()} for run in runs}
    return {
        letter: {name: one for model in models for name, one in _model_searches(model, labels, searched).items()}
        for letter, models in compared_models(claim).items()
    }


def compared_models(claim: Mapping[str, Any]) -> dict[str, list[str]]:
    """Letter of a part ("" for all) -> the models that it compares."""
    asked = claim.get("compares") or {}
    return asked if isinstance(asked, dict) else {"": asked}


def _model_searches(
    model: str, labels: Mapping[str, dict[str, str]], searched: Mapping[str, RateSearch]
) -> dict[str, RateSearch]:
    of = [run for run, words in labels.items() if is_of_model(model, words)]
    of = list({id(searched[run]): run for run in of}.values())  # one run a search
    differing = [key for key in (labels[of[0]] if of else ()) if len({labels[run].get(key) for run in of}) > 1]
    words = {run: " ".join([model, *(labels[run].get(key, "") for key in differing)]) for run in of}
    return {words[run]: searched[run] for run in of}


def is_of_model(model: str, labels: Mapping[str, Any]) -> bool:
    """Are these the labels of a run of a model that `compares` names by some of them, such as `flat base`?"""
    return set(model.split()) <= {*map(str, labels.values())} - {SEARCH}


def unsearched_rates(claim: Mapping[str, Any], found: Evidence) -> dict[str, dict[str, list[float]]]:
    """Letter of a part ("" for all) -> name of a model -> the rates of its judged trainings that no search chose."""
    trained = {run: found.content["runs"][run] for run in found.trainings(claim["measures"])}
    given = [about for about in trained.values() if about.get("learning_rate")]
    of_parts = {
        letter: {
            model: sorted({about["learning_rate"] for about in given if is_of_model(model, about["labels"])})
            for model in models
        }
        for letter, models in compared_models(claim).items()
    }
    return {letter: {model: of for model, of in models.items() if of} for letter, models in of_parts.items()}


def _unsearched_text(of_models: Mapping[str, Sequence[float]]) -> str:
    """`learning rate, not searched: 0.002 for all`; empty without such rates."""
    listed = {model: " and ".join(f"{rate:g}" for rate in of) for model, of in of_models.items()}
    if not listed:
        return ""
    (first, *others) = dict.fromkeys(listed.values())
    said = ", ".join(f"{model} {of}" for model, of in listed.items()) if others else f"{first} for all"
    return f"; learning rate, not searched: {said}"


def withhold(result: dict[str, Any], claim: Mapping[str, Any], found: Evidence) -> dict[str, Any]:
    """A claim's entry with the rates behind each part in its text, undecided where one is at an edge of its search."""
    of_parts, given = claim_searches(claim, found), unsearched_rates(claim, found)

    def change(of: dict[str, Any], name: str) -> needs.Change:
        letter = needs.letter(name)
        own = letter if letter in of_parts else ""
        said = {**of, "text": of["text"] + _unsearched_text(given.get(own, {}))}
        return _change(said, of_parts.get(own, {}))

    return needs.apply_check(result, change)


def _change(of: dict[str, Any], searched: dict[str, RateSearch]) -> needs.Change:
    """Of a part, or of a claim without parts."""
    if not searched:
        return needs.Change(of["text"])
    edges = {model: one for model, one in searched.items() if one.edge or one.chosen is None}
    shown = searched if len(searched) <= MOST_SHOWN else edges
    listed = "; ".join(one.text(model) for model, one in shown.items())
    count = f"{len(searched)} searches, {len(edges)} at an edge" if len(searched) > MOST_SHOWN else ""
    unit = next(iter(searched.values())).unit
    rates = f"learning rates, with {unit} of their searches: {': '.join(filter(None, [count, listed]))}"
    text = f"{of['text']}; {rates}"
    if not edges or of["verdict"] == NOT_TESTABLE:
        return needs.Change(text)
    reason = f"the learning rate is at an edge of its search, or not known ({', '.join(edges)})"
    return needs.Change(text, reason, withheld=of["verdict"] in WITHHELD)
