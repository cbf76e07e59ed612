"""Study 003's rules on measurements of networks whose answer is known, and on made-up numbers."""

import math

import numpy as np
import pandas as pd
import pytest

from allmlp.judging.rules import NotPlannedError
from allmlp.judging.statistics import Finding
from allmlp.spec import catalogue
from allmlp.studies.quadrature.frequencies import FADING_SHARE
from allmlp.studies.quadrature.operations import AGREED_PRIMES
from allmlp.studies.quadrature.paper_numbers import R2, TABLE
from allmlp.studies.quadrature.verdicts.common import judge_every_seed
from allmlp.studies.quadrature.verdicts.logits import OF_PAPER, paper_ratio
from tests import exhibits, judging
from tests.unit.known_addition import SEEDS, adding, measured, of_seeds, spaced

PAPER = exhibits.paper("quadrature")
MIDDLE = float(np.mean(SEEDS))
KEYS = 4  # of the paper's network
FIRST = 2000  # of the seeds that rules on all accurate networks may use


def judged(claim: str, **tables: pd.DataFrame) -> Finding:
    """By the claim's rule. Every network is like the paper's, where the tables do not say otherwise."""
    tables = {name: rows.assign(seed=rows["seed"] + FIRST) if "seed" in rows else rows for name, rows in tables.items()}
    seeds = sorted(set().union(*(rows["seed"] for rows in tables.values())))
    accuracy = pd.DataFrame({"seed": seeds, "step": 1, "accuracy_1": 1.0})
    keys = pd.DataFrame({"seed": np.repeat(seeds, KEYS), "weight_share_1": 0.25})
    return judging.judged(claim, **{"accuracy": accuracy, "error_table": keys, **tables})


def parts(claim: str, **tables: pd.DataFrame) -> list[str]:
    return judging.parts(judged(claim, **tables))


def rows_of(name: str, **columns) -> pd.DataFrame:
    """The measured rows, with some columns replaced: values, or functions of the rows."""
    return measured()[name].assign(**columns)


@pytest.mark.parametrize(
    ("claim", "name", "expected"),
    [
        ("003-1", "neurons", ["reproduced"] * 3),
        ("003-2", "neurons", ["reproduced", "contradicted"]),
        ("003-3", "closed_forms", ["reproduced", "contradicted"]),
        ("003-4", "sums", ["reproduced"] * 2),
        ("003-7", "sums", ["reproduced"]),
        ("003-8", "bound_cost", ["reproduced"] * 2),
        ("003-11", "identity_shares", ["reproduced"] * 2),
        ("003-12", "sums", ["reproduced"]),
        ("003-13", "printed_numbers", ["reproduced"]),
        ("003-own-3", "hand_coded_law", ["reproduced"] * 3),
        ("003-own-4", "angle_controls", ["reproduced"] * 2),
    ],
)
def test_rules_on_networks_whose_answer_is_known(claim, name, expected):
    assert parts(claim, **{name: rows_of(name)}) == expected


# Neurons


def test_mixed_neurons_are_not_single_frequency_and_idle_ones_do_not_count():
    rows = rows_of("neurons")
    mixed = rows.assign(share_out_1=0.5, frequency_out=rows["frequency"] + rows["neuron"] % 2)
    assert parts("003-1", neurons=mixed) == ["reproduced", "contradicted", "contradicted"]
    idle = pd.concat([rows, rows.assign(share_in_1=0.0, is_key=False)])
    assert judged("003-1", neurons=idle).verdict == "reproduced"
    assert parts("003-1", neurons=rows[rows["seed"] < 3]) == ["undecided"] * 3


def test_a_seed_without_key_neurons_counts():
    rows = rows_of("neurons")
    found = judged("003-1", neurons=rows.assign(is_key=rows["is_key"] & (rows["seed"] != 2)))
    assert (found.n, judging.parts(found)) == (len(SEEDS), ["undecided"] * 3)


