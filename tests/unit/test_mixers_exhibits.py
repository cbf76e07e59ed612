"""Figures and tables of study 001's trainings on made-up measurements: stable, and empty where nothing compares."""

import numpy as np
import pandas as pd
import pytest

from allmlp.judging.rules import NotPlannedError
from allmlp.spec import catalogue
from allmlp.spec.exhibits import study_exhibits
from allmlp.studies.mixers import budgets
from allmlp.studies.mixers.figures.trainings import MARGIN
from allmlp.studies.mixers.parts import search_rows
from tests import exhibits
from tests.unit.made_up_curves import curve, leaks, table


def cost() -> pd.DataFrame:
    rows = [
        {"variant": variant, "model": architecture, "size": "base", "padding": "right", "text": "documents",
         "part": "search",
         "run": f"{variant}-{rate}", "seed": 100, "learning_rate": rate, "steps_done": 150, "diverged": rate > 0.02,
         "validation_nats": 3 + abs(np.log(rate / best))}
        for variant, architecture, best in (("flat", "masked-mixer", 0.012), ("llama-4", "llama", 0.0015))
        for rate in (0.0015, 0.003, 0.006, 0.012, 0.024)
    ]  # fmt: skip
    return pd.DataFrame(rows)


@pytest.fixture(scope="module")
def tables() -> dict[str, pd.DataFrame]:
    left, dear = {"padding": "left"}, {"seconds": 0.02, "flops": 2000}
    curves = table(
        curve("flat", 2.0, steps=800), curve("flat", 2.0, **left), curve("expanded", 2.1), curve("kernel-4", 2.0),
        curve("llama-4", 1.95, **dear), curve("gpt-4", 2.2), curve("hybrid-after", 1.95, **dear),
        curve("hybrid-as-published", 1.5, **left), curve("flat", 2.5, size="d16-n8-b16", d_model=16, n_blocks=8),
    )  # fmt: skip
    lost = pd.DataFrame(
        {"with_dropout_nats": [2.0, 2.1], "without_dropout_nats": 1.8, "validation_nats": 1.9, "variant": "gpt-4"}
    )
    return {"learning_curve": curves, "cost": cost(), "leak": leaks(), "dropout": lost.assign(run=["a", "b"])}


@pytest.mark.parametrize("name", ["learning_curves", "against_flat", "overfitting", "learning_rates", "crossing"])
def test_a_figure_has_the_same_bytes_each_time_is_small_and_can_be_of_one_seed(name, tables):
    figure = exhibits.figure("mixers", name)
    first = exhibits.svg(figure, tables)
    assert first == exhibits.svg(figure, tables)
    assert len(first) < 300_000
    assert exhibits.svg(figure, {**tables, "learning_curve": tables["learning_curve"].query("seed == 0")})


def test_the_figures_margin_is_the_claims():
    figure = exhibits.figure("mixers", "against_flat")
    assert MARGIN in {
        row["margin"].get("loss_nats") for row in catalogue.ledger("mixers") if row["id"] in figure.claims
    }
    assert f"{MARGIN:g} nats" in figure.caption


def test_every_mean_is_on_the_axis_small_and_large_ones(tables):
    losses = {"llama-2": 1.5, "llama-4": 2.01, "gpt-4": 3.5}
    curves = table(curve("flat", 2.0), *(curve(*one) for one in losses.items()))
    shown = exhibits.make_exhibit(exhibits.figure("mixers", "against_flat"), {"learning_curve": curves})
    at_equal_steps = shown.axes[0]
    low, high = at_equal_steps.get_xlim()
    assert low < -0.5 < 1.5 < high
    assert len({axis.get_xlim() for axis in shown.axes}) == 1
    named = [label.get_text() for label in at_equal_steps.get_yticklabels()]
    assert named == ["Llama, 2 heads", "Llama, 4 heads", "early GPT, 4 heads"]


def test_the_table_has_three_columns_and_a_row_per_model(tables):
    found = exhibits.table("mixers", "budgets", tables).set_index("model")
    assert list(found.index[:2]) == ["flat mixer", "flat mixer, left"]
    llama = found.loc["Llama, 4 heads"]
    assert llama["at equal steps_nats"] < 0 < llama["at equal time_nats"]
    assert found.loc["Llama, 4 heads", "seconds_over_flat"] == pytest.approx(2)
    assert found.loc["hybrid as published, left", "steps_high"] < -0.4
    assert (found["steps_low"].dropna() <= found["steps_high"].dropna()).all()


def test_the_printed_losses_stand_above_those_of_the_same_models_here(tables):
    made = exhibits.table("mixers", "losses", {**tables, "paper": exhibits.paper("mixers")})
    flat = made[made["model"].eq("flat mixer")].set_index(["source", "size"])
    assert flat.loc[("paper", "d1024, b32"), "validation_nats"] == 1.84
    assert len(flat.loc["paper"]) == 5
    here = flat.loc["here"].iloc[0]
    of_flat = tables["learning_curve"].query("variant == 'flat' and padding == 'right'")
    assert here["validation_nats"] == pytest.approx(budgets.ends(of_flat).mean())
    assert here["seeds"] == of_flat["seed"].nunique()


