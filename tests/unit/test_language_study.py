"""Study 000's slice: measures of a run, verdicts by the rules of claims.yaml, figures with stable bytes."""

from types import SimpleNamespace

import numpy as np
import pandas as pd
import pytest
import torch

from allmlp.common.errors import UserError
from allmlp.studies.language import profiles
from allmlp.studies.language.measures.classes import neuron_classes
from allmlp.studies.language.measures.energies import concentration, l1_l2
from allmlp.studies.language.measures.losses import MOST_ROWS, loss_curve
from tests import exhibits, judging

T, D, SEEDS = 15, 16, range(6)
KEPT = [0, 1, 3, 10, 50, 95, 190]
LABELS = {"model": "mlp", "part": "neurons", "d_model": D, "context": T}


def run(seed: int = 0, steps: int = 200, weight_decay: float = 0.5) -> SimpleNamespace:
    """A trained run as measures see it, with weights that turn from random into unigrams and equal rows."""
    rng = np.random.default_rng(seed)
    start = rng.uniform(-1, 1, (20, T, D)) / np.sqrt(T * D)
    end = np.repeat(rng.normal(size=(20, 1, D)), T, axis=1)
    end[:12, :-1] = 0
    weights = {
        step: {"first.weight": torch.tensor((start * (1 - step / steps) + end * step / steps).reshape(20, -1))}
        for step in [*KEPT, steps]
    }
    log = pd.DataFrame({"step": range(steps), "loss": np.linspace(6, 2, steps) + 0.1 * rng.normal(size=steps)})
    log["learning_rate"] = 0.25
    log["validation_loss"] = log["loss"].where(log["step"].isin(KEPT))
    described = SimpleNamespace(
        labels=LABELS,
        steps=steps,
        hyperparameters={"context": T},
        optimiser={"weight_decay": weight_decay},
        tokens=None,
    )
    ending = {"steps_done": steps, "validation_loss": 2.5}
    return SimpleNamespace(run=described, log=log, steps=[*KEPT, steps], weights=weights.__getitem__, ending=ending)


@pytest.fixture(scope="module")
def tables() -> dict[str, pd.DataFrame]:
    measures = {"neuron_classes": neuron_classes, "l1_l2": l1_l2, "loss_curve": loss_curve}
    of_runs = {
        name: [measure(run(seed)).assign(run=f"mlp-{seed}", seed=seed, **LABELS) for seed in SEEDS]
        for name, measure in measures.items()
    }
    return {name: pd.concat(parts, ignore_index=True) for name, parts in of_runs.items()}


@pytest.mark.parametrize("measure", [neuron_classes, l1_l2, concentration, loss_curve])
def test_a_measure_gives_the_same_twice(measure):
    rows = measure(run())
    pd.testing.assert_frame_equal(rows, measure(run()))


def test_classes_are_measured_at_every_kept_step_under_both_readings():
    rows = neuron_classes(run())
    assert sorted(set(rows["step"])) == [*KEPT, 200]
    assert list(rows.loc[rows["step"] == 3, "reading"]) == ["paper", "relative"]
    last = rows[(rows["step"] == 200) & (rows["reading"] == "relative")].iloc[0]
    assert (last["n_gram_share_1"], last["bag_of_words_share_1"]) == (12 / 20, 8 / 20)
    np.testing.assert_allclose(rows.filter(like="_share_1").sum(axis=1), 1.0)


def test_wear_counts_the_updates_that_were_done():
    rows = neuron_classes(run(weight_decay=0.5)).drop_duplicates("step").set_index("step")
    assert rows["wear_1"].loc[[0, 1, 200]].tolist() == [0.0, 0.125, 25.0]


def test_half_of_training_is_the_kept_step_nearest_to_it():
    assert profiles.moments(run()) == {"start": 0, "half": 95, "end": 200}
    assert profiles.moments(SimpleNamespace(steps=[0, 90, 110, 200], run=run().run))["half"] == 90
    rows = l1_l2(run())
    assert rows["bound_1"].unique() == pytest.approx([np.sqrt(T)])
    assert rows.groupby("moment", sort=False)["step"].unique().explode().to_dict() == {
        "start": 0,
        "half": 95,
        "end": 200,
    }


def test_a_long_log_is_thinned_but_keeps_its_ends_and_its_validation_losses():
    rows = loss_curve(run(steps=5000))
    assert MOST_ROWS / 2 < len(rows) <= MOST_ROWS + len(KEPT) + 1
    assert set(rows.dropna(subset=["loss_nats", "validation_nats"])["step"]) == set(KEPT)
    assert rows["step"].iloc[[0, -1]].tolist() == [0, 5000]
    assert rows["validation_nats"].iloc[-1] == 2.5