def test_of_the_two_signs_one_can_be_reproduced():
    swapped = {"angle_error_plus_rad": "angle_error_minus_rad", "angle_error_minus_rad": "angle_error_plus_rad"}
    assert parts("003-2", neurons=rows_of("neurons").rename(columns=swapped)) == ["contradicted", "reproduced"]


def test_weight_decays_are_compared_seed_by_seed_and_a_lost_seed_counts():
    sweep = [(s, decay, 0.02 * decay + 0.001 * s * decay) for s in range(6) for decay in (1.0, 2.0)]
    rows = pd.DataFrame(sweep, columns=["seed", "weight_decay", "angle_error_rad"]).assign(part="seeds")
    assert judged("003-own-5", scan=rows).verdict == "contradicted"
    turned = rows.assign(weight_decay=3.0 - rows["weight_decay"])
    assert judged("003-own-5", scan=turned).verdict == "reproduced"
    lost = judged("003-own-5", scan=turned.assign(angle_error_rad=turned["angle_error_rad"].where(turned["seed"] != 2)))
    assert (lost.verdict, lost.n) == ("undecided", 6)
    with pytest.raises(NotPlannedError, match="no sweep"):
        judged("003-own-5", scan=rows[rows["weight_decay"] == 2.0])


# Forms: integrals, counts, printed numbers


def test_closed_forms_hold_where_the_paper_prints_them_right():
    rows = rows_of("closed_forms")
    assert judged("003-3", closed_forms=rows.assign(paper_1=rows["closed_form_1"])).verdict == "reproduced"


def test_growth_is_judged_by_the_counts_at_four_primes_and_every_number_of_neurons():
    costs = rows_of("bound_cost")
    count, p = costs["operations_1"], costs["p"]
    assert parts("003-8", bound_cost=costs.assign(operations_1=count * p**0.2)) == ["contradicted"] * 2
    one = costs.assign(operations_1=count.where(costs["neurons"] != 64, count * p))
    assert parts("003-8", bound_cost=one) == ["contradicted"] * 2  # not on average
    beyond = costs.assign(operations_1=count.where(p != 401, 1))
    assert judged("003-8", bound_cost=beyond).verdict == "reproduced"
    assert parts("003-8", bound_cost=costs[p != 31]) == ["undecided"] * 2


def test_equal_counts_have_the_exponent_nought_whatever_the_last_bits_are():
    rows = pd.DataFrame({"p": [*AGREED_PRIMES] * 4, "neurons": np.repeat([64, 96, 64, 96], 4), "seed": 0})
    rows["procedure"] = np.repeat(["the paper's bound", "brute force over p sums"], 8)
    rows["operations_1"] = 7e5 / 3 + rows["neurons"]
    found = judged("003-8", bound_cost=rows)
    assert "exponents of p from 0 to 0 over 2 numbers of neurons; the paper says 0" in found.parts[0].text
    assert judging.parts(found) == ["reproduced", "contradicted"]


def test_the_five_coefficients_are_judged_to_rounding():
    other = rows_of("printed_numbers", value_1=lambda rows: rows["value_1"] + 1e-11)
    assert judged("003-13", printed_numbers=other).verdict == "contradicted"


# Sums


def test_rectangles_that_miss_the_period_or_their_phases_contradict():
    rows = rows_of("sums")
    gap = rows.assign(width_sum_rad=rows["width_sum_rad"] + 1e-6 * (rows["seed"] == 3))
    assert parts("003-4", sums=gap) == ["contradicted", "reproduced"]
    far = rows.assign(centre_distance_widths=6.0 + 0.1 * rows["seed"])
    assert parts("003-4", sums=far) == ["reproduced", "contradicted"]
    either = rows.assign(centre_distance_widths=np.where(rows["seed"] < MIDDLE, 0.5, 3.7))
    assert parts("003-4", sums=either) == ["reproduced", "undecided"]


