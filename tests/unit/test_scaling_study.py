"""Study 000's scaling: runs of its settings, verdicts by the rules of claims.yaml, figures and tables."""

import re
from types import SimpleNamespace

import numpy as np
import pandas as pd
import pytest
from pydantic import ValidationError

from allmlp import studies
from allmlp.studies.language.measures import scaling as measure
from allmlp.studies.language.runs.neurons import NeuronSettings
from allmlp.studies.language.runs.scaling import Settings, runs
from allmlp.studies.language.sizes import PARAMETERS
from allmlp.studies.language.tables import scaling_exponents, scaling_minima
from allmlp.studies.language.verdicts.scaling import gaps_at_equal_operations, prominence
from allmlp.studies.rules import NotPlannedError
from allmlp.tasks import size
from tests import exhibits

BUDGETS = (1e10, 3e10, 1e11)
BUDGET_OF_DEPTH, WIDTHS = 3e11, (8, 16, 24, 48, 96)
OPERATIONS = {"mlp": 0.5, "gpt2-last": 4.0}  # counted over 6 N D
OPTIMISER = {"learning_rate": 1e-3}
STUDY = NeuronSettings(
    seeds=[0], steps=1, optimiser=OPTIMISER, corpus="text", context=15, d_model=8, d_mlp=8, n_blocks=1, batch_size=8
)
CONTEXT = SimpleNamespace(
    vocabulary=lambda corpus: {"text": 1024}[corpus],
    tokens=lambda corpus: f"{corpus}-00000000",
    corpus_settings=lambda corpus: "digest",
    device="cpu",
)


def settings(**changes: object) -> Settings:
    block = {
        "seeds": [3, 4],
        "context": 15,
        "n_blocks": 2,
        "n_heads": 2,
        "batch_size": 64,
        "optimiser": {"learning_rate": 2e-3, "warmup_share": 0.1, "minimum_share": 0.01},
        "mlp": [{"flops": 1e10, "d_model": [6, 8, 12]}, {"flops": 1e9, "d_model": [8, 8, 8], "d_mlp": [9, 30, 100]}],
        "gpt": [{"flops": 1e9, "d_model": [4, 6, 8]}],
        "depth": {"flops": 1e9, "d_model": 8, "d_mlp": 96, "deeper": 6},
    }
    return Settings.model_validate({**block, **changes})


def test_every_run_spends_its_budget_on_the_corpus_of_the_study():
    for run in runs(settings(), STUDY, CONTEXT):
        targets = size(run.task, run.task_parameters)[1] * run.steps
        names = ("vocabulary", "context", "d_model", "d_mlp", "n_blocks")
        weights = PARAMETERS[run.architecture](*(run.hyperparameters[name] for name in names))
        assert 6 * weights * targets == pytest.approx(run.labels["budget_flops"], rel=0.02)
        assert run.optimiser["warmup_steps"] == round(run.steps / 10)
        assert run.optimiser["minimum_learning_rate"] == pytest.approx(2e-5)
        assert (run.tokens, run.labels["corpus"]) == ("text-00000000", "text")
        assert set(run.measures) - {"samples"} == {"scaling", "cost"}


def test_the_two_largest_mlps_and_the_largest_gpt_of_the_largest_budget_write_text():
    found = runs(settings(), STUDY, CONTEXT)
    for architecture, count in (("mlp", 2), ("gpt2-last", 1)):
        mine = [run for run in found if run.architecture == architecture and run.labels["part"] == "scaling"]
        largest = max(run.labels["budget_flops"] for run in mine)
        sizes = sorted({run.labels["d_model"] for run in mine if run.labels["budget_flops"] == largest})
        writing = {(run.labels["budget_flops"], run.labels["d_model"]) for run in mine if "samples" in run.measures}
        assert writing == {(largest, size) for size in sizes[-count:]}


def test_cheap_budgets_come_first_and_a_gpt_is_as_dear_as_its_context():
    found = [(run.architecture, run.labels["budget_flops"]) for run in runs(settings(), STUDY, CONTEXT)]
    assert list(dict.fromkeys(found)) == [("mlp", 1e9), ("mlp", 1e10), ("gpt2-last", 1e9)]


def test_depth_and_width_differ_in_one_thing_each():
    found = {run.labels["shape"]: run for run in runs(settings(), STUDY, CONTEXT) if run.labels["part"] == "depth"}
    sizes = {shape: (run.hyperparameters["n_blocks"], run.hyperparameters["d_mlp"]) for shape, run in found.items()}
    assert sizes == {"base": (2, 96), "deep": (6, 32), "wide": (2, 192)}


def test_no_run_of_one_scale_has_the_id_of_another():
    found = runs(settings(), STUDY, CONTEXT)
    assert len({run.id for run in found}) == len(found) == 2 * 12


