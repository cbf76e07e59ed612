"""Study 000's rules on runs at fixed budgets, and the tables of them."""

import re

import numpy as np
import pandas as pd
import pytest

from allmlp.judging.rules import NotPlannedError
from allmlp.studies.language.tables import scaling_exponents, scaling_minima
from allmlp.studies.language.verdicts.scaling import gaps_at_equal_operations, prominence
from tests import judging
from tests.unit.known_scaling import depth_rows, scaling_rows


def judged(claim: str, rows: pd.DataFrame, scale: str = "gpu"):
    return judging.judged(claim, scale=scale, scaling=rows)


def bumped(height: float) -> pd.DataFrame:
    """The middle size of every MLP budget raised by `height` over its neighbours."""
    rows = scaling_rows(noise=0.001)
    for _, cell in rows.groupby(["model", "budget_flops"]):
        sizes = np.sort(cell["parameters"].unique())
        beside = cell[cell["parameters"].isin([sizes[1], sizes[3]])]["validation_nats"].mean()
        middle = cell.index[cell["parameters"] == sizes[2]]
        rows.loc[middle, "validation_nats"] += beside + height - cell.loc[middle, "validation_nats"].mean()
    return rows


def without_minimum(rows: pd.DataFrame, budget: float) -> pd.DataFrame:
    """At one budget the smallest size tried is the best, and the parabola's vertex lies below it."""
    growing = 4 + 0.05 * np.log(rows["parameters"] / 1e3) ** 2
    return rows.assign(validation_nats=rows["validation_nats"].where(rows["budget_flops"] != budget, growing))


@pytest.mark.parametrize(("height", "expected"), [(0.1, "reproduced"), (-0.1, "contradicted"), (0.01, "undecided")])
def test_a_bump_is_a_local_maximum_in_most_budgets(height, expected):
    assert judged("000-1", bumped(height)).verdict == expected


def test_a_bump_is_sought_and_tested_on_different_seeds():
    rows = scaling_rows(noise=0.0)
    cell = rows[(rows["model"] == "mlp") & (rows["budget_flops"] == 1e10)].copy()
    sizes = np.sort(cell["parameters"].unique())
    lucky = cell["parameters"].eq(sizes[3]) & cell["seed"].lt(2)
    cell.loc[lucky, "validation_nats"] += 1.0
    heights = prominence(cell)
    assert [len(of_side) for of_side in heights.values()] == [5, 5]
    assert any((of_side < 0).all() for of_side in heights.values())
    with pytest.raises(NotPlannedError, match="three sizes"):
        prominence(cell[cell["parameters"].isin(sizes[:2])])


def test_exponents_are_judged_part_by_part():
    assert judging.parts(judged("000-2", scaling_rows(exponent=0.24, gpt_exponent=0.24), "paper")) == ["reproduced"] * 3
    assert judging.parts(judged("000-2", scaling_rows(exponent=0.24, gpt_exponent=0.24), "gpu"))[0] == "undecided"
    apart = judging.parts(judged("000-2", scaling_rows(exponent=0.24, gpt_exponent=0.5), "paper"))
    assert apart == ["contradicted", "contradicted", "contradicted"]


def test_exponents_of_two_budgets_decide_nothing_and_the_third_is_named():
    found = judged("000-2", without_minimum(scaling_rows(exponent=0.24, gpt_exponent=0.24), 1e11))
    assert judging.parts(found)[1:] == ["undecided", "undecided"]
    assert "GPT 1e+11 (7)" in found.text
    assert "MLP 1e+11 (7)" in found.text


def test_the_best_losses_are_compared_at_every_budget():
    assert judging.parts(judged("000-3", scaling_rows(gap=0.1))) == ["reproduced", "reproduced"]
    rows = scaling_rows(gap=0.1)
    rows.loc[rows["budget_flops"].eq(1e10) & rows["model"].eq("mlp"), "validation_nats"] -= 0.2
    assert judging.parts(judged("000-3", rows))[0] == "contradicted"
    steep = scaling_rows(gap=0.1)
    gpt = steep["model"].eq("gpt2-last")
    steep.loc[gpt, "validation_nats"] *= (steep["budget_flops"] / 1e10) ** -0.2
    assert judging.parts(judged("000-3", steep))[1] == "contradicted"


@pytest.mark.parametrize(
    ("deep", "gain", "expected"),
    [
        (0.005, 0.2, ["reproduced", "reproduced"]),
        (-0.2, 0.05, ["contradicted", "contradicted"]),
        (0.2, 0.2, ["contradicted", "undecided"]),
    ],
)
def test_depth_is_judged_beside_what_width_gains_up_to_the_best_one(deep, gain, expected):
    assert judging.parts(judged("000-4", depth_rows(deep, gain))) == expected


def test_a_model_past_the_best_width_does_not_tell_what_width_gains():
    wider = depth_rows(0.005, 0.2).query("part == 'depth' and shape == 'base'")
    lost = wider.assign(shape="wide", validation_nats=wider["validation_nats"] + 0.3)
    rows = pd.concat([depth_rows(0.005, 0.2), lost], ignore_index=True)
    assert judging.parts(judged("000-4", rows)) == ["reproduced", "reproduced"]


