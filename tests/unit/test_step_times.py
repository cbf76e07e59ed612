"""The seconds of a step by its size, as benchmarks/rates.py fits them for `allmlp plan`."""

import json
from collections.abc import Callable
from pathlib import Path

import numpy as np
import pandas as pd
import pytest
from benchmarks import rates
from hypothesis import given
from hypothesis import strategies as st

from allmlp.plan.device_types import RATES, StepTime

FASTEST = 1e11


def points(of: StepTime, sizes: list[tuple[float, float]], name: str = "mlp") -> pd.DataFrame:
    rows = [(name, flops, parameters, of.seconds(flops, parameters), 1) for flops, parameters in sizes]
    return pd.DataFrame(rows, columns=rates.POINT)


SIZES = [(1e8, 1e5), (3e8, 2e6), (1e9, 4e5), (4e9, 9e6)]


@given(st.floats(1e-4, 1e-1), st.floats(2 / FASTEST, 100 / FASTEST), st.floats(1e-9, 1e-7))
def test_the_three_numbers_come_back(step_s: float, s_per_flop: float, s_per_parameter: float) -> None:
    true = StepTime(step_s, s_per_flop, s_per_parameter, 4e9)
    found = rates.fit(points(true, SIZES), FASTEST)
    for flops, parameters in (*SIZES, (2e9, 1e6)):
        assert found.seconds(flops, parameters) == pytest.approx(true.seconds(flops, parameters), rel=0.02)
    assert found.largest_flops == 4e9


def test_no_operation_is_faster_than_in_the_fastest_step_of_the_device() -> None:
    flat = points(StepTime(0.02, 0.0, 0.0, 0), SIZES)
    assert rates.fit(flat, FASTEST).s_per_flop == pytest.approx(1 / FASTEST)


def test_two_sizes_say_nothing_of_bytes_and_one_has_the_share_that_others_have() -> None:
    two = rates.fit(points(StepTime(0.01, 3e-11, 1e-8, 0), SIZES[:2]), FASTEST)
    assert two.s_per_parameter == 0
    other, single = StepTime(0.01, 3e-11, 0.0, 0), StepTime(0.0, 4e-10, 0.0, 0)
    found, _ = rates.fit_all(pd.concat([points(other, SIZES), points(single, SIZES[:1], "llama")], ignore_index=True))
    one = found["llama"]
    assert one.seconds(*SIZES[0]) == pytest.approx(single.seconds(*SIZES[0]), rel=0.01)
    assert one.step_s / one.seconds(*SIZES[0]) == pytest.approx(0.01 / other.seconds(1e8, 0), rel=0.05)


def test_the_error_is_that_of_sizes_that_the_fit_has_not_seen() -> None:
    true = StepTime(0.001, 3e-11, 0.0, 0)  # a small step_s: no operation is faster than in the fastest whole step
    _, error = rates.fit_all(points(true, SIZES))
    assert error == {"median": pytest.approx(1, abs=0.02), "p90": pytest.approx(1, abs=0.05), "points": 4}
    errors = []
    for factor in (1, 2, 4):
        crooked = points(true, SIZES).assign(seconds=lambda of, by=factor: of["seconds"] * [1, by, 1, by])
        errors.append(rates.fit_all(crooked)[1]["p90"])
    assert errors == sorted(set(errors)), "the less a line fits, the larger it is"
    assert rates.fit_all(points(true, SIZES[:2]))[1] == {}, "of two sizes one would say nothing"


def test_times_go_on_where_they_were_and_an_error_is_kept_and_not_tried_again(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    tried = []

    def update(size: rates.Size, *_: object) -> Callable[[], None]:
        tried.append(size.architecture)
        if size.architecture == "llama":
            raise RuntimeError("out of memory")
        return lambda: None

    monkeypatch.setattr(rates, "update", update)
    monkeypatch.chdir(tmp_path)
    rates.timed("cpu", tmp_path / "steps.json")
    found = json.loads((tmp_path / "steps.json").read_text())
    assert found["complete"] == ["plain"]
    assert set(found["not_timed"].values()) == {"llama: out of memory"}
    assert len(found["points"]) + len(found["not_timed"]) == len(tried)
    assert {"masked-mixer", "causal-rn", "mlp"} <= {point["architecture"] for point in found["points"]}
    tried.clear()
    rates.timed("cpu", tmp_path / "steps.json")
    assert tried == []


def test_the_grid_of_a_gpu_varies_width_context_and_batch_and_has_every_language_model() -> None:
    sizes = {of[0].architecture: of for of in rates.grid("cuda")}
    assert {"masked-mixer", "llama", "dct-mlp", "triangular", "hybrid", "mlp", "gpt2-last"} <= sizes.keys()
    widths = {size.hyperparameters["d_model"] for size in sizes["causal-rn"]}
    assert {min(widths), max(widths)} == {64, 2048}
    assert len({size.hyperparameters["context"] for size in sizes["causal-rn"]}) > 2
    assert len({size.sequences for size in sizes["causal-rn"]}) > 1
    assert all(len({size.key(False) for size in of}) == len(of) for of in sizes.values())


@pytest.mark.usefixtures("in_project", "committed_results")
def test_the_estimates_on_a_cpu_are_within_a_third_in_the_median_of_runs_and_of_sizes() -> None:
    table = json.loads(RATES.read_text(encoding="utf-8"))["cpu"]
    measured, _ = rates.recorded("cpu")
    rows = measured[["architecture", "flops", "parameters"]].itertuples(index=False)
    predicted = [StepTime(**table["steps"][name]).seconds(flops, parameters) for name, flops, parameters in rows]
    ratio = np.exp(np.abs(np.log(predicted / measured["seconds"])))
    assert np.median(ratio) < 1.3
    assert np.median(np.repeat(ratio, measured["n"])) < 1.3