def test_one_angle_above_the_bound_refutes_it():
    rows = rows_of("sums").copy()
    for excess, verdict in ((1e-10, "reproduced"), (1e-8, "contradicted")):  # the first is rounding in float64
        rows.loc[0, "excess_1"] = excess
        assert judged("003-7", sums=rows).verdict == verdict


def test_a_theorem_falls_with_one_exception_and_is_open_where_a_seed_has_no_number():
    for values, verdict in (
        ([-1.0, -2.0], "reproduced"),
        ([-1.0, 0.1], "contradicted"),
        ([math.nan, -1.0], "undecided"),
        ([math.nan, 0.1], "contradicted"),
        ([math.nan, math.nan], "undecided"),
    ):
        assert judge_every_seed(np.array(values), 0.0, "excess").verdict == verdict


def test_the_printed_sign_contradicts_and_a_fading_frequency_does_not_count():
    wrong = of_seeds("sums", lambda seed: adding(31, 4, spaced(21), -2 * spaced(21)))
    assert judged("003-12", sums=wrong).verdict == "contradicted"
    rows = rows_of("sums")
    for share, verdict in ((0.049, "reproduced"), (0.051, "contradicted")):
        fading = rows.assign(weight_share_1=share, sine_r2_1=0.0)
        assert judged("003-12", sums=pd.concat([rows, fading])).verdict == verdict
    assert judged("003-12", sums=rows[rows["seed"] < 3]).verdict == "undecided"


# Errors and bounds


def error_rows(scale=1.0, spread=0.1, angle=0.15, seeds=SEEDS):
    """Four lasting keys around the paper's numbers times `scale`, and one that fades out with awful ones."""
    found = []
    for seed in seeds:
        factor = scale * np.exp(spread * (seed - MIDDLE)) * np.array([0.9, 0.9, 1.1, 1.1])
        rows = pd.DataFrame({"weight_share_1": 0.24, "seed": seed, "naive_bound_1": 0.849}, index=range(KEYS))
        rows["abs_error_1"], rows["identity_error_1"] = 0.035 * factor, 0.0475 * factor
        rows["total_bound_1"], rows["angle_bound_1"] = 0.47 * factor, angle * factor
        fading = rows.iloc[:1].assign(weight_share_1=0.04, abs_error_1=9.0, identity_error_1=9.0, total_bound_1=9.0)
        found += [rows, fading]
    return pd.concat(found, ignore_index=True)


@pytest.mark.parametrize(
    ("made", "expected"),
    [
        ({}, ["reproduced"] * 4),
        ({"scale": 2.5}, ["contradicted"] * 4),
        ({"spread": 0.8}, ["undecided"] * 4),
        ({"seeds": range(3)}, ["undecided"] * 4),
        ({"scale": 0.3}, ["contradicted"] * 3 + ["reproduced"]),
    ],
    ids=str,
)
def test_error_table_is_judged_part_by_part_without_the_fading_frequency(made, expected):
    found = judged("003-5", error_table=error_rows(**made))
    assert judging.parts(found) == expected
    assert "0.849 by its definition, the paper prints 0.74" in found.parts[3].text
    assert found.n == len(made.get("seeds", SEEDS))


def test_a_number_that_rounds_to_the_printed_one_is_the_papers():
    for value, verdict in ((0.039, "reproduced"), (0.041, "contradicted")):
        assert parts("003-5", error_table=error_rows(scale=value / 0.035, spread=1e-4))[0] == verdict


def test_the_two_terms_are_those_of_the_worst_key():
    factor = 0.60 / (1.1 * 0.47)  # the largest of the keys is then at the paper's 0.60
    angle = 0.15 / factor / 1.1
    for made, verdict in (
        ({"angle": angle, "spread": 1e-3}, "reproduced"),
        ({"angle": 3 * angle}, "contradicted"),
        ({"angle": angle, "seeds": range(2)}, "undecided"),
    ):
        assert parts("003-6", error_table=error_rows(scale=factor, **made)) == [verdict] * 2


