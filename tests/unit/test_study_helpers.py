"""What studies share in their last mile: thinning, seeds put together, rules beside `better`."""

import math

import numpy as np
import pandas as pd
import pytest
from hypothesis import given
from hypothesis import strategies as st

from allmlp.judging import multiplicity
from allmlp.judging.rules import (
    NotPlannedError,
    judge_above,
    judge_all,
    judge_below,
    judge_best,
    judge_exact,
    judge_machines,
    mark_corrected,
    part_rows,
    premise,
    withhold_verdict,
)
from allmlp.judging.statistics import judge_better, t_interval
from allmlp.report.seeds import aggregate_seeds, curve
from allmlp.studies.shared.curves import kept_rows


@given(st.integers(0, 30000), st.integers(4, 900))
def test_kept_rows_are_few_sorted_and_hold_both_ends(rows, most):
    kept = kept_rows(rows, most)
    assert len(kept) == rows if rows <= most else 2 <= len(kept) <= most
    assert (np.diff(kept) > 0).all()
    assert not rows or (kept[0], kept[-1]) == (0, rows - 1)


def test_a_curve_of_too_few_rows_is_refused():
    with pytest.raises(ValueError, match="choose 4 or more"):
        kept_rows(10, 3)


def rows() -> pd.DataFrame:
    return pd.DataFrame(
        [(f"r{seed}", seed, step, seed + step) for seed in range(4) for step in (0, 5, 9)],
        columns=["run", "seed", "step", "loss"],
    )


def test_the_rows_of_a_part_are_found_and_a_part_that_is_not_planned_is_named():
    labelled = pd.DataFrame({"part": ["search", "comparison", "search"], "run": ["a", "b", "c"]})
    assert part_rows(labelled, "search")["run"].tolist() == ["a", "c"]
    assert len(part_rows(labelled, "search", "comparison")) == 3
    for nothing in (labelled, labelled[:0], labelled.drop(columns="part"), pd.DataFrame()):
        with pytest.raises(NotPlannedError, match="needs runs of long and wide, which are not planned"):
            part_rows(nothing, "long", "wide")


def test_seeds_are_put_together_by_the_t_interval():
    found = aggregate_seeds(rows(), ["step"], "loss").set_index("step").loc[5]
    expected = t_interval([5.0, 6.0, 7.0, 8.0])
    assert tuple(found) == (expected.mean, expected.low, expected.high, 4)


def test_every_group_has_the_mean_and_interval_of_its_values():
    rng = np.random.default_rng(0)
    table = pd.DataFrame({"a": rng.integers(0, 4, 200), "b": rng.choice(["x", "y"], 200), "run": range(200)})
    table["value"] = rng.normal(size=200)
    table.loc[:2, "value"] = [np.nan, np.inf, -np.inf]
    found = aggregate_seeds(table, ["a", "b"], "value").set_index(["a", "b"])
    for key, group in table.groupby(["a", "b"]):
        wanted = t_interval(group["value"].to_numpy())
        ends = [end if math.isfinite(end) else math.nan for end in wanted[:3]]
        np.testing.assert_allclose(found.loc[key, ["mean", "low", "high"]].to_numpy(dtype=float), ends, rtol=1e-12)
        assert found.loc[key, "n"] == wanted.n


def test_one_seed_has_a_mean_and_no_interval():
    found = aggregate_seeds(rows().query("seed == 2"), ["step"], "loss").iloc[0]
    assert found["mean"] == 2
    assert np.isnan(found[["low", "high"]].astype(float)).all()


def test_two_rows_of_one_run_are_refused():
    with pytest.raises(ValueError, match="several rows of one run"):
        aggregate_seeds(pd.concat([rows(), rows()]), ["step"], "loss")


def test_a_curve_ends_where_its_first_seed_does():
    assert curve(rows().query("seed != 3 or step < 9"), "loss")["step"].tolist() == [0, 5]
    diverged = rows()
    diverged.loc[diverged.index[-1], "loss"] = np.nan
    assert curve(diverged, "loss")["step"].tolist() == [0, 5]


def test_below_is_above_in_a_mirror():
    values = np.array([0.1, 0.2, 0.15, 0.12, 0.18])
    found, mirrored = judge_below(values, 0.3, "nats"), judge_above(-values, -0.3)
    assert (found.verdict, found.p, found.value) == ("reproduced", mirrored.p, pytest.approx(0.15))
    assert (found.low, found.high) == (pytest.approx(-mirrored.high), pytest.approx(-mirrored.low))
    assert found.low < 0.15 < found.high
    assert judge_below(values, 0.05).verdict == "contradicted"
    assert judge_below(values, 0.15).verdict == "undecided"
    assert judge_below(values[:4], 0.3).verdict == "undecided"
    assert "against a limit of 0.3" in found.text


