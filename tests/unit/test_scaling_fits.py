"""Study 000's scaling: counts by formula, budgets into steps, parabolas, power laws, bootstrap."""

import numpy as np
import pandas as pd
import pytest
import torch

from allmlp import models
from allmlp.common.errors import UserError
from allmlp.models.backbone import Backbone
from allmlp.models.flops import parameters
from allmlp.studies.language.isoflop import bootstrap, exponents, minima, parabola, pool_seeds, slope
from allmlp.studies.language.runs import scaling

WIDTHS = [(257, 7, 6, 10, 2), (1024, 15, 24, 288, 2), (1024, 15, 24, 96, 6), (50, 3, 2, 1, 1)]


@pytest.mark.parametrize("values", WIDTHS)
@pytest.mark.parametrize("name", scaling.PARAMETERS)
def test_weights_by_formula_are_those_of_the_built_model(name, values):
    given = dict(zip(("vocabulary", "context", "d_model", "d_mlp", "n_blocks"), values, strict=True))
    heads = {"n_heads": 1} if name == "gpt2-last" else {}
    with torch.device("meta"):
        model = models.build(name, **given, **heads)
    assert scaling.PARAMETERS[name](*values) == parameters(model)["total"]


def test_a_budget_is_spent_to_half_an_update_and_one_that_buys_none_is_refused():
    weights, batch = 18_632, 256
    steps = scaling.budget_steps(3e10, weights, batch)
    assert abs(6 * weights * batch * steps - 3e10) <= 6 * weights * batch / 2
    with pytest.raises(UserError, match=r"budget_flops=1e\+06: less than one update of 18,632 weights on 256 targets"):
        scaling.budget_steps(1e6, weights, batch)


@pytest.mark.parametrize("d", [16, 24, 512])
@pytest.mark.parametrize("w", [96, 288, 16384])
def test_six_blocks_have_the_weights_of_two_within_five_percent(d, w):
    two = scaling.mlp(1024, 15, d, w, 2)
    six = scaling.mlp(1024, 15, d, scaling.equal_size_width(w, 2, 6), 6)
    assert six == pytest.approx(two, rel=0.05)


def test_only_the_last_position_computed_is_the_full_pass_in_loss_and_gradient():
    torch.manual_seed(0)
    model = models.build("gpt2-last", vocabulary=50, context=15, d_model=16, d_mlp=64, n_heads=4, n_blocks=3).double()
    tokens = torch.randint(0, 50, (8, 15), generator=torch.Generator().manual_seed(1))
    weights = list(model.blocks.parameters())
    short, whole = model.hidden(tokens), Backbone.hidden(model, tokens)
    torch.testing.assert_close(short, whole, rtol=1e-12, atol=1e-12)
    for a, b in zip(*(torch.autograd.grad(x.pow(3).sum(), weights) for x in (short, whole)), strict=True):
        torch.testing.assert_close(a, b, rtol=1e-9, atol=1e-9)


def test_a_parabola_is_found_again_whatever_its_units():
    x = np.geomspace(1e4, 1e6, 5)
    loss = 3.5 + 0.07 * (np.log(x) - np.log(9e4)) ** 2
    fit = parabola(x, loss)
    assert (np.exp(fit.log_vertex), fit.lowest, fit.curvature) == pytest.approx((9e4, 3.5, 0.07), rel=1e-9)
    assert fit.side == "inside"
    assert fit(x) == pytest.approx(loss, rel=1e-12)
    tenfold = parabola(10 * x, loss)
    assert tenfold.log_vertex - fit.log_vertex == pytest.approx(np.log(10), rel=1e-12)


def test_a_parabola_is_the_least_squares_one():
    rng = np.random.default_rng(0)
    x, loss = np.geomspace(1e3, 1e5, 7), rng.normal(size=7) ** 2 + 0.1 * (np.arange(7) - 3) ** 2
    coefficients = np.polyfit(np.log(x), loss, 2)
    assert parabola(x, loss)(x) == pytest.approx(np.polyval(coefficients, np.log(x)), rel=1e-8)


@pytest.mark.parametrize(("vertex", "side"), [(2e3, "below"), (5e4, "inside"), (9e6, "above")])
def test_a_vertex_outside_the_sizes_tried_is_said_to_be_outside(vertex, side):
    x = np.geomspace(1e4, 1e6, 4)
    assert parabola(x, 0.1 * np.log(x / vertex) ** 2).side == side