def test_an_architecture_without_a_first_layer_is_named():
    other = run()
    other.weights = lambda step: {"embedding.weight": torch.zeros(2, 2)}
    with pytest.raises(UserError, match=r"no weight 'first\.weight' but embedding\.weight"):
        neuron_classes(other)


def shares(n_gram: list[float], words: list[float], wear: float = 30.0, reading: str = "relative") -> pd.DataFrame:
    """Rows of neuron_classes over steps 0, 10, 50, 100 for six seeds that differ a little."""
    parts = []
    for seed in SEEDS:
        jitter = 1 + 0.01 * (seed - 2.5)
        rows = pd.DataFrame({"step": [0, 10, 50, 100], "n_gram_share_1": n_gram, "bag_of_words_share_1": words})
        rows[["n_gram_share_1", "bag_of_words_share_1"]] *= jitter
        parts.append(rows.assign(run=f"r{seed}", seed=seed, reading=reading, wear_1=wear * rows["step"] / 100))
    return pd.concat(parts, ignore_index=True).assign(d_model=64, part="neurons")


@pytest.mark.parametrize(
    ("n_gram", "words", "wear", "expected"),
    [
        ([0, 0.4, 0.5, 0.5], [0, 0, 0.1, 0.4], 30, ["reproduced", "reproduced", "reproduced"]),
        ([0, 0.4, 0.9, 0.9], [0, 0, 0, 0], 30, ["reproduced", "contradicted", "contradicted"]),
        ([0, 0.4, 0.9, 0.9], [0, 0, 0, 0], 1, ["reproduced", "undecided", "undecided"]),
        ([0, 0, 0.2, 0.3], [0, 0.4, 0.4, 0.4], 30, ["contradicted", "contradicted", "reproduced"]),
        ([0, 0, 0, 0.01], [0, 0, 0, 0.01], 1, ["undecided", "undecided", "undecided"]),
    ],
)
def test_class_shares_are_judged_part_by_part(n_gram, words, wear, expected):
    found = judging.judged("000-5", neuron_classes=shares(n_gram, words, wear))
    assert [part.verdict for part in found.parts] == expected


def test_the_reading_that_decides_is_the_papers_at_its_width_only():
    right, wrong = (
        shares([0, 0.4, 0.5, 0.5], [0, 0, 0.1, 0.4]),
        shares([0] * 4, [0, 0.5, 0.5, 0.5], reading="paper"),
    )
    both = pd.concat([right, wrong], ignore_index=True)
    assert judging.judged("000-5", neuron_classes=both).verdict == "reproduced"
    at_512 = both.assign(d_model=512)
    assert judging.judged("000-5", neuron_classes=at_512).parts[0].verdict == "contradicted"


def ratios(end: list[float], wear: float) -> pd.DataFrame:
    parts = []
    for seed in SEEDS:
        rng = np.random.default_rng(seed)
        for moment, centres in (("start", [3.37]), ("end", end)):
            ratio = rng.choice(centres, 200) + 0.02 * rng.normal(size=200)
            parts.append(pd.DataFrame({"ratio_1": ratio.clip(1, np.sqrt(T)), "moment": moment, "seed": seed}))
    rows = pd.concat(parts, ignore_index=True)
    return rows.assign(bound_1=np.sqrt(T), wear_1=wear * (rows["moment"] == "end"), part="neurons")


@pytest.mark.parametrize(
    ("end", "wear", "expected"),
    [
        ([1.1, 3.8], 30, ["reproduced", "reproduced", "reproduced"]),
        ([2.0, 2.8], 30, ["reproduced", "reproduced", "contradicted"]),
        ([2.5], 30, ["reproduced", "contradicted", "contradicted"]),
        ([2.5], 5, ["reproduced", "undecided", "undecided"]),
    ],
)
def test_two_peaks_must_lie_at_the_ends_of_the_range(end, wear, expected):
    found = judging.judged("000-7", l1_l2=ratios(end, wear))
    assert [part.verdict for part in found.parts] == expected


def test_the_figure_says_the_floor_where_it_is_known(tables):
    figure, rows = exhibits.figure("language", "loss"), tables["loss_curve"]
    assert b"entropy of the grammar" not in exhibits.svg(figure, {"loss_curve": rows})
    assert b"entropy of the grammar" in exhibits.svg(figure, {"loss_curve": rows.assign(floor_nats=1.7)})


def test_the_table_says_the_end_of_training(tables):
    table = exhibits.table("language", "neuron_classes", tables)
    relative = table[table["reading"] == "relative"].set_index("class")
    assert relative["share_1"].to_dict() == pytest.approx(
        {"n-gram": 0.6, "bag-of-words": 0.4, "hybrid": 0.0, "dct-sparse": 0.0, "other": 0.0}
    )
    assert (table["seeds"] == len(SEEDS)).all()