def test_only_networks_like_the_papers_decide_and_all_are_reported_beside():
    keys = error_rows(seeds=range(16))
    odd = keys.assign(abs_error_1=keys["abs_error_1"] * (1 + 50 * (keys["seed"] >= 8)))
    accuracy = pd.DataFrame({"seed": range(16), "step": 1, "accuracy_1": [1.0] * 8 + [0.99] * 8})
    found = judged("003-5", error_table=odd, accuracy=accuracy)
    assert judging.parts(found)[0] == "reproduced"
    assert parts("003-5", error_table=odd)[0] != "reproduced"
    assert "all 16 networks: " in found.parts[0].text
    fifth = pd.concat([odd, odd[(odd["seed"] < 2) & (odd["weight_share_1"] > 0.05)].drop_duplicates("seed")])
    found = judged("003-5", error_table=fifth, accuracy=accuracy)  # two of the eight have a fifth key
    assert (found.n, {*judging.parts(found)}) == (6, {"undecided"})
    assert "6 of 16 networks are like the paper's, 8 are needed" in found.parts[0].text


def bound_rows(ratio=4.0, excess=-0.02, seeds=SEEDS, spread=0.05):
    """Two keys a seed, and one that is fading out, with a moment bound that would refute everything."""
    rows = []
    for seed in seeds:
        for key, share in ((1, 0.5), (2, 0.45), (3, 0.04)):
            moment = 0.1 if share > 0.05 else 1e-9
            total_bound = 0.1 * ratio * math.exp(spread * (-1) ** seed)
            rows.append((seed, share, 0.1 + excess if key == 2 else 0.01, moment, total_bound))
    return pd.DataFrame(rows, columns=["seed", "weight_share_1", "abs_error_1", "moment_bound_1", "total_bound_1"])


@pytest.mark.parametrize(
    ("made", "expected"),
    [
        ({}, ["reproduced", "reproduced"]),
        ({"excess": 0.0}, ["reproduced", "reproduced"]),
        ({"excess": 1e-6}, ["contradicted", "reproduced"]),
        ({"ratio": 1.5}, ["reproduced", "below margin"]),
        ({"ratio": 0.9}, ["reproduced", "contradicted"]),
        ({"ratio": 2.0}, ["reproduced", "undecided"]),
        ({"seeds": range(3)}, ["reproduced", "undecided"]),
    ],
    ids=str,
)
def test_the_moment_bound_is_judged_without_the_fading_frequency(made, expected):
    found = judged("003-own-1", error_table=bound_rows(**made))
    assert judging.parts(found) == expected
    assert found.n == len(made.get("seeds", SEEDS))


def test_one_seed_with_an_error_above_its_bound_refutes_and_one_without_a_key_leaves_it_open():
    rows = bound_rows()
    rows.loc[3, "abs_error_1"] = 0.1001
    assert parts("003-own-1", error_table=rows)[0] == "contradicted"
    lost = bound_rows()
    lost.loc[lost["seed"] == 2, "weight_share_1"] = 0.01
    found = judged("003-own-1", error_table=lost)
    assert (found.n, judging.parts(found)) == (8, ["undecided"] * 2)


def test_figures_and_tables_leave_out_the_frequencies_that_the_claims_leave_out():
    margins = [row["margin"] for row in catalogue.ledger("quadrature")]
    assert {m["weight_share_1"] for m in margins if "weight_share_1" in m} == {FADING_SHARE}


# Logits


def r2_rows(spread=0.004, seeds=SEEDS, **shift):
    """The paper's four numbers with a small spread over seeds; `shift` moves one, by its key in the ledger."""
    rows = [
        (seed, *of, PAPER["003-9"][key] + shift.get(key, 0.0) + spread * (seed - MIDDLE))
        for seed in seeds
        for key, of in OF_PAPER.items()
    ]
    return pd.DataFrame(rows, columns=["seed", "part", "law", "r2_1"])


