"""Study 004's tables, made of made-up measurements."""

from allmlp.spec.exhibits import study_exhibits
from tests import exhibits
from tests.unit.known_triangular import EARLY, SEEDS, tables


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
