"""Tables of study 000's neurons, from rows that are known."""

import pytest

from allmlp.studies.language import classification
from tests import exhibits
from tests.unit.known_language import tables
from tests.unit.known_neurons import SEEDS


def test_tables_say_what_was_measured() -> None:
    measured = tables()
    energies = exhibits.table("language", "class_energies", measured).query("reading == 'relative'").set_index("class")
    assert list(energies.index) == list(classification.CLASSES)
    assert energies.loc["n-gram", "last_three_1"] == pytest.approx(1.0)
    words = exhibits.table("language", "keywords", measured)
    assert words["class"].value_counts().to_dict() == {"bag-of-words": 6, "n-gram": 6, "random": 6}
    assert set(words.loc[words["class"] == "random", "in_class"]) == {""}
    readings = exhibits.table("language", "constructed_neurons", measured)
    assert len(readings) == 12
    assert readings["worst_1"].is_monotonic_decreasing
    changed = exhibits.table("language", "variations", measured)
    base = changed[(changed["corpus"] == "stories") & (changed["context"] == 15) & (changed["d_mlp"] == 512)]
    assert sorted(zip(base["weight_decay"], base["embedding_std"], strict=True)) == [
        (0.01, 0.02), (0.01, 1.0), (0.5, 0.02), (0.5, 1.0)
    ]  # fmt: skip
    assert (changed["seeds"] == len(SEEDS)).all()
