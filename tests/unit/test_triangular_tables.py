"""Study 004's tables, made of made-up measurements."""

import numpy as np
import pandas as pd

from allmlp.spec.exhibits import study_exhibits
from allmlp.studies.triangular.parts import search_table
from tests import exhibits
from tests.unit.known_triangular import EARLY, SEEDS, searched, tables


def test_tables_say_what_was_measured() -> None:
    found = {
        name: exhibits.make_exhibit(exhibit, tables())
        for name, exhibit in study_exhibits("triangular", "tables").items()
    }
    assert found["parameter_counts"]["parameters"].iloc[0] == 36_297_036
    assert len(found["variants"]) == len(EARLY)
    assert found["milestones"].set_index("step").loc[1000, "paper_says"] == "meaningful words"
    shown = found["samples"].set_index("part")
    assert shown.loc["fine-tuning", "written"] == "To ⟦be, or⟧ not"
    assert shown.loc["fine-tuning", "samples"] == 2 * len(SEEDS)
    assert shown.loc["the paper's Figure 6", "samples"] == 1
    assert found["learning_rates"]["chosen"].tolist() == [4e-3, 4e-3]
    assert found["learning_rates"]["edge"].tolist() == ["highest", "highest"]
    assert sorted(found["learning_rates"]["begins"]) == ["fresh", "pre-trained"]


def test_the_search_of_several_seeds_has_their_mean_and_none_where_one_diverged() -> None:
    seeds = [searched("gelu").assign(seed=seed) for seed in (100, 101, 102)]
    seeds[0].loc[seeds[0]["learning_rate"].eq(1e-3), "validation_nats"] += 0.3
    found = search_table(pd.concat(seeds, ignore_index=True))
    np.testing.assert_allclose(found["rate 0.001"], seeds[1]["validation_nats"].iloc[0] + 0.1)
    assert found["rate 0.003"].isna().all()
    assert (found["chosen"].tolist(), found["edge"].tolist()) == ([4e-3] * 2, ["highest"] * 2)


def test_an_edge_is_that_of_the_variants_own_grid() -> None:
    alone, widened = searched("reshape"), searched("gelu")
    alone.loc[alone["learning_rate"].eq(1e-3), "validation_nats"] = 0.1
    lower = widened[widened["learning_rate"].eq(1e-3)].assign(learning_rate=5e-4)
    found = search_table(pd.concat([alone, widened, lower], ignore_index=True)).set_index("variant")
    assert set(found.loc["reshape", "chosen"]) == {1e-3}
    assert set(found.loc["reshape", "edge"]) == {"lowest"}