@pytest.mark.parametrize(
    ("made", "expected"),
    [
        ({}, ["reproduced"] * 3),
        ({"seeds": range(4)}, ["undecided"] * 3),
        ({"spread": 0.02}, ["reproduced", "reproduced", "undecided"]),
        ({"abs_form_r2_1": 0.11}, ["below margin", "reproduced", "undecided"]),  # one of four outside
        ({"abs_form_r2_1": 0.13, "abs_only_cosine_form_r2_1": 0.15}, ["contradicted"] * 3),
        ({"spread": 1e-5, "cosine_form_r2_1": 0.004}, ["reproduced"] * 3),  # rounds to the printed one
        ({"spread": 1e-5, "cosine_form_r2_1": 0.006}, ["reproduced", "reproduced", "undecided"]),
    ],
    ids=str,
)
def test_regressions_are_judged_by_gaps_and_by_all_four_numbers(made, expected):
    assert parts("003-9", regressions=r2_rows(**made)) == expected


def coefficient_rows(scale=1.0, ratio=0.271, spread=0.05, seeds=SEEDS):
    rows = pd.DataFrame({"seed": np.repeat(seeds, 2)})
    C = 13.1 * scale * (1 + spread * (rows["seed"] - MIDDLE)) * np.tile([0.8, 1.2], len(seeds))
    D = -ratio * (1 + spread * (rows["seed"] - MIDDLE)) * C
    columns = {"identity_coefficient_nats": D, "ratio_1": -D / C, "ov_cosine_nats": 0.4 * D}
    return rows.assign(abs_coefficient_nats=C, **columns)


@pytest.mark.parametrize(
    ("made", "expected"),
    [
        ({}, ["reproduced"] * 3),
        ({"scale": 3.0}, ["reproduced", "reproduced", "contradicted"]),
        ({"ratio": 0.11}, ["reproduced", "contradicted", "reproduced"]),  # what D_k of logit_id1 would give
        ({"ratio": -0.271}, ["contradicted", "contradicted", "reproduced"]),
        ({"spread": 0.15}, ["reproduced", "undecided", "undecided"]),
        ({"seeds": range(3)}, ["undecided"] * 3),
    ],
    ids=str,
)
def test_coefficients_are_judged_by_sign_ratio_and_size(made, expected):
    assert parts("003-10", coefficients=coefficient_rows(**made)) == expected


def test_the_papers_numbers_are_those_of_the_ledger():
    ratio, rounding = paper_ratio(PAPER["003-10"])
    assert ratio == pytest.approx(0.271, abs=5e-4)
    assert 0.003 < rounding < 0.006
    for k, (C, D) in TABLE.items():
        stated = [PAPER["003-10"][f"{part}_coefficient_k{k}_1"] for part in ("abs", "identity")]
        assert stated == [C, D]
    names = {"logits": "whole", "abs": "absolute part"}
    assert {(names[part], law): PAPER["003-9"][key] for key, (part, law) in OF_PAPER.items()} == R2


def test_the_spectrum_is_judged_on_ov_alone():
    rows = rows_of("identity_shares")
    embed = rows.assign(energy_share_1=rows["energy_share_1"].where(rows["matrix"] == "OV", 0.0))
    assert judged("003-11", identity_shares=embed).verdict == "reproduced"
    spread_out = rows.assign(energy_share_1=0.5 + 0.01 * rows["seed"], imaginary_share_1=0.3 + 0.01 * rows["seed"])
    assert parts("003-11", identity_shares=spread_out) == ["contradicted"] * 2
    lost = rows.assign(energy_share_1=rows["energy_share_1"].where(rows["seed"] != 1))
    assert parts("003-11", identity_shares=lost) == ["undecided", "reproduced"]


