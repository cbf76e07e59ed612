"""Headings of tables, intervals beside their means, and figures in words."""

import numpy as np
import pandas as pd
import pytest

from allmlp.report import style
from allmlp.report.figure_text import MOST, describe_figure
from allmlp.report.headings import format_table, heading


@pytest.mark.parametrize(
    ("name", "said"),
    [
        ("word_share_1", "word share"),
        ("validation_nats", "validation (nats)"),
        ("fall_low_nats", "fall, low (nats)"),
        ("top_1", "top 1"),
        ("generation_tokens_per_s", "generation tokens per s"),
        ("nats_per_byte", "nats per byte"),
        ("p_exponent_paper_1", "p exponent paper"),
        ("kept_mb", "kept (MB)"),
        ("-D/C_1", "-D/C"),
        ("model", "model"),
    ],
)
def test_a_column_name_becomes_a_heading(name: str, said: str) -> None:
    assert heading(name) == said


@pytest.mark.parametrize(
    "names",
    [
        ("loss_nats", "loss_low_nats", "loss_high_nats"),
        ("loss_nats", "low", "high"),
        ("loss_nats", "loss_nats_low", "loss_nats_high"),
    ],
)
def test_an_interval_stands_beside_its_mean(names: tuple[str, str, str]) -> None:
    rows = pd.DataFrame([["1.23456", "1", "2", "5"], ["3", "nan", "nan", "1"]], columns=[*names, "seeds"])
    found = format_table(rows)
    assert list(found.columns) == ["loss (nats)", "seeds"]
    assert found["loss (nats)"].tolist() == ["1.235\u00a0[1,\u00a02]", "3"]


def test_a_second_interval_of_the_same_mean_keeps_its_columns() -> None:
    rows = pd.DataFrame([["1", "0", "2", "0.5", "1.5"]], columns=["a", "a_low", "a_high", "a_low_b", "a_high_b"])
    assert list(format_table(rows).columns) == ["a", "a b, low", "a b, high"]
    lone = pd.DataFrame([["0", "2"]], columns=["low", "high"])
    assert list(format_table(lone).columns) == ["low", "high"]


def test_a_figure_is_described_by_its_panels_and_the_ends_of_its_series() -> None:
    figure, ((left, right),) = style.canvas(2)
    left.plot([0, 10, 20], [4.1234, 3.5, np.nan], label="mlp")
    left.plot([0, 10], [9, 9], label="_unnamed")
    left.set(title="stories", xlabel="step", ylabel="loss (nats)")
    right.imshow(np.array([[0.0, 0.5], [1.0, np.nan]]))
    assert (
        describe_figure(figure)
        == (
            "Panel 1 of 2 (stories): loss (nats) against step. mlp: from 4.12 to 3.5. "
            "Panel 2 of 2: values, 2 rows and 2 columns of values from 0 to 1."
        )
        .replace("to 1.", "to 1. ")
        .strip()
    )


def test_a_description_of_many_series_ends() -> None:
    figure, ((axis,),) = style.canvas()
    for number in range(MOST + 3):
        axis.plot([0, 1], [number, number], label=f"series {number}")
    said = describe_figure(figure)
    assert "series 0: 0; " in said
    assert "; 3 further series. " in f"{said} "
