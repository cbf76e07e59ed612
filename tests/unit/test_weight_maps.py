"""Weight maps over training: the weights by hand, neurons and words of the other measures, whose they are."""

from pathlib import Path

import numpy as np
import pandas as pd
import pytest

from allmlp.plan.plan import load_plan
from allmlp.studies.language.measures.energies import energy_map
from allmlp.studies.language.measures.weights import example_neurons, keywords, weight_maps
from tests.unit.known_neurons import small

KEPT = (0, 3, 4, 6)


@pytest.fixture(name="rows")
def _rows(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> pd.DataFrame:
    monkeypatch.chdir(tmp_path)
    return weight_maps(small(tmp_path, KEPT))


def test_weights_are_those_of_the_run_at_start_half_and_end(rows: pd.DataFrame, tmp_path: Path) -> None:
    assert rows.groupby("moment")["step"].unique().explode().to_dict() == {"start": 0, "half": 3, "end": 6}
    run = small(tmp_path, KEPT)
    for (moment, step, neuron), one in rows[rows["neuron"] >= 0].groupby(["moment", "step", "neuron"]):
        w_TD = run.weights(step)["first.weight"].double().numpy().reshape(-1, 7, 8)[neuron]
        one = one.drop_duplicates("position").sort_values("position")
        shown = np.array([text.split() for text in one["weights"]], dtype=float)
        assert one["largest_1"].unique().tolist() == [np.abs(w_TD).max()], moment
        np.testing.assert_allclose(shown / 1000 * np.abs(w_TD).max(), w_TD, rtol=0, atol=5.1e-4 * np.abs(w_TD).max())


def test_neurons_and_words_are_those_of_the_other_measures(rows: pd.DataFrame, tmp_path: Path) -> None:
    run, end = small(tmp_path, KEPT), rows[rows["moment"] == "end"]
    names = ["class", "rank", "neuron", "keywords", "completions"]
    clearest = end[end["shown"] != "example"].drop_duplicates(["class", "rank"])[names]
    words = keywords(run)
    expected = words[words["nearness"] == "dot"][names].sort_values(["class", "rank"])
    assert clearest.sort_values(["class", "rank"]).to_numpy().tolist() == expected.to_numpy().tolist()
    examples, same = example_neurons(run), ["class", "neuron", "position", "weights"]
    assert end[end["shown"] == "example"][same].to_numpy().tolist() == examples[same].to_numpy().tolist()
    own = examples.drop_duplicates("neuron").set_index("neuron")["class"]
    assert (end.drop_duplicates("neuron").set_index("neuron")["own_class"].loc[own.index] == own).all()


def test_energies_are_those_of_all_neurons(rows: pd.DataFrame, tmp_path: Path) -> None:
    shares, keys = ["recent_energy_1", "constant_energy_1"], ["moment", "neuron"]
    expected = energy_map(small(tmp_path, KEPT)).set_index(keys)[shares]
    found = rows[rows["neuron"] >= 0].drop_duplicates(keys).set_index(keys)[shares]
    assert len(found) > 12
    pd.testing.assert_frame_equal(found, expected.loc[found.index])


def test_random_vectors_are_shown_once_and_sum_to_one(rows: pd.DataFrame) -> None:
    random = rows[rows["shown"] == "random"]
    assert random["moment"].eq("end").all()
    assert len(random) == 6
    for _, one in random.iterrows():
        vector_D = np.array(one["weights"].split(), dtype=float) / 1000 * one["largest_1"]
        assert vector_D.sum() == pytest.approx(1, abs=8 * 5e-4 * one["largest_1"])


@pytest.mark.usefixtures("published")
def test_they_are_measured_where_it_is_declared_and_change_no_run(tmp_path: Path) -> None:
    def planned(mapped: int) -> list[tuple[str, bool]]:
        file = tmp_path / "mapped.yaml"
        file.write_text(f"studies: {{language: {{mapped: {mapped}}}}}\n", encoding="utf-8")
        plan = load_plan([file])
        return [(run.id, "weight_maps" in run.measures) for run in plan.runs if run.labels.get("part") == "neurons"]

    one, none = planned(1), planned(0)
    assert [run for run, _ in one] == [run for run, _ in none]
    assert [there for _, there in one] == [True] + [False] * (len(one) - 1)
    assert not any(there for _, there in none)
