"""Study 003's figures and tables, made of measurements of networks whose answer is known."""

import numpy as np
import pytest

from allmlp.common.errors import UserError
from allmlp.spec.exhibits import study_exhibits
from allmlp.studies.quadrature import operations
from allmlp.studies.quadrature.bounds import SLOPE, lay
from allmlp.studies.quadrature.example import heaviest_key
from allmlp.studies.quadrature.figures.bounds import break_even_terms
from allmlp.studies.quadrature.figures.sums import integrand, outline
from allmlp.studies.quadrature.operations import BRUTE_FORCE, MOMENT_BOUND, PAPER_BOUND
from allmlp.studies.quadrature.tables import NEURONS
from tests import exhibits
from tests.unit.known_addition import SEEDS, measured


def table(name, **tables):
    return exhibits.table("quadrature", name, {**measured(), **tables})


@pytest.mark.parametrize("name", study_exhibits("quadrature", "figures"))
def test_a_figure_has_the_same_bytes_each_time_and_can_be_drawn_of_one_seed(name):
    figure, tables = exhibits.figure("quadrature", name), measured()
    first = exhibits.svg(figure, tables)
    assert first == exhibits.svg(figure, tables)
    assert len(first) < 300_000
    if any(tables[measure]["seed"].nunique() > 1 for measure in figure.measures):
        one = {key: rows[rows["seed"] == 1] if key != "paper" else rows for key, rows in tables.items()}
        assert exhibits.svg(figure, one) != first


def test_the_example_is_the_first_seeds_heaviest_key():
    rows = measured()["neurons"]
    example = heaviest_key(rows)
    assert (example.seed, example.frequency, len(example.rule.phi)) == (0, 3, 21)
    assert example.rule.width.sum() == pytest.approx(2 * np.pi)
    with pytest.raises(UserError, match="no neuron"):
        heaviest_key(rows.assign(is_key=False))


def test_the_red_area_holds_integrand_and_rectangles_and_is_twice_the_bound():
    rule = heaviest_key(measured()["neurons"]).rule
    boxes = lay(rule.phi, rule.width)
    phi, lower, upper = outline(boxes)
    value = integrand(phi)
    assert (lower <= value + 1e-12).all()
    assert (value <= upper + 1e-12).all()
    assert np.trapezoid(upper - lower, phi) == pytest.approx(2 * SLOPE * boxes.distance, rel=1e-6)


@pytest.mark.parametrize(("p", "neurons"), [(59, 128), (401, 64), (3, 9)])
def test_the_terms_that_cost_as_much_as_brute_force(p, neurons):
    terms = break_even_terms(p, neurons)
    allowed, M = operations.brute_force(p, neurons).operations, (terms - 1) // 2
    assert operations.moment_bound(neurons, M + 1).operations > allowed
    assert M == 1 or operations.moment_bound(neurons, M).operations <= allowed


def test_the_figure_of_certificates_names_every_level():
    drawn = exhibits.make_exhibit(exhibits.figure("quadrature", "certificate"), measured())
    assert len(drawn.axes) == 2
    assert len(drawn.legends[0].get_texts()) == 4


@pytest.mark.parametrize("name", study_exhibits("quadrature", "tables"))
def test_a_table_is_text(name):
    assert all(isinstance(cell, str) for cell in table(name).to_numpy().ravel())


def test_the_table_of_costs_sets_exponents_beside_the_papers_and_says_from_which_p_a_bound_saves():
    costs = measured()["bound_cost"]
    times = 1e-8 * costs["neurons"] * costs["p"].where(costs["procedure"] == BRUTE_FORCE, 1)
    shown = table("bound_cost", bound_cost=costs.assign(time_s=times)).set_index("procedure")
    assert shown["p_exponent_paper_1"].to_dict() == {PAPER_BOUND: "0", BRUTE_FORCE: "1", MOMENT_BOUND: ""}
    assert shown["p_exponent_timed_1"].to_dict() == {PAPER_BOUND: "0.000", BRUTE_FORCE: "1.000", MOMENT_BOUND: "0.000"}
    assert float(shown.loc[PAPER_BOUND, "neurons_exponent_counted_1"]) > 1  # the sorting
    for name in (PAPER_BOUND, MOMENT_BOUND):
        p, cost = int(shown.loc[name, "cheaper_from_p"]), int(shown.loc[name, "operations_1"].replace(",", ""))
        dear = [operations.brute_force(q, NEURONS).operations for q in (p - 1, p)]
        assert dear[0] <= cost < dear[1]
    drawn = exhibits.svg(exhibits.figure("quadrature", "bound_cost"), {"bound_cost": costs.assign(time_s=times)})
    assert b"brute force over p sums (1.00)" in drawn


def test_tables_set_every_seed_beside_the_papers_four_frequencies():
    sources = ["paper"] * 4 + [f"seed {s}" for s in SEEDS for _ in range(2)] + ["mean over seeds"]
    errors, coefficients = table("error_table"), table("coefficients")
    assert errors["source"].tolist() == coefficients["source"].tolist() == sources
    paper = errors[errors["source"] == "paper"].set_index("frequency")
    assert paper["total_bound_1"].to_dict() == {"12": "0.6", "18": "0.41", "21": "0.46", "22": "0.41"}
    assert paper["angle_bound_1"].to_dict() == {"12": "0.15", "18": "", "21": "", "22": ""}
    mean = measured()["error_table"].groupby("seed")["abs_error_1"].mean().mean()
    assert errors["abs_error_1"].iloc[-1].startswith(f"{mean:.3g} [")
    shown = coefficients.loc[0, ["frequency", "C_nats", "D_nats", "id1_nats"]]
    assert shown.tolist() == ["12", "13.9", "-3.7", ""]


def test_the_table_of_integrals_shows_which_are_as_printed():
    shown = table("closed_forms")
    assert (shown["by_hand_difference_1"].astype(float) < 1e-9).all()
    wrong = shown["as_printed_difference_1"].astype(float) > 0.1
    assert (wrong == (shown["where"] == "Appendix B")).all()


def test_the_table_of_laws_sets_our_r2_beside_the_papers():
    shown = table("regressions").set_index(["part", "law"])
    assert shown["paper_r2_1"].ne("").sum() == 4
    assert shown.loc[("whole", "cos k(x+y-z)"), "paper_r2_1"] == "0.98"
    rows = measured()["regressions"]
    mean = rows.loc[rows["part"].eq("abs") & rows["law"].eq("abs"), "r2_1"].mean()
    assert shown.loc[("absolute part", "|cos k(x-y)/2| cos k(x+y-z)"), "r2_1"] == f"{mean:.3f}"


def test_the_table_of_the_law_names_the_primes_on_both_sides():
    shown = table("hand_coded_law").set_index("n")
    assert shown.loc["5", ["perfect_up_to", "error_from"]].tolist() == ["113", "127"]
    assert shown.loc["3", ["perfect_up_to", "closed_form_rad"]].tolist() == ["none", ""]
    assert shown.loc["9", "error_from"] == "none up to 127"
    assert shown["disagreements"].str.startswith("0 of ").all()


def test_other_tables_have_a_row_for_each_number_seed_part_and_level():
    numbers = table("printed_numbers").set_index("quantity")
    assert numbers.loc["sum of the five coefficients of L_x", ["printed", "value"]].tolist() == ["0.5", "0.5"]
    assert table("sums")["seed"].tolist() == [*(str(s) for s in SEEDS), "mean"]
    assert table("identity_part")["sign_difference_1"].tolist()[:2] == ["", ""]
    levels = table("certificates")
    assert len(levels) == 9
    assert levels["seeds"].unique() == ["5"]
