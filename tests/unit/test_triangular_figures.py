"""Study 004's figures and tables, drawn from made-up measurements of many seeds and of one."""

import numpy as np
import pandas as pd
import pytest

from allmlp.report.exhibits import of
from allmlp.studies.triangular.measures import parameter_counts, reach
from allmlp.studies.triangular.runs.settings import PUBLISHED
from tests import exhibits
from tests.unit.test_triangular_verdicts import FULL, SEEDS, learnt, written


@pytest.fixture(scope="module")
def tables() -> dict[str, pd.DataFrame]:
    ends, parts = learnt(FULL), []
    for part, corpus in (
        ("comparison", "stories-chunks"),
        ("alone", "stories-dealt"),
        ("fine-tuning", "stories-dealt"),
    ):
        for name in FULL if part == "comparison" else (PUBLISHED,):
            for seed in SEEDS:
                steps = np.array([0, 10, 50, 100, 400])
                held_out = 3 + 4 * np.exp(-steps / 80) + 0.05 * seed + 0.01 * len(name)
                rows = pd.DataFrame({"step": steps, "loss_nats": held_out, "validation_nats": held_out})
                rows = rows.assign(run=f"{part}-{name}-{seed}", seed=seed, part=part, variant=name, corpus=corpus)
                parts.append(rows.assign(validation_nats_per_character=held_out / 2))
    curves = pd.concat(parts, ignore_index=True)
    marks = [
        {"run": f"r{seed}", "seed": seed, "step": step, "part": "pretraining"}
        | dict.fromkeys(("word_share_1", "pair_share_1", "four_word_share_1"), min(1.0, step / 2000))
        | {"known_word_characters": 3.0, "distinct_pairs": 50 + step, "sentence_ends": 9.0, "context_nats": 0.01 * seed}
        for seed in SEEDS
        for step in (0, 100, 1000, 2000)
    ]
    cost = [
        {"run": f"gelu-x-search{ending}-rate{rate:g}", "seed": 100, "part": "search", "variant": "gelu", "corpus": "x"}
        | {"learning_rate": rate, "validation_nats": 5 + abs(np.log10(rate) + 2.5), "steps_done": 100}
        | {"diverged": rate == 3e-3}
        for rate in (1e-3, 3e-3, 4e-3)
        for ending in ("", "-continued")
    ]
    return {
        "reach": reach.measure(),
        "parameter_counts": parameter_counts.measure(),
        "learning": ends,
        "loss_curve": curves,
        "milestones": pd.DataFrame(marks),
        "samples": written(5, "shakespeare"),
        "cost": pd.DataFrame(cost),
        "paper": exhibits.paper("triangular"),
    }


@pytest.mark.parametrize("name", of("triangular", "figures"))
def test_figures_have_the_same_bytes_each_time_for_many_seeds_and_for_one(name, tables) -> None:
    figure = exhibits.figure("triangular", name)
    one = {key: rows[rows["seed"] == 0] if "seed" in rows else rows for key, rows in tables.items()}
    drawn = exhibits.svg(figure, tables)
    assert drawn == exhibits.svg(figure, tables)
    assert len(drawn) < 300_000
    assert exhibits.svg(figure, one)


def test_tables_say_what_was_measured(tables) -> None:
    found = {name: exhibits.shown(exhibit, tables) for name, exhibit in of("triangular", "tables").items()}
    assert found["parameter_counts"]["parameters"].iloc[0] == 36_297_036
    assert len(found["variants"]) == len(FULL)
    assert found["milestones"].set_index("step").loc[1000, "paper_says"] == "meaningful words"
    shown = found["samples"].set_index("part")
    assert shown.loc["fine-tuning", "written"] == "To ⟦be, or⟧ not"
    assert shown.loc["fine-tuning", "samples"] == 2 * len(SEEDS)
    assert shown.loc["the paper's Figure 6", "samples"] == 1
    assert found["learning_rates"]["chosen"].tolist() == [4e-3, 4e-3]
    assert sorted(found["learning_rates"]["begins"]) == ["fresh", "pre-trained"]
