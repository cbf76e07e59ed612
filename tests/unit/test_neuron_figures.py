"""Figures of neurons: shares that are 0 everywhere have no panel, and are named."""

import numpy as np
import pandas as pd
import pytest

from allmlp.studies.language.classification import BAG_OF_WORDS, N_GRAM, share_column
from tests import exhibits
from tests.unit import known_language


@pytest.fixture(scope="module")
def measured():
    return known_language.tables()


@pytest.mark.parametrize("name", ["controls", "wear"])
def test_a_class_without_a_neuron_has_no_panel_and_is_named(name, measured):
    figure, column = exhibits.figure("language", name), share_column(BAG_OF_WORDS)
    rows = measured["neuron_classes"]
    some = exhibits.make_exhibit(figure, {**measured, "neuron_classes": rows.assign(**{column: 0.1})})
    none = exhibits.make_exhibit(figure, {**measured, "neuron_classes": rows.assign(**{column: 0.0})})
    assert [axis.get_title(loc="left") for axis in some.axes if axis not in none.axes][1] == "bag-of-words neurons"
    assert len(none.axes) == len(some.axes) - 1
    assert (some.get_suptitle(), none.get_suptitle()) == ("", "0 in all runs, not drawn: bag-of-words neurons.")


def test_a_threshold_that_no_neuron_meets_has_no_panel_and_is_named(measured):
    figure, rows = exhibits.figure("language", "thresholds"), measured["thresholds"]
    n_gram, bag = share_column(N_GRAM), share_column(BAG_OF_WORDS)
    changed = rows.assign(**{n_gram: 0.5, bag: 0.5})
    changed.loc[changed["reading"].eq("paper") & changed["threshold"].eq("low"), n_gram] = 0.0
    shown = exhibits.make_exhibit(figure, {"thresholds": changed})
    panels = [axis for axis in shown.axes if axis.has_data()]
    assert len(panels) == 7
    assert shown.get_suptitle() == "No neuron meets the criterion at any value of: norm of a low row (raw norms)."
    assert len(pd.unique(rows["reading"])) == 2


def test_neurons_with_keywords_are_pictured_over_their_words(measured):
    shown = exhibits.make_exhibit(exhibits.figure("language", "keyword_neurons"), measured)
    rows = measured["weight_maps"]
    first = rows[(rows["seed"] == rows["seed"].min()) & (rows["moment"] == "end")]
    assert len(shown.axes) == 18
    panels = {axis.get_title(loc="left"): axis for axis in shown.axes[:12]}
    assert list(panels)[:6] == [*(f"neuron {n}" for n in range(8, 12)), "neuron 12\nis other", "neuron 13\nis other"]
    weights = first[(first["neuron"] == 2)].sort_values("position")["weights"]
    by_hand = np.array([text.split() for text in weights], dtype=float).T
    np.testing.assert_allclose(panels["neuron 2"].images[0].get_array(), by_hand)
    assert panels["neuron 8"].get_xlabel().split("\n")[0] == "▁b0a  ▁b0b"
    assert len(panels["neuron 8"].get_xlabel().split()) == 10
    assert panels["neuron 2"].get_xlabel().split("\n")[0::4] == ["▁n2a → $a", "▁n2e → ▁everyt…"]
    assert {axis.images[0].get_array().shape for axis in shown.axes[12:]} == {(16, 1)}
