"""The learning curves that the page offers: the committed measurements, thinned, with every seed."""

import numpy as np
import pandas as pd
import pytest

from allmlp.judging import evidence, selection
from allmlp.report import learning_curves
from allmlp.report.names import display
from allmlp.spec import catalogue
from allmlp.studies.mixers import page
from tests.conftest import PROJECT


def rows(variant: str, seed: int, losses: dict[int, float], seconds: float = 2.0) -> pd.DataFrame:
    """Of one run of study 001, with what it cost."""
    last = max(losses)
    found = pd.DataFrame({"step": list(losses), "validation_nats": list(losses.values())})
    return found.assign(
        run=f"{variant}-{seed}", seed=seed, variant=variant, model="no-benchmark", part="training", size="base",
        padding="right", d_model=8, n_blocks=1, batch_size=2, text="documents", schedule="constant", corpus="c",
        train_nats=found["validation_nats"] - 0.5, flops=100 * found["step"], seconds_per_step=seconds,
        seconds=0.0, supervised_tokens=16 * last, steps_done=last,
    )  # fmt: skip


def one(name: str, *runs: pd.DataFrame, scale: str = "workstation") -> learning_curves.Series:
    found = learning_curves.series(page.CURVES, pd.concat(runs, ignore_index=True), scale)
    return next(series for series in found if series["name"] == display(name))


def test_a_series_holds_every_seed_and_the_amounts_of_a_step() -> None:
    flat = one("flat", rows("flat", 0, {0: 7.0, 5: 6.12344, 10: 5.0}), rows("flat", 1, {0: 7.0, 5: 6.0, 10: np.inf}))
    assert flat["losses"]["held-out"] == {"steps": [5, 10], "seeds": {"0": [6.1234, 5.0], "1": [6.0, None]}}
    assert flat["losses"]["training"]["seeds"]["0"] == [5.6234, 4.5]
    assert flat["per"] == {"steps": 1, "tokens": 16.0, "operations": 100.0, "seconds": 2.0}
    assert flat["shown"]


def test_seconds_of_shared_machines_are_not_offered() -> None:
    assert "seconds" not in one("flat", rows("flat", 0, {5: 6.0, 10: 5.0}), scale="long")["per"]


def test_a_long_curve_keeps_its_ends_and_few_points() -> None:
    points = one("flat", rows("flat", 0, {step: 1 / step for step in range(1, 5001)}))["losses"]["held-out"]
    assert len(points["steps"]) <= learning_curves.MOST
    assert (points["steps"][0], points["steps"][-1]) == (1, 5000)


def test_models_differ_in_colour_or_dash_and_headlines_come_first() -> None:
    found = learning_curves.series(
        page.CURVES,
        pd.concat([rows(name, 0, {5: 1.0, 10: 1.0}) for name in [*(f"heads-{n}" for n in range(19, 1, -1)), "flat"]]),
        "workstation",
    )
    assert [series["name"] for series in found][:2] == ["flat mixer", "mixer, 2 heads"]
    both = pd.concat([rows("expanded", 0, {5: 1.0, 10: 1.0}), rows("flat", 0, {5: 1.0, 10: 1.0})])
    of_figure = learning_curves.series(page.CURVES, both, "workstation")
    assert [(series["name"], series["dash"]) for series in of_figure] == [("flat mixer", 0), ("expanded mixer", 1)]
    assert len({(series["colour"], series["dash"]) for series in found}) == len(found)


@pytest.mark.parametrize("study", ["language", "mixers"])
def test_the_ends_of_the_committed_curves_are_as_measured(study: str, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.chdir(PROJECT)
    of_study = catalogue.module(study, "page").CURVES
    texts = learning_curves.texts(study, of_study, selection.read()["corpora"])
    assert len(texts) > 1
    measured = evidence.evidence_by_overlay(study).values(), evidence.evidence_by_scale(study).values()
    tables = [
        at.table(of_study.measure) for sources in measured for at in sources if at.measured_runs(of_study.measure)
    ]
    known = set(pd.concat(tables)["validation_nats"].dropna().round(learning_curves.DECIMALS))
    for text in texts:
        for series in text["series"]:
            for losses in series["losses"]["held-out"]["seeds"].values():
                assert losses[-1] is None or losses[-1] in known
