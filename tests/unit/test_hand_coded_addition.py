"""The architecture that adds without training: its weights against its formula, and a run of no steps."""

import math
from dataclasses import replace

import numpy as np
import pytest
import torch

from allmlp import models
from allmlp.common import paths
from allmlp.common.errors import UserError
from allmlp.measurements.measurement import read
from allmlp.models.angles import GRIDS, fill, place
from allmlp.spec import catalogue
from allmlp.studies.quadrature import circuits
from allmlp.studies.quadrature.frequencies import wrap
from allmlp.training import checkpoint, measuring
from allmlp.training.published import TrainedRun
from tests import tiny
from tests.unit.known_addition import trained, written_out

NAME = "hand-coded-addition"


def build(**hyperparameters):
    return models.build(NAME, **{"vocabulary": 13, **hyperparameters})


def pairs(p):
    return torch.cartesian_prod(torch.arange(p), torch.arange(p))


def test_boxes_of_the_given_widths_lie_end_to_end():
    width = fill(4, [1, 2, 3, 2])
    assert width.sum() == pytest.approx(2 * np.pi)
    np.testing.assert_allclose(np.diff(place(width, "regular")), (width[1:] + width[:-1]) / 2)
    left = place(width, "regular", 0.7) - width / 2
    jittered = place(width, "jittered", 0.7, np.random.default_rng(0))
    assert ((left <= jittered) & (jittered <= left + width)).all()


def test_equal_boxes_give_equal_spacing_from_the_offset():
    np.testing.assert_allclose(place(fill(5), "regular", 0.2), 0.2 + 2 * np.pi * np.arange(5) / 5)


@pytest.mark.parametrize("grid", ["even", "jittered", "random"])
def test_a_grid_that_cannot_be_drawn_is_refused(grid):
    with pytest.raises(ValueError, match=grid):
        place(fill(3), grid)


@pytest.mark.parametrize("grid", GRIDS)
def test_the_network_is_its_formula(grid):
    model = build(frequencies=[2, 5], angles=6, grid=grid, widths=[1, 2, 1, 3, 2, 1], offset=0.4, seed=3)
    weights = circuits.weights(trained(model.state_dict(), p=13))
    read = circuits.neurons(weights)
    assert read.frequency.tolist() == read.frequency_out.tolist() == [2] * 6 + [5] * 6
    assert (read.share_in > 1 - 1e-6).all()
    np.testing.assert_allclose(wrap(read.psi - 2 * read.phi), 0, atol=1e-5)
    np.testing.assert_allclose(read.amplitude_in, 1, rtol=1e-6)
    np.testing.assert_allclose(read.amplitude_out.reshape(2, 6).sum(axis=1), 2 * np.pi, rtol=1e-6)
    expected = written_out(13, [2, 5], read.phi.reshape(2, 6), read.amplitude_out.reshape(2, 6))
    np.testing.assert_allclose(model(pairs(13)).detach().reshape(13, 13, 13), expected, atol=3e-6)
    if grid == "regular":
        np.testing.assert_allclose(wrap(read.phi[:6] - place(fill(6, [1, 2, 1, 3, 2, 1]), grid, 0.4)), 0, atol=1e-6)


def test_the_residual_stream_adds_exactly_nothing():
    model = build(frequencies=[1, 6])
    x, y = pairs(13).T
    assert torch.equal(model(torch.stack([x, y], 1)), model(torch.stack([y, x], 1)))
    with torch.no_grad():
        model.W_out.zero_()
    assert model(pairs(13)).eq(0).all()
    assert not model.hidden(pairs(13)).eq(0).all()  # it is there: the unembedding does not read it


def test_no_torch_seed_and_only_drawn_angles_obey_the_seed():
    for grid in GRIDS:
        first, again, other = [], [], []
        for torch_seed, seed, found in ((0, 0, first), (1, 0, again), (0, 1, other)):
            torch.manual_seed(torch_seed)
            found += build(grid=grid, seed=seed, frequencies=[1, 2]).state_dict().values()
        assert all(torch.equal(a, b) for a, b in zip(first, again, strict=True))
        assert all(torch.equal(a, b) for a, b in zip(first, other, strict=True)) == (grid == "regular")
    W_in = build(grid="random", frequencies=[1, 2]).W_in
    assert not torch.equal(W_in[4:6, :5], W_in[6:8, 5:])  # each frequency has its own angles


@pytest.mark.parametrize("p", [3, 5, 59])
def test_five_angles_add_without_training(p):
    assert (build(vocabulary=p)(pairs(p)).argmax(1) == pairs(p).sum(1) % p).all()


@pytest.mark.parametrize(
    ("options", "message"),
    [
        ({"vocabulary": 9}, "vocabulary=9: it must be a prime above 2"),
        ({"vocabulary": 2}, "vocabulary=2: it must be a prime above 2"),
        ({"vocabulary": 0}, "vocabulary=0"),
        ({"frequencies": []}, "at least one"),
        ({"frequencies": [1, 1]}, "different whole numbers"),
        ({"frequencies": [1.5]}, "different whole numbers"),
        ({"frequencies": 3}, "frequencies=3"),
        ({"frequencies": [1, 7]}, r"7 is not between 1 and \(p - 1\)/2 = 6"),
        ({"frequencies": [0]}, "0 is not between 1"),
        ({"angles": 0}, "angles=0"),
        ({"grid": "even"}, "one of regular, jittered, random"),
        ({"widths": [1, 2]}, "5 numbers above 0"),
        ({"widths": [1, 2, 3, 4, -1]}, "5 numbers above 0"),
        ({"widths": "wide"}, "5 numbers above 0"),
        ({"offset": math.nan}, "angle in rad"),
        ({"offset": "0"}, "angle in rad"),
        ({"seed": -1}, "seed=-1"),
    ],
)
def test_wrong_parameters_fail_at_once_and_name_the_way_out(options, message):
    with pytest.raises(UserError, match=message):
        build(**options)


def test_a_run_of_no_steps_goes_from_weights_to_a_comparison(tmp_path, monkeypatch):
    monkeypatch.chdir(tmp_path)
    monkeypatch.setenv(paths.DIRECTORY, str(tmp_path))
    measures = ("accuracy", "neurons", "error_table", "angle_controls", "cost")
    parameters = {"vocabulary": 31, "frequencies": [3, 7], "angles": 7}
    run = tiny.run(NAME, steps=0, keep=(), study="quadrature", hyperparameters=parameters, measures=measures)
    run = replace(run, task_parameters={"p": 31, "train_share": 0.8})
    checkpoint.produce(run)
    checkpoint.forget(run)
    found = TrainedRun(run)
    assert (found.steps, found.diverged, len(found.log)) == ([0], False, 0)
    untouched = build(**parameters).state_dict()
    assert all(torch.equal(found.weights()[name], weight) for name, weight in untouched.items())
    for measure in measures:
        rows = read(measuring.take(run, measure))[1].to_pandas()
        again = read(measuring.take(run, measure))[1].to_pandas()
        assert measuring.compare(again, rows, catalogue.measure(run.study, measure).columns).outcome == "identical"
        if measure == "accuracy":
            assert rows["accuracy_1"].tolist() == [1.0]
        if measure == "cost":
            assert rows[["steps_done", "counted_flops"]].iloc[0].tolist() == [0, 0]
