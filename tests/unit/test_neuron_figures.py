"""Figures and tables of study 000's neurons: from rows that are known, the same bytes each time."""

import pandas as pd
import pytest

from allmlp.report.exhibits import Exhibit, of
from allmlp.studies.language import classification
from allmlp.studies.language.measures import (
    constructed_neurons,
)
from tests import exhibits
from tests.unit.known_neurons import LABELS, OF_NEURONS, SEEDS, as_claimed, ends, near, trained

FIGURES = ["class_shares_by_size", "coherence", "controls", "energy_map", "example_neurons", "l1_l2",
           "l1_l2_frequencies", "neuron_classes", "row_norms", "thresholds", "wear"]  # fmt: skip


@pytest.fixture(scope="module")
def tables() -> dict[str, pd.DataFrame]:
    """Every measurement that figures and tables of neurons are made from."""
    found = {
        module.__name__.rpartition(".")[2]: pd.concat(
            [module.measure(trained(seed)).assign(run=f"mlp-{seed}", seed=seed, **LABELS) for seed in SEEDS],
            ignore_index=True,
        )
        for module in OF_NEURONS
    }
    return {**found, "keywords": near(0.2, 0.1), "constructed_neurons": constructed_neurons.measure()}


def given(exhibit: Exhibit, tables: dict[str, pd.DataFrame]) -> dict[str, pd.DataFrame]:
    return ends(as_claimed) if "variation" in exhibit.parts else tables


@pytest.mark.parametrize("name", FIGURES)
def test_a_figure_has_the_same_bytes_each_time_is_small_and_can_be_of_one_seed(name, tables) -> None:
    figure = exhibits.figure("language", name)
    rows = given(figure, tables)
    first = exhibits.svg(figure, rows)
    assert first == exhibits.svg(figure, rows)
    assert len(first) < 300_000
    assert exhibits.svg(figure, {key: of[of["seed"] == 0] if "seed" in of else of for key, of in rows.items()})


def rows_of(name: str, tables: dict[str, pd.DataFrame]) -> pd.DataFrame:
    table = of("language", "tables")[name]
    return exhibits.shown(table, given(table, tables))


def test_tables_say_what_was_measured(tables) -> None:
    energies = rows_of("class_energies", tables).query("reading == 'relative'").set_index("class")
    assert list(energies.index) == list(classification.CLASSES)
    assert energies.loc["n-gram", "last_three_1"] == pytest.approx(1.0)
    words = rows_of("keywords", tables)
    assert words["class"].value_counts().to_dict() == {"bag-of-words": 6, "n-gram": 6, "random": 6}
    assert set(words.loc[words["class"] == "random", "in_class"]) == {""}
    readings = rows_of("constructed_neurons", tables)
    assert len(readings) == 12
    assert readings["worst_1"].is_monotonic_decreasing
    changed = rows_of("variations", tables)
    base = changed[(changed["corpus"] == "stories") & (changed["context"] == 15) & (changed["d_mlp"] == 512)]
    assert sorted(zip(base["weight_decay"], base["embedding_std"], strict=True)) == [
        (0.01, 0.02), (0.01, 1.0), (0.5, 0.02), (0.5, 1.0)
    ]  # fmt: skip
    assert (changed["seeds"] == len(SEEDS)).all()