@pytest.mark.parametrize(
    ("changes", "message"),
    [
        ({"gpt": [{"flops": 1e9, "d_model": [6, 8, 9]}]}, r"d_model \[9\] does not divide among n_heads=2"),
        ({"mlp": [{"flops": 1e9, "d_model": [6, 8, 9], "d_mlp": [8]}]}, "1 values of d_mlp for 3 of d_model"),
        ({"mlp": [{"flops": 1e9, "d_model": [8, 9]}]}, "at least 3 items"),
        ({"mlp": [{"flops": 1e9, "d_model": [8, 9, 8]}]}, "a size stands twice"),
        ({"mlp": []}, "at least 1 item"),
    ],
)
def test_settings_that_make_no_sense_are_refused(changes, message):
    with pytest.raises(ValidationError, match=message):
        settings(**changes)


def scaling_rows(
    gap: float = 0.1, exponent: float = 0.5, gpt_exponent: float = 0.5, noise: float = 0.002, seeds: int = 7
) -> pd.DataFrame:
    """Runs of both models at three budgets of five sizes, parabolas in log N; the GPT is lower by `gap`."""
    rng = np.random.default_rng(0)
    rows = []
    for model, grows in (("mlp", exponent), ("gpt2-last", gpt_exponent)):
        for budget in BUDGETS:
            best = 2e4 * (budget / 1e10) ** grows
            for n in best * np.geomspace(0.2, 5, 5):
                for seed in range(seeds):
                    loss = 5.5 * (budget / 1e10) ** -0.1 - gap * (model != "mlp")
                    loss += 0.05 * np.log(n / best) ** 2 + noise * rng.normal()
                    counted = OPERATIONS[model] * budget
                    weights = int(n)
                    rows.append((model, seed, budget, weights, int(weights**0.7), budget / 6 / weights, counted, loss))
    columns = "model seed budget_flops parameters non_embedding_parameters supervised_tokens counted_flops"
    table = pd.DataFrame(rows, columns=[*columns.split(), "validation_nats"])
    run = table["model"] + table["budget_flops"].astype(str) + table["parameters"].astype(str)
    return table.assign(
        part="scaling", shape="base", epochs_1=table["budget_flops"] / 5e10, run=run + table["seed"].astype(str)
    )


def depth_rows(
    deep: float,
    gain: float = 0.1,
    weights: tuple[int, int] = (100, 102),
    best: int = 24,
    widths: tuple[int, ...] = WIDTHS,
) -> pd.DataFrame:
    """Two depths, and MLPs of the same budget whose loss doubling the width up to the `best` one lowers by `gain`."""
    rows = []
    for width in widths:
        for seed in range(5):
            loss = 4 + gain * np.log2(width / best) ** 2 + 0.003 * np.sin(5 * seed + width)
            rows.append(("mlp", "base", seed, 10 * width, loss, 2, 4 * width, width, "scaling"))
    for shape, shift, count in zip(("base", "deep"), (0.0, deep), weights, strict=True):
        for seed in range(5):
            loss = 4 + shift + 0.003 * np.sin(7 * seed + len(shape))
            rows.append(("mlp", shape, seed, count, loss, 6 if shape == "deep" else 2, 96, 24, "depth"))
    columns = ["model", "shape", "seed", "parameters", "validation_nats", "n_blocks", "d_mlp", "d_model", "part"]
    table = pd.DataFrame(rows, columns=columns)
    return table.assign(run=range(len(table)), budget_flops=BUDGET_OF_DEPTH)


def judged(claim: str, rows: pd.DataFrame, scale: str = "gpu"):
    row = next(row for row in studies.ledger("language") if row["id"] == claim)
    found = SimpleNamespace(table=lambda name: rows.copy(), margin=row["margin"], paper=row["paper"], scale=scale)
    assert row["measures"] == ["scaling"]
    return studies.verdict("language", row["test"])(found)


def parts(finding) -> list[str]:
    return [part.verdict for part in finding.parts]


def bumped(height: float) -> pd.DataFrame:
    """The middle size of every MLP budget raised by `height` over its neighbours."""
    rows = scaling_rows(noise=0.001)
    for _, cell in rows.groupby(["model", "budget_flops"]):
        sizes = np.sort(cell["parameters"].unique())
        beside = cell[cell["parameters"].isin([sizes[1], sizes[3]])]["validation_nats"].mean()
        middle = cell.index[cell["parameters"] == sizes[2]]
        rows.loc[middle, "validation_nats"] += beside + height - cell.loc[middle, "validation_nats"].mean()
    return rows


