"""The rules on study 000's neurons: rows that hold each claim, and rows that break it."""

from itertools import product

import numpy as np
import pandas as pd
import pytest

from allmlp.judging.rules import NotPlannedError
from allmlp.studies.language import classification
from tests.judging import judged, parts
from tests.unit.known_neurons import SEEDS, as_claimed, ends, jitter, near


def by_class(n_gram: float, words: float, neurons: float = 20) -> pd.DataFrame:
    rows = [
        {"run": f"r{seed}", "seed": seed, "moment": moment, "reading": reading, "class": name, "neurons": neurons,
         "window_energy_1": n_gram * jitter(seed), "recent_energy_1": n_gram * jitter(seed),
         "constant_energy_1": words * jitter(seed), "part": "neurons"}
        for seed, moment, reading in product(SEEDS, ("start", "end"), ("paper", "relative"))
        for name in classification.CLASSES
    ]  # fmt: skip
    return pd.DataFrame(rows).assign(d_model=64)


@pytest.mark.parametrize("claim", ["000-6", "000-8"])
def test_energies_of_classes_are_judged_where_every_seed_has_ten_neurons(claim) -> None:
    assert parts(judged(claim, class_energies=by_class(0.97, 0.97))) == ["reproduced", "reproduced"]
    assert set(parts(judged(claim, class_energies=by_class(0.97, 0.5)))) == {"reproduced", "contradicted"}
    few = judged(claim, class_energies=by_class(0.97, 0.5, neurons=9))
    assert parts(few) == ["undecided", "undecided"]
    assert all(part.p == 1.0 and "as few as 9" in part.text for part in few.parts)


def spread(slope: float, part: str = "neurons", d_model: int = classification.PAPER_WIDTH) -> pd.DataFrame:
    """Neurons whose low frequencies follow their large rows, and whose ratios are each other's mirror."""
    tables = []
    for seed in SEEDS:
        rng = np.random.default_rng(seed)
        large = rng.integers(1, 16, 200)
        low = slope * large / 15 + 0.05 * rng.normal(size=200)
        ratio = np.where(rng.random(200) < 0.5, 1.2, 3.8) + 0.02 * rng.normal(size=200)
        tables.append(
            pd.DataFrame(
                {"large_rows": large, "low_energy_1": low, "ratio_1": ratio, "frequency_ratio_1": 5 - slope * ratio}
            ).assign(
                run=f"r{seed}",
                seed=seed,
                moment="end",
                part=part,
                wear_1=30.0,
                d_model=d_model,
                neuron=np.arange(200),
                bound_1=np.sqrt(15),
            )
        )
    return pd.concat(tables, ignore_index=True)


def test_rank_correlations_over_neurons() -> None:
    for table, verdict in (
        (spread(1.0), "reproduced"),
        (spread(-1.0), "contradicted"),
        (spread(1.0).assign(large_rows=15), "undecided"),
    ):
        assert judged("000-9", energy_map=table, l1_l2=table).verdict == verdict
    narrow = spread(1.0, d_model=64).assign(large_rows=15)  # raw norms say nothing there: rows in use are (l1/l2)^2
    for ratio, verdict in ((2 + narrow["low_energy_1"], "reproduced"), (9 - narrow["low_energy_1"], "contradicted")):
        assert judged("000-9", energy_map=narrow, l1_l2=narrow.assign(ratio_1=ratio)).verdict == verdict
    assert parts(judged("000-16", l1_l2=spread(1.0))) == ["reproduced", "reproduced", "reproduced"]
    assert parts(judged("000-16", l1_l2=spread(-1.0))) == ["contradicted", "reproduced", "contradicted"]
    fresh = spread(-1.0).assign(wear_1=3.0)
    assert parts(judged("000-16", l1_l2=fresh)) == ["undecided", "reproduced", "undecided"]


Energies = tuple[float, float, float]  # low, recent, constant
WAVE, HYBRID, N_GRAMS = (0.95, 0.3, 0.1), (0.9, 0.4, 0.5), (0.3, 0.9, 0.05)


