"""Study 003's measures on networks whose answer is known."""

import numpy as np
import pandas as pd
import pytest
import torch
from hypothesis import given, settings
from hypothesis import strategies as st
from pydantic import ValidationError

from allmlp.common.errors import UserError
from allmlp.spec import catalogue
from allmlp.studies.quadrature import circuits, operations
from allmlp.studies.quadrature.errors import largest_error
from allmlp.studies.quadrature.frequencies import wrap
from allmlp.studies.quadrature.hand_coded import fitted_law
from allmlp.studies.quadrature.measures.formulas import PRIMES, draw
from allmlp.studies.quadrature.operations import BRUTE_FORCE, MOMENT_BOUND, PAPER_BOUND
from allmlp.studies.quadrature.runs import Grid
from tests.unit.known_addition import (
    OF_NETWORKS,
    PI,
    P,
    adding,
    like_trained,
    measure,
    measured,
    network,
    spaced,
    trained,
    untrained,
    waves,
)

MAY_BE_EMPTY = {"printed_1", "forward_accuracy_1"}


def row(name, weights, p=P):
    return measure(name, trained(weights, p)).iloc[0]


@pytest.mark.parametrize("name", catalogue.measures("quadrature"))
def test_a_measure_gives_rows_and_leaves_nothing_empty(name):
    rows = measured()[name][list(catalogue.measure("quadrature", name).columns)]
    assert len(rows)
    assert rows.drop(columns=MAY_BE_EMPTY & set(rows)).notna().all(axis=None)


@pytest.mark.parametrize("name", [*OF_NETWORKS, "scan", "angle_controls"])
def test_a_measure_gives_the_same_twice_and_works_on_an_untrained_network_of_the_smallest_prime(name):
    first, again = (measure(name, trained(like_trained(0))) for _ in range(2))
    pd.testing.assert_frame_equal(first, again)
    rows = measure(name, trained(untrained(3, d_mlp=8).state_dict(), p=3))
    assert np.isfinite(rows.select_dtypes("number")).all(axis=None)


@pytest.mark.parametrize("name", [*OF_NETWORKS, "scan", "angle_controls", "certificate"])
def test_another_architecture_or_another_p_is_named(name):
    with pytest.raises(UserError, match=r"no weight W_E.* but embedding\.weight"):
        measure(name, trained({"embedding.weight": torch.zeros(2, 2)}))
    with pytest.raises(UserError, match="p=31, the run says vocabulary=37"):
        measure(name, trained(like_trained(0), p=37))


@pytest.mark.parametrize("p", [1, 2, 4, 9, 57])
def test_a_modulus_that_is_no_prime_above_2_is_refused(p):
    with pytest.raises(ValidationError, match=f"{p} is not a prime above 2"):
        Grid(p=[p], d_mlp=[8], seeds=[0], steps=1)


# Neurons and accuracy


def test_what_was_built_is_read_back():
    phi = np.array([0.3, -2.9, 1.4, 3.0])
    built = adding(P, [5, 5, 5, 13], phi, [0.6, 1.0, -3.0, 0.0], c=[1, 2, 3, 4], e=[3, 2, 1, 1])
    rows = measure("neurons", trained(built))
    assert rows["frequency"].tolist() == rows["frequency_out"].tolist() == [5, 5, 5, 13]
    np.testing.assert_allclose(rows["phi_rad"], phi, atol=1e-9)
    np.testing.assert_allclose(rows["amplitude_in_1"], [1, 2, 3, 4])
    np.testing.assert_allclose(rows["width_1"], 2 * PI * np.array([0.3, 0.4, 0.3, 1.0]))
    np.testing.assert_allclose(rows["angle_error_plus_rad"], [0, 6.8 - 2 * PI, -5.8 + 2 * PI, -6 + 2 * PI], atol=1e-12)
    np.testing.assert_allclose(rows[["share_in_1", "share_out_1"]], 1)
    assert rows["is_key"].all()


def test_a_frequency_without_weight_is_no_key_and_a_dead_neuron_has_no_width():
    light = adding(P, [5, 5, 9], [0.0, 2.0, 1.0], c=[1, 1, 0.001])
    assert measure("neurons", trained(light))["is_key"].tolist() == [True, True, False]
    dead = adding(P, [5, 5, 9], [0.0, 2.0, 1.0], e=[1, 1, 0])
    assert measure("neurons", trained(dead))["width_1"].tolist() == pytest.approx([PI, PI, 0])
    assert measure("error_table", trained(dead))["frequency"].tolist() == [5]


def test_seven_neurons_of_one_frequency_add_without_an_error_when_psi_is_plus_two_phi():
    rows = measure("accuracy", trained(adding(59, 3, spaced(7)), 59, steps=(0, 10)))
    assert rows["step"].tolist() == [0, 10]
    assert (rows["accuracy_1"] == 1).all()
    assert (rows["smallest_margin_nats"] > 0).all()