def without_minimum(rows: pd.DataFrame, budget: float) -> pd.DataFrame:
    """At one budget the smallest size tried is the best, and the parabola's vertex lies below it."""
    growing = 4 + 0.05 * np.log(rows["parameters"] / 1e3) ** 2
    return rows.assign(validation_nats=rows["validation_nats"].where(rows["budget_flops"] != budget, growing))


@pytest.mark.parametrize(("height", "expected"), [(0.1, "reproduced"), (-0.1, "contradicted"), (0.01, "undecided")])
def test_a_bump_is_a_local_maximum_in_most_budgets(height, expected):
    assert judged("000-1", bumped(height)).verdict == expected


def test_a_bump_is_sought_and_tested_on_different_seeds():
    rows = scaling_rows(noise=0.0)
    cell = rows[(rows["model"] == "mlp") & (rows["budget_flops"] == 1e10)].copy()
    sizes = np.sort(cell["parameters"].unique())
    lucky = cell["parameters"].eq(sizes[3]) & cell["seed"].lt(2)
    cell.loc[lucky, "validation_nats"] += 1.0
    heights = prominence(cell)
    assert len(heights) == 5
    assert (heights < 0).all()
    with pytest.raises(NotPlannedError, match="three sizes"):
        prominence(cell[cell["parameters"].isin(sizes[:2])])


def test_exponents_are_judged_part_by_part():
    assert parts(judged("000-2", scaling_rows(exponent=0.24, gpt_exponent=0.24), "paper")) == ["reproduced"] * 3
    assert parts(judged("000-2", scaling_rows(exponent=0.24, gpt_exponent=0.24), "gpu"))[0] == "undecided"
    apart = parts(judged("000-2", scaling_rows(exponent=0.24, gpt_exponent=0.5), "paper"))
    assert apart == ["contradicted", "contradicted", "contradicted"]


def test_exponents_of_two_budgets_decide_nothing_and_the_third_is_named():
    found = judged("000-2", without_minimum(scaling_rows(exponent=0.24, gpt_exponent=0.24), 1e11))
    assert parts(found)[1:] == ["undecided", "undecided"]
    assert "gpt2-last 1e+11 (7)" in found.text
    assert "mlp 1e+11 (7)" in found.text


def test_the_best_losses_are_compared_at_every_budget():
    assert parts(judged("000-3", scaling_rows(gap=0.1))) == ["reproduced", "reproduced"]
    rows = scaling_rows(gap=0.1)
    rows.loc[rows["budget_flops"].eq(1e10) & rows["model"].eq("mlp"), "validation_nats"] -= 0.2
    assert parts(judged("000-3", rows))[0] == "contradicted"
    steep = scaling_rows(gap=0.1)
    gpt = steep["model"].eq("gpt2-last")
    steep.loc[gpt, "validation_nats"] *= (steep["budget_flops"] / 1e10) ** -0.2
    assert parts(judged("000-3", steep))[1] == "contradicted"


@pytest.mark.parametrize(
    ("deep", "gain", "expected"),
    [
        (0.005, 0.2, ["reproduced", "reproduced"]),
        (-0.2, 0.05, ["contradicted", "contradicted"]),
        (0.2, 0.2, ["contradicted", "undecided"]),
    ],
)
def test_depth_is_judged_beside_what_width_gains_up_to_the_best_one(deep, gain, expected):
    assert parts(judged("000-4", depth_rows(deep, gain))) == expected


def test_a_model_past_the_best_width_does_not_tell_what_width_gains():
    wider = depth_rows(0.005, 0.2).query("part == 'depth' and shape == 'base'")
    lost = wider.assign(shape="wide", validation_nats=wider["validation_nats"] + 0.3)
    rows = pd.concat([depth_rows(0.005, 0.2), lost], ignore_index=True)
    assert parts(judged("000-4", rows)) == ["reproduced", "reproduced"]


@pytest.mark.parametrize(
    ("changes", "reason"),
    [
        ({"widths": (16, 24, 48)}, "half of the best width, 12, is below the smallest tried, 16"),
        ({"best": 200}, r"no minimum inside the widths tried \(above\)"),
        ({"gain": -0.1}, r"no minimum inside the widths tried \(nowhere\)"),
    ],
)
def test_width_is_not_judged_where_its_best_or_half_of_it_was_not_tried(changes, reason):
    part = judged("000-4", depth_rows(0.005, **changes)).parts[1]
    assert part.verdict == "undecided"
    assert re.search(f"not judged: .*{reason}", part.text)
    assert part.p is None


def test_depth_at_another_size_or_without_a_grid_is_no_comparison():
    with pytest.raises(NotPlannedError, match="within 5 %"):
        judged("000-4", depth_rows(0.0, weights=(100, 110)))
    with pytest.raises(NotPlannedError, match=r"3 widths at 3e\+11"):
        judged("000-4", depth_rows(0.0, widths=(16, 24)))


