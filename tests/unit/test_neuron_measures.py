"""The measures of study 000's neurons: on neurons of known classes, on a small model, the same twice."""

from collections.abc import Iterable
from pathlib import Path

import numpy as np
import pandas as pd
import pytest
import torch

from allmlp.studies.language import classification
from allmlp.studies.language.measures import energies
from allmlp.studies.language.measures.classes import VARIED, constructed_neurons, neuron_classes, thresholds
from allmlp.studies.language.measures.energies import (
    Energies,
    class_energies,
    energy_map,
    explained_energy,
    l1_l2,
    row_norms,
)
from allmlp.studies.language.measures.weights import (
    CLEAREST,
    TokenFile,
    clearest_neurons,
    example_neurons,
    format_tokens,
    keywords,
)
from tests.judging import judged
from tests.unit.known_neurons import KEPT, OF_NEURONS, STEPS, TOKENS, T, end_of_training, small, trained


@pytest.mark.parametrize("measure", OF_NEURONS, ids=lambda measure: measure.name)
def test_a_measure_gives_the_same_twice(measure) -> None:
    rows = measure(trained())
    pd.testing.assert_frame_equal(rows, measure(trained()))


def test_all_measures_of_a_run_read_each_checkpoint_once_for_classes() -> None:
    run = trained()
    for measure in OF_NEURONS:
        measure(run)
    assert sorted(run.reads) == sorted([*KEPT, STEPS, STEPS])  # the examples show weights: read again


def test_another_run_is_not_taken_for_the_last_one() -> None:
    first, second = (l1_l2(trained(seed)) for seed in (0, 1))
    assert not first["ratio_1"].equals(second["ratio_1"])
    assert first["ratio_1"].equals(l1_l2(trained(0))["ratio_1"])


def test_classes_and_energies_of_neurons_that_are_known() -> None:
    rows = neuron_classes(trained())
    last = rows[(rows["step"] == STEPS) & (rows["reading"] == "relative")].iloc[0]
    assert last[["n_gram_share_1", "bag_of_words_share_1", "dct_sparse_share_1"]].tolist() == [0.4, 0.2, 0.2]
    of_class = class_energies(trained())
    of_class = of_class[(of_class["moment"] == "end") & (of_class["reading"] == "relative")].set_index("class")
    assert of_class["neurons"].to_dict() == {"n-gram": 8, "bag-of-words": 4, "hybrid": 0, "dct-sparse": 4, "other": 4}
    assert of_class.loc["n-gram", "recent_energy_1"] == pytest.approx(1.0)
    assert of_class.loc["bag-of-words", "constant_energy_1"] > 0.98
    assert of_class.loc["dct-sparse", "low_energy_1"] == pytest.approx(1.0)
    assert np.isnan(of_class.loc["hybrid", "recent_energy_1"])


def test_the_map_puts_neurons_where_their_energy_is() -> None:
    rows = energy_map(trained())
    end = rows[rows["moment"] == "end"]
    assert (end["recent_energy_1"].iloc[:8] == 1).all()
    assert (end["large_rows"].iloc[:8] == 2).all()
    np.testing.assert_allclose(end[["recent_energy_1", "constant_energy_1"]].iloc[8:12].sum(axis=1), 1, atol=0.02)
    start = rows[rows["moment"] == "start"]
    assert start["recent_energy_1"].mean() == pytest.approx(3 / T, abs=0.03)
    curves = explained_energy(trained())
    assert (curves[curves["window_rows"] == T - 1]["explained_1"] > 1 - 1e-12).all()
    medians = curves[(curves["moment"] == "start") & (curves["quantile_1"] == 0.5)]
    np.testing.assert_allclose(medians["explained_1"], medians["by_chance_1"], atol=0.05)


def test_the_curves_of_thresholds_go_through_the_printed_values() -> None:
    rows, classes = thresholds(trained()), neuron_classes(trained())
    last = classes[classes["step"] == STEPS].set_index("reading")
    printed = rows[np.isclose(rows["value_1"], rows["printed_1"])]
    assert set(printed["threshold"]) == set(VARIED)
    for reading in ("paper", "relative"):
        at = printed[printed["reading"] == reading]
        assert (at["n_gram_share_1"] == last.loc[reading, "n_gram_share_1"]).all()
    factor = rows[(rows["threshold"] == "variance") & (rows["reading"] == "relative")]
    assert factor["bag_of_words_share_1"].is_monotonic_increasing
    assert factor["bag_of_words_share_1"].iloc[[0, -1]].tolist() == [0.2, 1.0]  # from equal rows to all