def test_with_the_printed_sign_the_network_names_minus_the_sum():
    weights = adding(59, 3, spaced(7), -2 * spaced(7))
    assert row("accuracy", weights, 59)["accuracy_1"] < 0.05
    x, y = np.indices((59, 59))
    assert (circuits.logits(weights).argmax(axis=2) == -(x + y) % 59).all()


# Sums and their bounds


def test_error_table_has_a_row_per_key_frequency_and_its_bounds_hold():
    rows = measure("error_table", trained(like_trained(3)))
    assert rows["frequency"].tolist() == [3, 8]
    assert rows["neurons"].tolist() == [21, 15]
    assert rows["weight_share_1"].sum() == pytest.approx(1)
    assert (rows["abs_error_1"] <= rows["total_bound_1"]).all()
    assert (rows["abs_error_cosine_1"] <= rows["abs_error_1"]).all()
    least = rows[["box_bound_1", "folded_bound_1"]].min(axis=1)
    np.testing.assert_allclose(rows["total_bound_1"], least + rows["angle_bound_1"])


def test_with_the_printed_sign_the_sine_sum_has_the_wrong_sign():
    right, wrong = (row("sums", adding(P, 4, spaced(21), slope * spaced(21))) for slope in (2, -2))
    np.testing.assert_allclose(right[["cosine_slope_1", "sine_slope_1"]].astype(float), 2 / 3, atol=0.01)
    assert min(right["cosine_r2_1"], right["sine_r2_1"]) > 0.999
    assert wrong["cosine_r2_1"] > 0.999
    assert wrong["sine_slope_1"] == pytest.approx(-2 / 3, abs=0.01)
    assert wrong["sine_r2_1"] == pytest.approx(0, abs=1e-12)


def test_equal_boxes_at_equal_phases_are_centred():
    found = row("sums", adding(P, 4, spaced(21)))
    assert found["width_sum_rad"] == pytest.approx(2 * PI, abs=1e-12)
    assert found["centre_distance_widths"] == pytest.approx(0, abs=1e-9)
    random = np.random.default_rng(0).uniform(-PI, PI, 1000)
    assert row("sums", adding(P, 4, random))["centre_distance_widths"] > 2


def test_the_sign_that_equation_1_leaves_out_is_measured_as_by_brute_force():
    weights, k = like_trained(2), 8
    rows = measure("sign_inside", trained(weights)).set_index(["frequency", "part"])
    neurons = circuits.neurons(weights)
    of_k = neurons.frequency == k
    x, y, z = np.indices((P, P, P))[..., None]
    D, cosine = (np.cos(PI * k * (x + s * y) / P + phase) for s, phase in ((-1, 0), (1, neurons.phi[of_k])))
    out = neurons.weight[of_k] * np.cos(2 * PI * k * z / P + neurons.psi[of_k])
    parts = {"abs": lambda u: np.abs(u) / 2, "identity": lambda u: u / 2, "relu": lambda u: np.maximum(u, 0)}
    for name, part in parts.items():
        right, printed_form = (part(D * cosine) * out).sum(-1), (np.abs(D) * part(cosine) * out).sum(-1)
        rms = np.sqrt(np.mean(right**2))
        assert rows.loc[(k, name), "rms_nats"] == pytest.approx(rms)
        missed = np.sqrt(np.mean((right - printed_form) ** 2)) / rms
        assert rows.loc[(k, name), "difference_1"] == pytest.approx(missed, abs=1e-9)
    assert rows.loc[(k, "abs"), "difference_1"] == pytest.approx(0, abs=1e-12)
    assert rows.loc[(k, "identity"), "difference_1"] > 1


# Logits


def test_coefficients_of_a_hand_built_network_are_those_by_hand():
    """OV = c cos(kx + phi) + b cos(2kx + 2 phi + pi), embed = a cos(2ky + 2 phi + pi), W_out = e cos(kz + 2 phi)."""
    k, n, c, b, a, e = 5, 24, 1.5, 0.2, 0.3, 0.7
    phi = spaced(n)
    ov = waves(k, phi, c) + waves(2 * k, 2 * phi + PI, b)
    found = row("coefficients", network(ov, waves(k, 2 * phi, e), waves(2 * k, 2 * phi + PI, a)))
    # amplitude of cos(kz - 2kx): 1/2 of ReLU(u), 1/2 of cos cos, n neurons, minus for the phase pi
    assert found["ov_cosine_nats"] == pytest.approx(-n * e * b / 4)
    assert found["embed_cosine_nats"] == pytest.approx(-n * e * a / 4)
    assert found["ov_sine_nats"] == pytest.approx(0, abs=1e-12)
    assert found["identity_coefficient_nats"] == pytest.approx(-n * e * (2 * b + a) / 4)
    assert found["predicted_abs_nats"] == pytest.approx(2 * n * c * e / (3 * PI))
    alone = row("coefficients", adding(P, k, phi, c=c, e=e))
    assert alone["abs_coefficient_nats"] == pytest.approx(alone["predicted_abs_nats"], rel=0.02)
    assert alone["identity_coefficient_nats"] == pytest.approx(0, abs=1e-10)
    assert alone["joint_abs_nats"] == pytest.approx(alone["abs_coefficient_nats"], rel=0.02)