@pytest.mark.parametrize(
    ("changes", "reason"),
    [
        ({"widths": (16, 24, 48)}, "half of the best width, 12, is below the smallest tried, 16"),
        ({"best": 200}, r"no minimum inside the widths tried \(above\)"),
        ({"gain": -0.1}, r"no minimum inside the widths tried \(nowhere\)"),
    ],
)
def test_width_is_not_judged_where_its_best_or_half_of_it_was_not_tried(changes, reason):
    part = judged("000-4", depth_rows(0.005, **changes)).parts[1]
    assert part.verdict == "undecided"
    assert re.search(reason, part.premise_not_met)
    assert part.p == 1.0


def test_depth_at_another_size_or_without_a_grid_is_no_comparison():
    with pytest.raises(NotPlannedError, match="within 5 %"):
        judged("000-4", depth_rows(0.0, weights=(100, 110)))
    with pytest.raises(NotPlannedError, match=r"3 widths at 3e\+11"):
        judged("000-4", depth_rows(0.0, widths=(16, 24)))


def test_the_loss_at_equal_operations_is_read_between_the_mlps_runs():
    best = pd.DataFrame(
        {
            "model": ["mlp", "mlp", "gpt2-last", "gpt2-last"],
            "budget_flops": [1e10, 1e11, 1e10, 1e11],
            "best_counted_flops": [1e10, 1e12, 1e11, 1e13],
            "best_nats": [4.0, 1.0, 2.5, 0.5],
        }
    )
    gaps = gaps_at_equal_operations(best)
    assert gaps["covered"].tolist() == [True, False]
    assert gaps["gap_nats"].tolist() == pytest.approx([2.5 - 2.0, np.nan], nan_ok=True)  # halfway in log: sqrt(4 * 1)
    dearer_and_worse = best.assign(best_nats=[2.0, 3.0, 2.5, 0.5])
    assert gaps_at_equal_operations(dearer_and_worse)["gap_nats"].iloc[0] == pytest.approx(0.5)


def test_a_budget_at_which_a_seed_diverged_is_not_left_out() -> None:
    rows = scaling_rows(gap=0.1)
    of_seed = rows["model"].eq("mlp") & rows["budget_flops"].eq(rows["budget_flops"].min()) & rows["seed"].eq(0)
    lost = rows.assign(validation_nats=rows["validation_nats"].mask(of_seed))
    for found in (judged("000-3", lost).parts[0], judged("000-own-1", lost)):
        assert found.verdict == "undecided"
        assert "no mean: of" in found.text
        assert found.p == 1.0


def test_who_wins_depends_on_what_is_counted():
    rows = scaling_rows(gap=0.1)
    assert judged("000-3", rows).parts[0].verdict == "reproduced"
    assert judged("000-own-1", rows).verdict == "reproduced"
    assert judged("000-own-1", rows.assign(counted_flops=rows["budget_flops"])).verdict == "contradicted"
    apart = rows["budget_flops"] * rows["model"].map({"mlp": 1, "gpt2-last": 99})
    with pytest.raises(NotPlannedError, match="cost alike"):
        judged("000-own-1", rows.assign(counted_flops=apart))


def test_what_counts_as_size_moves_the_exponent():
    rows = scaling_rows(exponent=0.5)
    assert judged("000-own-2", rows).verdict == "contradicted"  # to the power 0.7: smaller
    steeper = rows.assign(non_embedding_parameters=(rows["parameters"] ** 1.5).astype(int))
    assert judged("000-own-2", steeper).verdict == "reproduced"
    assert judged("000-own-2", rows.assign(non_embedding_parameters=rows["parameters"])).verdict == "contradicted"


@pytest.mark.parametrize("claim", ["000-1", "000-2", "000-3", "000-4", "000-own-1", "000-own-2"])
def test_other_parts_of_the_study_take_no_part(claim):
    of_depth = depth_rows(0.0)
    both = pd.concat([scaling_rows(), of_depth[of_depth["part"] == "depth"]], ignore_index=True)
    rows = of_depth if claim == "000-4" else both
    other = pd.concat([rows, rows.assign(part="other", validation_nats=0.0)], ignore_index=True)
    assert str(judged(claim, other)) == str(judged(claim, rows))  # as text, for NaN is not NaN
    with pytest.raises(NotPlannedError):
        judged(claim, rows.assign(part="other"))


def test_few_seeds_decide_nothing():
    rows = scaling_rows(seeds=2)
    for claim in ("000-1", "000-2", "000-3", "000-own-1", "000-own-2"):
        assert judged(claim, rows, "paper").verdict == "undecided"


def test_the_table_of_minima_says_where_they_are():
    rows = without_minimum(scaling_rows(noise=0.0), 1e11)
    table = scaling_minima(scaling=rows).set_index(["model", "budget_flops"])
    assert table["vertex_is"].tolist() == ["inside", "inside", "below"] * 2
    assert table.loc[("mlp", 1e10), "vertex"] == pytest.approx(2e4, rel=1e-3)
    assert (table["counted_over_budget"].to_numpy() == [4.0] * 3 + [0.5] * 3).all()


def test_the_table_of_exponents_counts_in_three_ways():
    table = scaling_exponents(scaling=scaling_rows(noise=1e-4)).set_index(["counted", "model"])
    a = table["a"].unstack()["mlp"]
    assert a["all weights, 6 N D"] == pytest.approx(0.5, abs=0.01)
    assert a["without embeddings, 6 N D"] == pytest.approx(0.35, abs=0.01)
    assert a["all weights, counted operations"] == pytest.approx(0.5, abs=0.01)
    assert (table["a_low_bootstrap"] <= table["a_high_bootstrap"]).all()