def test_row_norms_are_sorted_by_the_number_of_large_rows_and_keep_their_energy() -> None:
    rows = row_norms(trained())
    assert rows["step"].unique().tolist() == [0, 1, 10, 95, 200]
    end = rows[rows["step"] == STEPS]
    large = end[(end["basis"] == "time") & (end["row"] == 0)].sort_values("column")["large_rows"]
    assert large.is_monotonic_increasing
    assert large.iloc[0] == 2
    energies = (end.assign(energy=end["norm_1"] ** 2)).groupby(["basis", "column"])["energy"].sum().unstack(0)
    np.testing.assert_allclose(energies["time"], energies["frequency"], rtol=0.02)  # three digits are kept


def test_many_neurons_share_the_places_of_the_picture(monkeypatch) -> None:
    monkeypatch.setattr(energies, "COLUMNS_DRAWN", 4)
    assert row_norms(trained())["column"].max() == 3


def test_examples_are_of_their_class_and_as_many_as_there_are() -> None:
    rows, end = example_neurons(trained()), end_of_training(0).astype(np.float32)
    classes = classification.classify(end, classification.RELATIVE)
    assert set(rows["class"]) == {"n-gram", "bag-of-words", "dct-sparse", "other"}
    for (name, neuron), of_neuron in rows.groupby(["class", "neuron"]):
        assert classes[neuron] == name
        shown = np.array([text.split() for text in of_neuron.sort_values("position")["weights"]], dtype=float)
        np.testing.assert_allclose(shown / 1000, end[neuron] / np.abs(end[neuron]).max(), atol=5e-4)
    assert rows.groupby("class")["neuron"].nunique().eq(2).all()


def test_keywords_are_near_their_neuron_and_completions_are_the_models(tmp_path, monkeypatch) -> None:
    monkeypatch.chdir(tmp_path)
    model_run = small(tmp_path)
    rows = keywords(model_run)
    assert len(rows) == 3 * 3 * CLEAREST
    assert rows["coherence_1"].dropna().between(-1, 1).all()
    model, row = model_run.model(), rows[(rows["class"] == "n-gram") & (rows["nearness"] == "dot")].iloc[0]
    w = model.first.weight.detach().double().numpy().reshape(8, 7, 8)[row["neuron"]]
    loudest = w[np.linalg.norm(w, axis=1).argmax()]
    first = int(np.argmax(model.embedding.weight.detach().double().numpy() @ loudest))
    with torch.no_grad():
        x = torch.zeros(1, 7, 8)
        x[0, -1] = model.embedding.weight[first]
        after = int(model.from_embeddings(x).argmax())
    shown = {token: format_tokens(TokenFile(Path("results/tokens") / TOKENS), [token]) for token in (first, after)}
    assert row["keywords"].split(" ")[0] == shown[first]
    assert row["completions"].split(" ")[0] == shown[after]


def test_the_clearest_neurons_are_of_the_class_first() -> None:
    found = clearest_neurons(Energies(*_gram(end_of_training(0))), classification.RELATIVE)
    assert set(found["n-gram"]) <= set(range(8))
    assert set(found["bag-of-words"][:4]) == {8, 9, 10, 11}


def _gram(w: np.ndarray) -> tuple[np.ndarray, int]:
    return w @ w.transpose(0, 2, 1), w.shape[2]


def test_one_reading_sorts_constructed_neurons_at_every_width() -> None:
    rows = constructed_neurons()
    relative = rows[(rows["rows"] == "max-row") & (rows["slices"] == "rms-row") & (rows["variance"] == "scaled")]
    assert (relative["right_share_1"] >= 0.95).all()
    assert judged("000-19", constructed_neurons=rows).verdict == "reproduced"
    wrong = rows.assign(right_share_1=rows["right_share_1"].where(rows["kind"] != "2 recent", 0.94))
    assert judged("000-19", constructed_neurons=wrong).verdict == "contradicted"


def columns(modules: Iterable) -> set[str]:
    return {name for measure in modules for name in measure.columns}


def test_no_measure_keeps_weights_of_all_neurons() -> None:
    """Results are in git: a picture needs thousands of numbers, not the layer's millions."""
    for measure in OF_NEURONS:
        assert len(measure(trained())) < 5000, measure.name
    assert not any("weight" in name for name in columns(set(OF_NEURONS) - {example_neurons}))