@pytest.mark.parametrize(
    ("claim", "tables"),
    [
        ("003-9", {"regressions": r2_rows(seeds=range(16))}),
        ("003-10", {"coefficients": coefficient_rows(seeds=range(16), spread=0.01)}),
    ],
)
def test_the_form_of_the_logits_is_judged_on_accurate_networks_of_seeds_that_no_rule_has_seen(claim, tables):
    of = list(range(FIRST, FIRST + 16))
    five_keys = pd.DataFrame({"seed": np.repeat(of, KEYS + 1), "weight_share_1": 0.2})
    found = judged(claim, **tables, error_table=five_keys.assign(seed=five_keys["seed"] - FIRST))
    undecided = [part.premise_not_met for part in found.parts if part.verdict == "undecided"]
    assert undecided == ["0 of 16 networks are like the paper's, 8 are needed"] * (claim == "003-10")
    half = pd.DataFrame({"seed": range(16), "step": 1, "accuracy_1": [1.0] * 7 + [0.99] * 9})
    found = judged(claim, **tables, accuracy=half)
    assert {part.premise_not_met for part in found.parts} == {"7 of 16 networks add every pair, 8 are needed"}
    seen = {name: rows.assign(seed=rows["seed"] - FIRST) for name, rows in tables.items()}
    with pytest.raises(NotPlannedError, match="needs networks of seeds from 2000 on"):
        judged(claim, **seen)


# Angles by hand, certificate


def test_one_exception_refutes_the_law():
    rows = rows_of("hand_coded_law")
    other = rows.assign(perfect=rows["perfect"] ^ (rows.index == 7))
    assert parts("003-own-3", hand_coded_law=other)[0] == "contradicted"
    steeper = rows.assign(wobble_rad=rows["wobble_rad"] * rows["n"] ** -0.5)
    assert parts("003-own-3", hand_coded_law=steeper)[1:] == ["contradicted", "reproduced"]
    larger = rows.assign(wobble_rad=rows["wobble_rad"] * 1.5)
    assert parts("003-own-3", hand_coded_law=larger)[1:] == ["reproduced", "contradicted"]


def test_trained_angles_are_judged_between_chance_and_a_grid():
    rows = rows_of("angle_controls")
    for like, expected in (("random", ["contradicted", "reproduced"]), ("regular", ["reproduced", "contradicted"])):
        assert parts("003-own-4", angle_controls=rows.assign(abs_error_1=rows[f"{like}_error_1"])) == expected
    fading = pd.concat([rows, rows.assign(weight_share_1=0.01, abs_error_1=99.0)])
    assert parts("003-own-4", angle_controls=fading) == ["reproduced"] * 2
    assert parts("003-own-4", angle_controls=rows[rows["seed"] < 3]) == ["undecided"] * 2


def test_a_certificate_is_judged_by_its_levels():
    rows = rows_of("certificate")
    of_story = rows["level"] == "story"
    for story, others, verdict in ((0.0, 1.0, "reproduced"), (1.0, 0.0, "contradicted")):
        shares = np.where(of_story, story, others)
        shares = rows.assign(certified_accuracy_1=shares + (0.5 - shares) * 1e-4 * rows["seed"])
        assert judged("003-own-2", certificate=shares).verdict == verdict


def test_a_certificate_is_cheap_and_never_above_the_truth():
    rows = rows_of("certificate")
    cheap, dear = (
        rows.assign(operations=(share + 1e-3 * rows["seed"]) * rows["brute_operations"]) for share in (0.4, 0.6)
    )
    assert judged("003-own-6", certificate=cheap).verdict == "reproduced"
    wrong = cheap.assign(largest_excess_nats=1e-300)
    assert parts("003-own-6", certificate=wrong) == ["contradicted", "reproduced", "reproduced"]
    assert parts("003-own-6", certificate=dear) == ["reproduced", "contradicted", "contradicted"]