def test_what_is_not_comparable_is_left_empty_and_the_rest_is_shown(tables):
    decaying = {"schedule": "linear"}
    curves = table(curve("flat", 2.0, **decaying), curve("llama-4", 1.9, seconds=0.02, flops=2000, **decaying))
    rows = budgets.differences(curves)
    assert rows["steps"].notna().all()
    assert rows[["seconds", "flops"]].isna().all(axis=None)
    made = {**tables, "learning_curve": curves}
    found = exhibits.table("mixers", "budgets", made).set_index("model")
    assert found.loc["Llama, 4 heads", "at equal steps_nats"] < 0
    assert np.isnan(found.loc["Llama, 4 heads", "at equal time_nats"])
    assert exhibits.svg(exhibits.figure("mixers", "against_flat"), made)


def test_differences_are_of_models_that_a_flat_mixer_stands_beside(tables):
    rows = budgets.differences(tables["learning_curve"])
    assert set(rows["setting"]) == {
        "expanded mixer",
        "mixer, kernel 4",
        "Llama, 4 heads",
        "early GPT, 4 heads",
        "hybrid, mixing last",
        "hybrid as published, left",
    }
    with pytest.raises(NotPlannedError, match="needs a flat mixer"):
        budgets.differences(curve("flat", 2.0))


def test_a_rate_at_the_end_of_the_grid_is_flagged_and_a_diverged_one_never_chosen():
    rows = search_rows(cost())
    chosen = rows[rows["chosen"]].set_index("variant")
    assert chosen["rate"].to_dict() == {"flat": 0.012, "llama-4": 0.0015}
    assert chosen["at_edge"].to_dict() == {"flat": False, "llama-4": True}
    found = exhibits.table("mixers", "learning_rates", {"cost": cost()}).set_index("model")
    assert found["at"].to_dict() == {"flat mixer": "", "Llama, 4 heads": "edge"}
    assert found["at_0.024"].isna().all()


def test_the_rate_of_several_searched_seeds_is_chosen_by_their_mean():
    other = cost().assign(seed=101, run=lambda rows: rows["run"] + "-other")
    other["validation_nats"] += 2.0 * other["learning_rate"].eq(0.012)
    rows = search_rows(pd.concat([cost(), other], ignore_index=True))
    flat = rows[rows["variant"].eq("flat")].set_index("rate")
    assert len(flat) == 5
    assert flat.index[flat["chosen"]].tolist() == [0.006]
    assert flat.loc[0.012, "validation_nats"] == 4.0


def test_of_rates_that_tie_the_criterion_shows_the_middle_one():
    def rows(**more):
        seeds = [cost().assign(seed=seed, run=lambda rows, s=seed: rows["run"] + f"-{s}", **more) for seed in range(3)]
        for seed, of in enumerate(seeds):  # 0.012 is best by less than its error against 0.006
            of.loc[of["learning_rate"].eq(0.006), "validation_nats"] = 3.01 + 0.1 * (seed - 1)
        return search_rows(pd.concat(seeds, ignore_index=True))

    def flat(found):
        return found[found["variant"].eq("flat") & found["chosen"]]["rate"].item()

    assert flat(rows()) == 0.012
    assert flat(rows(criterion="held_out_nats")) == 0.006
    assert flat(rows(criterion=float("nan"))) == 0.012, "another model's search has one"


def test_small_tables(tables):
    leaking = exhibits.table("mixers", "leaks", tables).set_index("model")
    assert leaking["largest_change_1"].to_dict() == {"hybrid-after": 0, "hybrid-as-published": 1.5, "hybrid-before": 0}
    assert exhibits.table("mixers", "dropout", tables)["with"].tolist() == [2.05]


@pytest.mark.parametrize("erratum", ["E001-1", "E001-10", "E001-13"])
def test_the_report_says_where_a_conclusion_does_not_follow(erratum):
    """Among the conclusions of "What we found in the papers"."""
    (row,) = [row for row in catalogue.ledger("mixers", "errata") if row["id"] == erratum]
    assert row["weight"] == "conclusion"


def test_what_is_known_to_be_no_merit_is_said_and_no_result_before_it_is_measured():
    tables = study_exhibits("mixers", "tables")
    for exhibit in (exhibits.figure("mixers", "against_flat"), tables["budgets"], tables["query_effect"]):
        assert "as published, if it was run," in exhibit.caption
        assert "is ahead because" not in exhibit.caption
    reason = " ".join(next(row for row in catalogue.ledger("mixers") if row["id"] == "001-19")["reason"].split())
    assert "not only the mixing" in reason