def with_waves(share: float, wear: float = 30.0, start: float = 0.0, like: Energies = WAVE) -> pd.DataFrame:
    """Of a hundred neurons, so many that are `like` a wave at the start and at the end; the others are n-grams."""
    rows = [
        {"run": f"r{seed}", "seed": seed, "moment": moment, "part": "neurons", "wear_1": wear * (moment == "end"),
         "neuron": neuron}
        | dict(zip(("low_energy_1", "recent_energy_1", "constant_energy_1"),
                   like if neuron < round(100 * of) + (seed % 2 if of else 0) else N_GRAMS, strict=True))
        for seed, (moment, of) in product(SEEDS, (("start", start), ("end", share)))
        for neuron in range(100)
    ]  # fmt: skip
    return pd.DataFrame(rows)


@pytest.mark.parametrize("claim", ["000-10", "000-12"])
def test_low_waves_must_be_there_must_have_emerged_and_must_be_no_other_class(claim: str) -> None:
    assert judged(claim, energy_map=with_waves(0.1)).verdict == "reproduced"
    assert judged(claim, energy_map=with_waves(0.1, like=HYBRID)).value == 0, "low, but a constant and the last rows"
    assert judged(claim, energy_map=with_waves(0.1, like=(0.3, 0.1, 0.1))).value == 0, "in high frequencies"
    assert judged(claim, energy_map=with_waves(0.0, wear=1)).verdict == "undecided"
    assert judged(claim, energy_map=with_waves(0.1, start=0.1)).value == 0, "there before training"


def test_keywords_must_be_more_coherent_than_both_others() -> None:
    assert parts(judged("000-11", keywords=near(0.2, 0.1))) == ["reproduced", "reproduced"]
    assert parts(judged("000-11", keywords=near(0.2, 0.2))) == ["reproduced", "contradicted"]
    none = judged("000-11", keywords=near(0.2, 0.1, in_class=0.0))
    assert parts(none) == ["undecided", "undecided"]
    assert "as few as 0 of the 6" in none.parts[0].text


def test_claims_on_variations_that_hold() -> None:
    tables = ends(as_claimed)
    for claim in ("000-15", "000-own-3", "000-own-4", "000-own-5"):
        found = judged(claim, **tables)
        assert found.verdict == "reproduced", (claim, found.parts)


def test_claims_on_variations_that_do_not_hold() -> None:
    same = ends(lambda cell: (0.4, 0.3, 0.5, 0.5))
    assert parts(judged("000-15", **same)) == ["reproduced", "undecided"]
    for claim in ("000-own-3", "000-own-4"):
        assert parts(judged(claim, **same)) == ["contradicted", "contradicted"]
    assert parts(judged("000-own-5", **same)) == ["contradicted"] * 3
    fresh = ends(lambda cell: (0.4, 0.3, 0.5, 0.5), wear=2.0)
    assert parts(judged("000-own-3", **fresh)) == ["undecided", "undecided"]
    none = ends(lambda cell: (0.02, 0.02, 0.5, 0.5))
    assert parts(judged("000-own-3", **none)) == ["undecided", "contradicted"]
    assert parts(judged("000-own-4", **none)) == ["undecided", "contradicted"]


def test_three_widths_cannot_show_convergence_beyond_the_second() -> None:
    rows = ends(as_claimed)["neuron_classes"]
    found = judged("000-15", neuron_classes=rows[rows["d_mlp"] < 8192])
    assert parts(found) == ["undecided", "reproduced"]
    assert "128, 512, 2048" in found.parts[0].text


@pytest.mark.parametrize("claim", ["000-5", "000-6", "000-9", "000-10", "000-11", "000-12", "000-16"])
def test_rows_of_other_parts_do_not_judge_the_papers_claims(claim) -> None:
    tables = {
        "neuron_classes": ends(as_claimed)["neuron_classes"],
        "class_energies": by_class(1, 1).assign(part="variation"),
        "energy_map": spread(1.0, "variation"),
        "l1_l2": spread(1.0, "variation"),
        "keywords": near(0.2, 0.1).assign(part="variation"),
    }
    with pytest.raises(NotPlannedError, match="needs runs of neurons"):
        judged(claim, **tables)


def test_a_plan_without_controls_or_variations_is_named() -> None:
    tables = ends(as_claimed)
    no_controls = {name: rows[rows["part"] != "control"] for name, rows in tables.items() if name != "cost"}
    with pytest.raises(NotPlannedError, match="sentences shuffled"):
        judged("000-own-3", **no_controls)
    only_base = {name: rows[rows["run"].str.startswith("c0-")] for name, rows in tables.items()}
    with pytest.raises(NotPlannedError, match="several values of d_mlp"):
        judged("000-15", **only_base)
