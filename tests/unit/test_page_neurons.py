"""The neurons and the counts of memory that the page offers are the committed measurements."""

from types import SimpleNamespace
from typing import Any

import pandas as pd
import pytest

from allmlp.judging import evidence, selection
from allmlp.spec import exhibits
from allmlp.studies.language import neuron_explorer
from allmlp.studies.mixers import memory_chart
from tests.unit.known_neurons import T, mapped

pytestmark = pytest.mark.usefixtures("in_project")


def approx(values: list[float]) -> Any:
    return pytest.approx(values, rel=0, abs=10**-neuron_explorer.DECIMALS)


def test_every_neuron_of_every_seed_has_its_measured_course() -> None:
    found = neuron_explorer.neurons(selection.read()["corpora"])
    sources = evidence.sources("language", exhibits.study_exhibits("language", "figures")["energy_map"])
    texts = [text for text in found["texts"] if not text["text"].endswith("over training")]
    assert [len(text["runs"]) for text in texts] == [
        at.table("energy_map")["seed"].nunique() for at in sources.values()
    ]
    for text, at in zip(texts, sources.values(), strict=True):
        rows = at.table("energy_map").sort_values("neuron")
        for run in text["runs"]:
            for place, moment in enumerate(("start", "half", "end")):
                measured = rows[rows["seed"].eq(run["seed"]) & rows["moment"].eq(moment)]
                assert run["window"][place] == approx(measured["recent_energy_1"].tolist())
                assert run["constant"][place] == approx(measured["constant_energy_1"].tolist())
            assert set(run["maps"]) <= {str(neuron) for neuron in range(len(run["window"][0]))}
            assert all(len(one["weights"][2]) == text["context"] for one in run["maps"].values())
            assert run["keywords"]


def test_maps_and_keywords_are_by_neuron_and_random_vectors_are_left_out() -> None:
    rows = pd.DataFrame({"neuron": [7, 7], "position": [1, 0], "weights": ["3 4", "1 -2"]})
    rows = rows.assign(moment="end", own_class="n-gram", largest_1=float("nan"))
    nothing = [None, None]
    assert neuron_explorer.maps(rows) == {
        "7": {"class": "n-gram", "weights": [*nothing, [[1, -2], [3, 4]]], "largest": [*nothing, None]}
    }
    said = {"nearness": "dot", "keywords": "a b", "completions": "", "coherence_1": [0.12345, float("nan")]}
    words = neuron_explorer.words(pd.DataFrame({"neuron": [7, -1], "class": ["n-gram", "random"], **said}))
    assert words == {
        "7": [{"class": "n-gram", "nearness": "dot", "keywords": "a b", "completions": "", "coherence": 0.123}]
    }
    assert neuron_explorer.maps(pd.DataFrame()) == neuron_explorer.words(pd.DataFrame()) == {}


def test_a_text_over_training_has_the_neurons_of_weight_maps_alone_with_maps_of_all_moments() -> None:
    rows = mapped()
    at: Any = SimpleNamespace(table=lambda measure: rows, corpora=lambda measures: [], scale="laptop")
    text = neuron_explorer.training_maps(at, {})
    (run,) = text["runs"]
    shown = [*range(6), *range(8, 20)]
    assert text["text"].endswith("laptop, over training")
    assert (text["context"], text["steps"]) == (T, [0, 0, 0])
    assert set(run["maps"]) == set(map(str, shown))
    assert [neuron for neuron, share in enumerate(run["window"][1]) if share is not None] == shown
    assert run["maps"]["13"]["class"] == "other"
    for place, moment in enumerate(("start", "half", "end")):
        first = rows[rows["neuron"].eq(3) & rows["moment"].eq(moment)].iloc[0]
        assert run["maps"]["3"]["weights"][place][0] == [int(word) for word in first["weights"].split()]
        assert run["maps"]["3"]["largest"][place] == 0.25
        assert (run["window"][place][3], run["constant"][place][3]) == (0.5, 0.125)
    assert set(run["keywords"]) == {str(neuron) for neuron in (*range(6), *range(8, 14))}
    assert run["keywords"]["8"][0]["class"] == "bag-of-words"
    assert run["keywords"]["8"][0]["coherence"] is None


def test_memory_is_that_of_the_figure() -> None:
    found = memory_chart.memory()
    table = evidence.largest_evidence("mixers", exhibits.study_exhibits("mixers", "figures")["memory"])
    assert table is not None
    assert {row["total_bytes"] for row in found["rows"]} == set(table.table("memory")["total_bytes"])
