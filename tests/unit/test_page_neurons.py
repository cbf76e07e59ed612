"""The neurons and the counts of memory that the page offers are the committed measurements."""

from typing import Any

import pandas as pd
import pytest

from allmlp.report import evidence, exhibits, selection
from allmlp.report.interactive import memory, neurons
from tests.conftest import PROJECT


def approx(values: list[float]) -> Any:
    return pytest.approx(values, rel=0, abs=10**-neurons.DECIMALS)


@pytest.fixture(autouse=True)
def _in_the_project(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.chdir(PROJECT)


def test_every_neuron_of_every_seed_has_its_measured_course() -> None:
    found = neurons.of("language", "energy_map", selection.read()["corpora"])
    sources = evidence.sources("language", exhibits.of("language", "figures")["energy_map"])
    assert [len(text["runs"]) for text in found["texts"]] == [
        at.table("energy_map")["seed"].nunique() for at in sources.values()
    ]
    for text, at in zip(found["texts"], sources.values(), strict=True):
        rows = at.table("energy_map").sort_values("neuron")
        for run in text["runs"]:
            for place, moment in enumerate(("start", "half", "end")):
                measured = rows[rows["seed"].eq(run["seed"]) & rows["moment"].eq(moment)]
                assert run["window"][place] == approx(measured["recent_energy_1"].tolist())
                assert run["constant"][place] == approx(measured["constant_energy_1"].tolist())
            assert set(run["maps"]) <= {str(neuron) for neuron in range(len(run["window"][0]))}
            assert all(len(one["weights"]) == text["context"] for one in run["maps"].values())
            assert run["keywords"]


def test_maps_and_keywords_are_by_neuron_and_random_vectors_are_left_out() -> None:
    rows = pd.DataFrame({"neuron": [7, 7], "class": "n-gram", "position": [1, 0], "weights": ["3 4", "1 -2"]})
    assert neurons.maps(rows) == {"7": {"class": "n-gram", "weights": [[1, -2], [3, 4]]}}
    said = {"nearness": "dot", "keywords": "a b", "completions": "", "coherence_1": [0.12345, float("nan")]}
    words = neurons.words(pd.DataFrame({"neuron": [7, -1], "class": ["n-gram", "random"], **said}))
    assert words == {
        "7": [{"class": "n-gram", "nearness": "dot", "keywords": "a b", "completions": "", "coherence": 0.123}]
    }
    assert neurons.maps(pd.DataFrame()) == neurons.words(pd.DataFrame()) == {}


def test_memory_is_of_the_figure_and_other_figures_have_none() -> None:
    found = memory.of("mixers", "memory")
    table = evidence.largest("mixers", exhibits.of("mixers", "figures")["memory"])
    assert table is not None
    assert {row["total_bytes"] for row in found["rows"]} == set(table.table("memory")["total_bytes"])
    assert memory.of("mixers", "recovery") == neurons.of("language", "loss", {}) == {}