def test_the_loss_at_equal_operations_is_read_between_the_mlps_runs():
    best = pd.DataFrame(
        {
            "model": ["mlp", "mlp", "gpt2-last", "gpt2-last"],
            "best_counted_flops": [1e10, 1e12, 1e11, 1e13],
            "best_nats": [4.0, 1.0, 2.5, 0.5],
        }
    )
    assert gaps_at_equal_operations(best) == pytest.approx([2.5 - 2.0])  # halfway in log: sqrt(4 * 1)
    dearer_and_worse = best.assign(best_nats=[2.0, 3.0, 2.5, 0.5])
    assert gaps_at_equal_operations(dearer_and_worse) == pytest.approx([0.5])


def test_who_wins_depends_on_what_is_counted():
    rows = scaling_rows(gap=0.1)
    assert judged("000-3", rows).parts[0].verdict == "reproduced"
    assert judged("000-own-1", rows).verdict == "reproduced"
    assert judged("000-own-1", rows.assign(counted_flops=rows["budget_flops"])).verdict == "contradicted"
    apart = rows["budget_flops"] * rows["model"].map({"mlp": 1, "gpt2-last": 99})
    with pytest.raises(NotPlannedError, match="cost alike"):
        judged("000-own-1", rows.assign(counted_flops=apart))


def test_what_counts_as_size_moves_the_exponent():
    rows = scaling_rows(exponent=0.5)
    assert judged("000-own-2", rows).verdict == "contradicted"  # to the power 0.7: smaller
    steeper = rows.assign(non_embedding_parameters=(rows["parameters"] ** 1.5).astype(int))
    assert judged("000-own-2", steeper).verdict == "reproduced"
    assert judged("000-own-2", rows.assign(non_embedding_parameters=rows["parameters"])).verdict == "contradicted"


@pytest.mark.parametrize("claim", ["000-1", "000-2", "000-3", "000-4", "000-own-1", "000-own-2"])
def test_other_parts_of_the_study_take_no_part(claim):
    of_depth = depth_rows(0.0)
    both = pd.concat([scaling_rows(), of_depth[of_depth["part"] == "depth"]], ignore_index=True)
    rows = of_depth if claim == "000-4" else both
    other = pd.concat([rows, rows.assign(part="other", validation_nats=0.0)], ignore_index=True)
    assert str(judged(claim, other)) == str(judged(claim, rows))  # as text, for NaN is not NaN
    with pytest.raises(NotPlannedError):
        judged(claim, rows.assign(part="other"))


def test_few_seeds_decide_nothing():
    rows = scaling_rows(seeds=2)
    for claim in ("000-1", "000-2", "000-3", "000-own-1", "000-own-2"):
        assert judged(claim, rows, "paper").verdict == "undecided"


@pytest.mark.parametrize("name", ["isoflop", "power_laws", "best_losses", "depth"])
@pytest.mark.parametrize("seeds", [1, 5])
def test_a_figure_has_the_same_bytes_twice_and_stays_small(name, seeds):
    figure, rows = exhibits.figure("language", name), depth_rows(0.01) if name == "depth" else scaling_rows(seeds=seeds)
    tables = {"scaling": rows[rows["seed"] < seeds], "paper": exhibits.paper("language")}
    assert exhibits.svg(figure, tables) == exhibits.svg(figure, tables)
    assert len(exhibits.svg(figure, tables)) < 300_000


def test_the_table_of_minima_says_where_they_are():
    rows = without_minimum(scaling_rows(noise=0.0), 1e11)
    table = scaling_minima(scaling=rows).set_index(["model", "budget_flops"])
    assert table["vertex_is"].tolist() == ["inside", "inside", "below"] * 2
    assert table.loc[("mlp", 1e10), "vertex"] == pytest.approx(2e4, rel=1e-3)
    assert (table["counted_over_budget"].to_numpy() == [4.0] * 3 + [0.5] * 3).all()


def test_the_table_of_exponents_counts_in_three_ways():
    table = scaling_exponents(scaling=scaling_rows(noise=1e-4)).set_index(["counted", "model"])
    a = table["a"].unstack()["mlp"]
    assert a["all weights, 6 N D"] == pytest.approx(0.5, abs=0.01)
    assert a["without embeddings, 6 N D"] == pytest.approx(0.35, abs=0.01)
    assert a["all weights, counted operations"] == pytest.approx(0.5, abs=0.01)
    assert (table["a_low_bootstrap"] <= table["a_high_bootstrap"]).all()


def test_the_measure_declares_its_columns():
    assert {"parameters", "epochs_1", "validation_nats"} <= set(measure.COLUMNS)