def test_a_network_of_one_quadrature_follows_the_law_of_its_absolute_part():
    r2 = measure("regressions", trained(adding(P, 4, spaced(25)))).set_index(["part", "law"])["r2_1"]
    assert min(r2["abs", "abs"], r2["logits", "abs"]) > 0.9999
    assert r2["logits", "cosine"] == pytest.approx(8 / PI**2, abs=0.01)


@given(st.integers(0, 2**32 - 1))
@settings(max_examples=20, deadline=None)
def test_twice_id1_and_once_id2_is_the_coefficient_in_the_logits(seed):
    ov, out, embed = np.random.default_rng(seed).normal(size=(3, 11, 6))
    rows = measure("coefficients", trained(network(ov, out, embed), p=11))
    whole = 2 * rows["ov_cosine_nats"] + rows["embed_cosine_nats"]
    np.testing.assert_allclose(rows["identity_coefficient_nats"], whole, atol=1e-10)


# Angles by hand, costs, certificate


def test_the_law_holds_at_every_prime_and_both_accuracies_agree():
    rows = measured()["hand_coded_law"]
    assert (rows["perfect"] == rows["predicted_perfect"]).all()
    beside = rows.dropna(subset="forward_accuracy_1")
    assert set(beside.loc[beside["n"] == 5, "p"]) == {113, 127}
    assert not set(beside["n"]) & {7, 9, 11}  # their thresholds lie above
    np.testing.assert_allclose(beside["accuracy_1"], beside["forward_accuracy_1"], atol=1e-12)
    law = fitted_law(rows)
    assert (law.constant, law.exponent) == (pytest.approx(3.73, abs=0.01), pytest.approx(-3.08, abs=0.01))


def test_a_regular_spacing_errs_least_and_chance_most():
    rows = measured()["angle_controls"]
    assert (rows["regular_error_1"] < rows["jittered_error_1"]).all()
    assert (rows["jittered_error_1"] < rows["random_error_1"]).all()
    assert (rows["random_low_1"] < rows["random_error_1"]).all()
    np.testing.assert_allclose(rows["abs_error_1"], rows["two_phi_error_1"], rtol=1e-4)
    grids = measured()["hand_coded_grids"].groupby("grid")["accuracy_1"].mean()
    assert grids["regular"] > grids["jittered"] > grids["random"]


def test_the_cost_of_the_bounds_does_not_depend_on_p():
    costs = measured()["bound_cost"]
    assert (costs["operations_1"] == costs["multiplications_1"] + costs["comparisons_1"]).all()
    assert (costs["time_s"] > 0).all()
    counts = costs.groupby(["procedure", "neurons"])["operations_1"].nunique().unstack("neurons")
    assert counts.loc[[PAPER_BOUND, MOMENT_BOUND]].to_numpy().max() == 1
    assert counts.loc[BRUTE_FORCE, 64] == len(PRIMES)


def test_growth_is_read_off_at_one_size_and_overhead_is_left_out():
    costs = measured()["bound_cost"]
    assert operations.rows_over_p(costs)["neurons"].unique().tolist() == [128]
    assert operations.rows_over_neurons(costs)["p"].unique().tolist() == [operations.P]
    assert operations.fitted_rows(costs, "neurons", "time_s")["neurons"].min() == operations.TIMED_FROM
    assert len(operations.fitted_rows(costs, "neurons", "operations_1")) == len(costs)


def test_the_angles_that_are_timed_are_like_trained_ones():
    rule = draw(128)
    assert rule.width.sum() == pytest.approx(2 * PI)
    np.testing.assert_allclose(wrap(rule.psi - 2 * rule.phi), 0, atol=1e-12)
    assert 0.005 < largest_error("abs", np.linspace(-PI / 2, PI / 2, 721), rule) < 0.1


def test_a_certificate_has_a_row_per_level():
    rows = measured()["certificate"]
    one = rows[rows["seed"] == 0]
    assert one["level"].tolist() == ["truth", "hidden", *["structured"] * 6, "story"]
    assert one["terms"].tolist() == [0, 0, 1, 5, 17, 41, 81, 133, 1]
    assert (one["largest_excess_nats"] <= 0).all()
    assert one["true_accuracy_1"].unique() == [1.0]
    by_terms = one[one["level"] == "structured"]
    assert by_terms["smallest_bound_nats"].is_monotonic_increasing
    assert by_terms["operations"].is_monotonic_increasing