def test_a_hill_has_no_minimum_and_neither_has_a_loss_that_is_none():
    x = np.geomspace(1e4, 1e6, 4)
    assert parabola(x, -0.1 * np.log(x / 1e5) ** 2).side == "nowhere"
    assert parabola(x, [1.0, np.nan, 1.0, 2.0]).side == "nowhere"


def test_two_sizes_are_no_parabola():
    with pytest.raises(ValueError, match="a parabola needs 3 sizes, there are 2"):
        parabola([1e4, 1e4, 1e5], [1.0, 2.0, 3.0])


def test_a_slope_of_logarithms_is_the_exponent():
    x = np.array([1e10, 3e10, 1e11])
    assert slope(x, 7 * x**0.49) == pytest.approx(0.49, rel=1e-12)
    assert np.isnan(slope(x[:1], x[:1]))


def runs(exponent: float = 0.5, noise: float = 0.0, seeds: int = 5, model: str = "mlp") -> pd.DataFrame:
    """Runs whose best size is 2e4 (C / 1e10)^exponent, by an exact parabola, at three budgets of five sizes."""
    rng = np.random.default_rng(1)
    rows = []
    for budget in (1e10, 3e10, 1e11):
        best = 2e4 * (budget / 1e10) ** exponent
        for size in best * np.geomspace(0.2, 6, 5):
            for seed in range(seeds):
                loss = 5 - 0.2 * np.log(budget / 1e10) + 0.1 * np.log(size / best) ** 2 + noise * rng.normal()
                rows.append((model, seed, budget, size, budget / (6 * size), 0.5 * budget, loss))
    columns = ["model", "seed", "budget_flops", "parameters", "supervised_tokens", "counted_flops", "validation_nats"]
    return pd.DataFrame(rows, columns=columns).assign(part="scaling", epochs_1=0.5, run=range(len(rows)))


def test_exponents_are_found_again_and_add_up_to_one():
    laws = exponents(minima(runs(0.3)))
    assert laws["size_1"].to_numpy() == pytest.approx(0.3, abs=1e-9)
    assert laws["data_1"].to_numpy() == pytest.approx(0.7, abs=1e-9)
    assert set(laws["budgets"]) == {3}


def test_a_budget_whose_minimum_is_outside_takes_no_part():
    rows = runs(0.5)
    cut = rows[(rows["budget_flops"] < 1e11) | (rows["parameters"] > 5e4)]
    found = minima(cut)
    assert set(found.loc[found["budget_flops"] == 1e11, "side"]) == {"below"}
    laws = exponents(found)
    assert set(laws["budgets"]) == {2}
    assert laws["size_1"].to_numpy() == pytest.approx(0.5, abs=1e-9)
    one = exponents(minima(cut[cut["budget_flops"] > 1e10]))
    assert one["size_1"].isna().all()


def test_minima_name_the_best_run_tried():
    rows = runs(0.5, noise=0.05)
    found = minima(rows).set_index(["seed", "budget_flops"])
    for key, cell in rows.groupby(["seed", "budget_flops"]):
        best = cell.loc[cell["validation_nats"].idxmin()]
        assert found.loc[key, ["best_nats", "best_parameters", "best_counted_flops"]].tolist() == [
            best["validation_nats"],
            best["parameters"],
            best["counted_flops"],
        ]


def test_pooled_runs_are_means_over_seeds():
    rows = runs(noise=0.1)
    means = pool_seeds(rows).set_index(["budget_flops", "parameters"])["validation_nats"]
    expected = rows.groupby(["budget_flops", "parameters"])["validation_nats"].mean()
    pd.testing.assert_series_equal(means, expected, check_names=False)


def test_a_bootstrap_is_the_same_twice_and_covers_what_made_the_runs():
    rows = runs(0.5, noise=0.02)
    first, again = bootstrap(rows, draws=200), bootstrap(rows, draws=200)
    pd.testing.assert_frame_equal(first, again)
    row = first.iloc[0]
    assert row["size_low"] < 0.5 < row["size_high"]
    assert row["data_low"] < 0.5 < row["data_high"]
    assert row["share_1"] == 1.0
    exact = bootstrap(runs(0.5), draws=20).iloc[0]
    assert exact["size_high"] - exact["size_low"] == pytest.approx(0, abs=1e-9)
    wider = bootstrap(runs(0.5, noise=0.1), draws=200).iloc[0]
    assert wider["size_high"] - wider["size_low"] > 2 * (row["size_high"] - row["size_low"])