def test_every_number_must_hold_and_any_can_refute():
    yes, no, perhaps = (judge_above([1.0, 1.1, 0.9, 1.0, 1.05], margin) for margin in (0.5, 2.0, 1.0))
    small, wrong = judge_better([1.0, 1.1, 0.9, 1.0, 1.05], 2.0), judge_better([-1.0, -1.1, -0.9, -1.0, -1.05], 2.0)
    found = judge_all({"a": yes, "b": small})
    assert (found.verdict, found.p_against) == ("below margin", max(yes.p, 2 * small.p_against))
    assert judge_all({"a": perhaps, "b": small}).verdict == "undecided"  # its direction is not shown
    assert judge_all({"a": wrong, "b": small}).verdict == "contradicted"
    assert judge_all({"a": wrong, "b": small}).p_against == pytest.approx(2 * wrong.p_against)
    assert judge_best({"a": small, "b": small}, "a", "").verdict == "below margin"
    assert judge_best({"a": small, "b": wrong}, "a", "").verdict == "below margin"
    assert judge_best({"a": small, "b": perhaps}, "a", "").verdict == "undecided"
    assert judge_all({"a": yes, "b": yes}).verdict == "reproduced"
    assert judge_all({"a": yes, "b": perhaps}).verdict == "undecided"
    assert judge_all({"a": yes, "b": perhaps, "c": no}).verdict == "contradicted"
    assert judge_all({"a": yes, "b": perhaps}).p == perhaps.p
    with pytest.raises(ValueError, match="at least one number"):
        judge_all({})


def test_a_verdict_is_withheld_only_where_it_says_so():
    no = judge_above([1.0, 1.1, 0.9, 1.0, 1.05], 2.0)
    assert withhold_verdict(no, "contradicted", "too early", when=False) is no
    assert withhold_verdict(no, "reproduced", "too early", when=True) == no  # but for the guard in what it rests on
    found = withhold_verdict(no, "contradicted", "too early", when=True)
    assert (found.verdict, found.value) == ("undecided", no.value)
    assert found.text.endswith("not contradicted: too early")
    small = judge_better([1.0, 1.1, 0.9, 1.0, 1.05], 2.0)
    for verdict in ("reproduced", "contradicted"):
        assert withhold_verdict(small, verdict, "censored", when=True).verdict == "undecided"
        assert premise(small, "censored", holds=False, of=verdict).verdict == "undecided"


NO = judge_above([1.0, 1.1, 0.9, 1.0, 1.05], 2.0)


def test_a_rule_whose_premise_is_not_met_decides_and_tests_nothing():
    assert premise(NO, "it learnt nothing", holds=True) is NO
    found = premise(NO, "it learnt nothing", holds=False)
    assert (found.verdict, found.value, found.p, found.p_against) == ("undecided", NO.value, 1.0, 1.0)
    assert found.premise_not_met == "it learnt nothing"
    assert found.text.startswith("premise not met: it learnt nothing; mean 1.01")
    assert found.rests[""].guards == ("premise not met: it learnt nothing",)
    assert multiplicity.require_all_parts({"(a) one": found, "(b) two": NO}).text == (
        "(a) one: undecided (premise not met: it learnt nothing); (b) two: contradicted"
    )


def test_a_premise_of_one_verdict_leaves_the_other_and_its_test():
    found = premise(NO, "none", holds=False, of="reproduced")
    assert (found.verdict, found.premise_not_met, found.p, found.p_against) == ("contradicted", "", 1.0, NO.p_against)
    found = premise(NO, "none", holds=False, of="contradicted")
    assert (found.verdict, found.premise_not_met, found.p, found.p_against) == ("undecided", "none", NO.p, 1.0)


def test_several_numbers_name_a_premise_only_where_it_leaves_them_open():
    unmet = premise(NO, "it learnt nothing", holds=False)
    assert judge_all({"a": unmet}).premise_not_met == "it learnt nothing"
    assert judge_all({"a": unmet}).p_against == 1.0
    found = judge_all({"a": unmet, "b": NO})
    assert (found.verdict, found.premise_not_met, found.p_against) == ("contradicted", "", 2 * NO.p_against)


def test_the_unit_of_a_speed_is_the_machine():
    machines = {f"m{number}": 1.0 + 0.01 * number for number in range(5)}
    assert judge_machines(machines, lambda ratios: judge_better(ratios, 0.5)).verdict == "reproduced"
    one = judge_machines({"m0": 1.0}, lambda ratios: judge_better(ratios, 0.5))
    assert (one.verdict, one.n, one.p) == ("undecided", 1, None)
    assert one.premise_not_met == "timed on 1 machine, 5 are needed: 1 on m0"


def test_only_a_number_that_is_contradicted_is_corrected():
    wrong, right = (mark_corrected(judge_exact(holds, 2.0, "", "two")) for holds in (False, True))
    assert (wrong.verdict, wrong.corrected) == ("contradicted", True)
    assert (right.verdict, right.corrected) == ("reproduced", False)
    whole = multiplicity.require_all_parts({"(a)": wrong, "(b)": right})
    assert (whole.verdict, whole.corrected, whole.text) == ("partly", False, "(a): corrected; (b): reproduced")
    assert multiplicity.require_all_parts({"(a)": wrong}).corrected
    assert not multiplicity.require_all_parts({"(a)": wrong, "(b)": NO}).corrected
