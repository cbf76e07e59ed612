"""Study 001's trainings: plans, what is read of a run, budgets, stable figures and tables."""

import io
from types import SimpleNamespace

import matplotlib
import numpy as np
import pandas as pd
import pytest
import torch

from allmlp import params, studies
from allmlp.errors import UserError
from allmlp.plan import Context
from allmlp.report import style
from allmlp.studies.mixers import budgets, comparisons
from allmlp.studies.mixers.figures import against_flat
from allmlp.studies.mixers.measures import dropout, leak, learning_curve, training_memory
from allmlp.studies.mixers.parts import deepest, of_model, widths, with_half_the_width
from allmlp.studies.mixers.runs import training, united
from allmlp.studies.mixers.searched import searched
from allmlp.studies.rules import NotPlannedError
from allmlp.tasks.documents import Documents
from tests import tiny
from tests.conftest import PARAMETERS
from tests.unit.made_up_curves import SEEDS, curve, leaks, noise, table


@pytest.fixture(scope="module")
def settings(published):
    return params.load(published).settings


def runs_of(settings, scale: str) -> list:
    context = SimpleNamespace(
        tokens=lambda name: f"{name}-0", corpus_settings=lambda name: name, vocabulary=lambda name: 64, device="cpu"
    )
    return training.runs(settings["mixers", scale], context), context


def but_for_padding(run) -> dict:
    """One search, on one side, serves both."""
    return {name: value for name, value in run.hyperparameters.items() if name != "pad"}


def test_every_scale_has_a_plan_whose_runs_choose_their_rates_by_one_budget(settings):
    for scale in ("smoke", "laptop", "workstation", "gpu", "paper"):
        runs, _ = runs_of(settings, scale)
        by_id = {run.id: run for run in runs}
        assert len(by_id) == len(runs)
        for run in runs:
            needed = [by_id[one] for one in run.search]
            assert {one.architecture for one in needed} <= {run.architecture}
            assert all(one.task == run.task and but_for_padding(one) == but_for_padding(run) for one in needed)
            assert len(needed) in (0, len(settings["mixers", scale].search.learning_rates) if needed else 0)
            assert run.labels["part"] == "search" or needed or scale == "paper"
            assert set(run.tested) <= set(range(1, run.steps))


def test_the_laptops_runs_are_the_workstations(settings):
    laptop, workstation = ({run.id for run in runs_of(settings, scale)[0]} for scale in ("laptop", "workstation"))
    assert laptop <= workstation


def test_an_embedder_is_the_comparisons_own_run_where_that_has_it(settings):
    runs, context = runs_of(settings, "workstation")
    of_scale, by_id = settings["mixers", "workstation"], {run.id: run for run in runs}
    for model, changes in (("masked-mixer", {}), ("llama", {"padding": "left"}), ("llama-2", {})):
        found = training.embedder(model, 0, of_scale, context, **changes)
        assert by_id[found.id].labels["part"] == "training"
        assert not found.measures
        assert {run.id for run in training.searches(model, of_scale, context)} == set(found.search)
    untrained = training.embedder("flat", 0, of_scale, context, steps=0)
    assert (untrained.search, untrained.keep, untrained.tested, untrained.steps) == ((), (), (), 0)
    assert training.embedder("mixer-autoencoder", 0, of_scale, context).task == "autoencode"
    with pytest.raises(UserError, match="no model 'flatt'"):
        training.embedder("flatt", 0, of_scale, context)


def test_left_padding_is_told_to_attention_and_to_nothing_else(settings):
    runs, _ = runs_of(settings, "workstation")
    left = [run for run in runs if run.labels["padding"] == "left"]
    assert {run.labels["variant"] for run in left} == {"flat", "llama-4", "hybrid-after", "hybrid-as-published"}
    assert all(("pad" in run.hyperparameters) == (run.architecture != "masked-mixer") for run in left)
    assert all("pad" not in run.hyperparameters for run in runs if run.labels["padding"] == "right")


def test_both_sides_of_padding_share_one_search(settings):
    runs, _ = runs_of(settings, "workstation")
    for variant in ("flat", "llama-4", "hybrid-after"):
        trained = [run for run in runs if (run.labels["variant"], run.labels["part"]) == (variant, "training")]
        of_base = [run for run in trained if run.labels["size"] == "base"]
        assert {run.labels["padding"] for run in of_base} == {"left", "right"}
        assert len({run.search for run in of_base}) == 1


def test_weights_are_kept_where_a_scale_says(settings):
    smoke = settings["mixers", "smoke"]
    _, context = runs_of(settings, "smoke")
    for kept, expected in (([0], (0,)), ([0, 0.5], (0, 4)), ([], ())):
        runs = training.runs(smoke.model_copy(update={"kept": kept}), context)
        found = {run.keep for run in runs if (run.labels["variant"], run.labels["part"]) == ("flat", "training")}
        assert found == {expected}


def test_runs_of_one_id_become_one_with_the_measures_of_all(settings):
    runs, context = runs_of(settings, "laptop")
    again = training.embedder("flat", 0, settings["mixers", "laptop"], context, measures=("recovery", "cost"))
    found = next(run for run in united([*runs, again]) if run.id == again.id)
    assert found.labels["part"] == "training"
    assert found.measures[-1] == "recovery"
    assert len(set(found.measures)) == len(found.measures)


@pytest.mark.parametrize(
    ("change", "said"),
    [
        ({"compared": ["flatt"]}, "no model 'flatt'.*Did you mean 'flat'"),
        (
            {"search": {"learning_rates": [0.1], "steps": 3, "seeds": [0]}},
            r"search.seeds\s+it uses one of the evaluated seeds",
        ),
        ({"models": {"flat": {"architecture": "masked-mixerr"}}}, "Did you mean 'masked-mixer'"),
    ],
)
def test_wrong_settings_are_refused(settings, change, said):
    smoke = settings["mixers", "smoke"]
    with pytest.raises(ValueError, match=said):
        type(smoke).model_validate({**smoke.model_dump(), **change})


# what is read of a run


def log(steps: int, tested: tuple[int, ...]) -> pd.DataFrame:
    rows = pd.DataFrame({"step": range(steps), "loss": np.linspace(4, 2, steps)})
    return rows.assign(validation_loss=[3.0 if step in tested else np.nan for step in range(steps)])


def test_a_curve_has_a_row_for_each_held_out_loss_and_one_for_the_end():
    rows = learning_curve.held_out(log(60, (0, 30)), 60, 2.5)
    assert rows["step"].tolist() == [0, 30, 60]
    assert rows["validation_nats"].tolist() == [3.0, 3.0, 2.5]
    assert np.isnan(rows["train_nats"].iloc[0])
    assert rows["train_nats"].iloc[2] == pytest.approx(log(60, ())["loss"].iloc[-learning_curve.WINDOW :].mean())


@pytest.mark.parametrize("done", [0, 1, 30])
def test_a_diverged_run_has_its_end(done):
    rows = learning_curve.held_out(log(40, (0, 20))[:done], done, None)
    assert rows["step"].iloc[-1] == done
    assert np.isnan(rows["validation_nats"].iloc[-1])


class Peeks(torch.nn.Module):
    """Logits that hear later tokens only where a row begins with padding."""

    def __init__(self, vocabulary: int, leaks: bool, end: int = 0) -> None:
        super().__init__()
        self.values, self.leaks, self.end = torch.arange(vocabulary, dtype=torch.float64), leaks, end

    def forward(self, tokens):
        heard = self.values[tokens].cumsum(1)
        padded = (tokens[:, :1] == self.end) & self.leaks
        return torch.where(padded, heard[:, -1:], heard)[..., None]


@pytest.mark.parametrize("end", [0, 7, 15])
def test_a_leak_is_found_in_the_rows_that_have_it_and_causality_is_exactly_0(end):
    tokens = torch.tensor([[end, end, 5, 3, 9, 2], [4, 4, 5, 3, 9, 2]])
    text = tokens != end
    assert (leak.largest_changes(Peeks(16, True, end), tokens, text, 16, end) > 0).tolist() == [True, False]
    assert leak.largest_changes(Peeks(16, False, end), tokens, text, 16, end).tolist() == [0, 0]


@pytest.mark.parametrize("end", [0, 7, 15])
def test_tokens_that_replace_others_are_never_the_end(end):
    seen = []

    def model(tokens):
        seen.append(tokens)
        return tokens[..., None].double()

    tokens = (torch.arange(60) % 16)[None]
    text = tokens != end
    leak.largest_changes(model, tokens, text, 16, end)
    replaced = [(changed != tokens) for changed in seen[1:]]
    assert all((changed[moved] != end).all() for changed, moved in zip(seen[1:], replaced, strict=True))
    assert sum(int(moved.sum()) for moved in replaced) > 60
    assert all(torch.equal(moved, moved & text) for moved in replaced)


def test_the_leak_is_looked_for_with_the_end_of_the_tasks_tokens(monkeypatch, tmp_path):
    """Bytes end with 256: padding with 0, which is a byte of text, would be none."""
    tiny.write_tokens(tmp_path)
    task = Documents(tmp_path / "results/tokens/tiny-00000000", 16, 4, "left", 4)
    assert task.eod == 256
    given = []
    monkeypatch.setattr(leak, "largest_changes", lambda *args: given.append(args[-1]) or torch.zeros(16))
    leak.measure(SimpleNamespace(task=lambda: task, model=lambda: Peeks(257, False)))
    assert given == [256]


def test_the_leak_is_looked_for_in_the_rows_with_the_most_padding_of_all(monkeypatch, tmp_path):
    tiny.write_tokens(tmp_path)
    task = Documents(tmp_path / "results/tokens/tiny-00000000", 16, 4, "left", 100)
    lengths = sorted(int((row != -1).sum()) for batch in task.validation() for row in batch.targets)
    assert len(task.validation()) > 1
    given = []
    monkeypatch.setattr(leak, "largest_changes", lambda *args: given.append(args[2]) or torch.zeros(16))
    leak.measure(SimpleNamespace(task=lambda: task, model=lambda: Peeks(257, False)))
    assert sorted(given[0].sum(1).tolist()) == lengths[: leak.ROWS]


# budgets


def test_a_loss_at_a_budget_lies_on_the_curve():
    rows = budgets.curves(curve("flat", 2.0, seconds=0.5, flops=7))
    exact = {seed: 2.0 + noise(seed) + 1e-3 * ((seed + 4) % 3) for seed in SEEDS}
    median = 0.5 * (1 + 2.5 / 50)
    for unit, per_step in (("steps", 1), ("flops", 7), ("seconds", median)):
        at = budgets.at(rows, unit, 200 * per_step)
        assert at.to_dict() == pytest.approx({seed: loss + 0.1 for seed, loss in exact.items()})
        at = budgets.at(rows, unit, 150 * per_step)  # between two tests, in the logarithm of the steps
        assert at.to_dict() == pytest.approx({seed: loss + 0.1 * np.log2(400 / 150) for seed, loss in exact.items()})


@pytest.mark.parametrize(("first", "second"), [(1.0, 1.0), (0.2, 5.0), (3.0, 0.7)])
def test_a_common_budget_is_what_the_first_to_stop_has_spent(first, second):
    rows = budgets.curves(table(curve("flat", 2.0, seconds=first), curve("llama-4", 2.0, seconds=second)))
    both = [of_model(rows, name) for name in ("flat", "llama-4")]
    assert budgets.budget(both, "seconds") == pytest.approx(400 * min(first, second) * 1.05)
    assert budgets.budget(both, "steps") == 400


def test_half_the_speed_costs_a_doubling_of_the_steps():
    rows = budgets.curves(table(curve("flat", 2.0, seconds=1), curve("llama-4", 2.0, seconds=2, flops=4000)))
    flat, llama = of_model(rows, "flat"), of_model(rows, "llama-4")
    assert budgets.compared(llama, flat, "seconds").mean() == pytest.approx(0.1, abs=2e-3)
    assert budgets.compared(llama, flat, "flops").mean() == pytest.approx(0.2, abs=2e-3)
    assert budgets.compared(llama, flat, "steps").mean() == pytest.approx(0.0, abs=2e-3)


def test_a_diverged_seed_counts_and_a_decaying_rate_compares_ends():
    rows = budgets.curves(curve("flat", 2.0, diverged=(1,)))
    assert np.isnan(budgets.at(rows, "steps", 100)[1])
    assert np.isnan(budgets.ends(rows)[1])
    decaying = budgets.curves(curve("flat", 2.0, schedule="linear"))
    assert budgets.at(decaying, "seconds", 0.5).equals(budgets.ends(decaying))
    assert (budgets.at(decaying, "steps", 100) > budgets.ends(decaying)).all()


def test_what_is_not_planned_is_named():
    rows = table(curve("flat", 2.0), curve("llama-16", 2.0, size="d32-n2-b16", d_model=32))
    with pytest.raises(NotPlannedError, match="needs expanded of size base"):
        of_model(rows, "expanded")
    with pytest.raises(NotPlannedError, match="needs a deeper flat"):
        deepest(rows, "flat")
    with pytest.raises(NotPlannedError, match="half the width"):
        with_half_the_width(rows, "llama-16", "flat")
    assert sorted(widths(rows, "llama-16")) == [32]


# figures and tables


def cost() -> pd.DataFrame:
    rows = [
        {"variant": variant, "model": architecture, "size": "base", "padding": "right", "text": "documents",
         "part": "search",
         "run": f"{variant}-{rate}", "seed": 100, "learning_rate": rate, "steps_done": 150, "diverged": rate > 0.02,
         "validation_nats": 3 + abs(np.log(rate / best))}
        for variant, architecture, best in (("flat", "masked-mixer", 0.012), ("llama-4", "llama", 0.0015))
        for rate in (0.0015, 0.003, 0.006, 0.012, 0.024)
    ]  # fmt: skip
    return pd.DataFrame(rows)


@pytest.fixture(scope="module")
def tables() -> dict[str, pd.DataFrame]:
    left, dear = {"padding": "left"}, {"seconds": 0.02, "flops": 2000}
    curves = table(
        curve("flat", 2.0, steps=800), curve("flat", 2.0, **left), curve("expanded", 2.1), curve("kernel-4", 2.0),
        curve("llama-4", 1.95, **dear), curve("gpt-4", 2.2), curve("hybrid-after", 1.95, **dear),
        curve("hybrid-as-published", 1.5, **left), curve("flat", 2.5, size="d16-n8-b16", d_model=16, n_blocks=8),
    )  # fmt: skip
    lost = pd.DataFrame(
        {"with_dropout_nats": [2.0, 2.1], "without_dropout_nats": 1.8, "validation_nats": 1.9, "variant": "gpt-4"}
    )
    return {"learning_curve": curves, "cost": cost(), "leak": leaks(), "dropout": lost.assign(run=["a", "b"])}


FIGURES = ("learning_curves", "against_flat", "overfitting", "learning_rates")


def svg(name: str, tables: dict[str, pd.DataFrame]) -> bytes:
    module, buffer = studies.module("mixers", f"figures.{name}"), io.BytesIO()
    with matplotlib.rc_context(style.RC):
        figure = module.draw({key: rows.copy() for key, rows in tables.items()})
        figure.savefig(buffer, format="svg", metadata={"Date": None})
    return buffer.getvalue()


@pytest.mark.parametrize("name", FIGURES)
def test_a_figure_has_the_same_bytes_each_time_is_small_and_can_be_of_one_seed(name, tables):
    first = svg(name, tables)
    assert first == svg(name, tables)
    assert len(first) < 300_000
    one = {**tables, "learning_curve": tables["learning_curve"].query("seed == 0")}
    assert svg(name, one)


def test_the_figures_margin_is_the_claims():
    margins = {row["margin"].get("loss_nats") for row in studies.ledger("mixers") if row["id"] in against_flat.CLAIMS}
    assert against_flat.MARGIN in margins


def test_the_table_has_three_columns_and_a_row_per_model(tables):
    found = studies.module("mixers", "tables.budgets").tabulate(tables).set_index("model")
    assert list(found.index[:2]) == ["flat", "flat, left"]
    assert found.loc["llama-4", "at equal steps_nats"] < 0 < found.loc["llama-4", "at equal time_nats"]
    assert found.loc["llama-4", "seconds_over_flat"] == pytest.approx(2)
    assert found.loc["hybrid-as-published, left", "steps_high"] < -0.4
    assert (found["steps_low"].dropna() <= found["steps_high"].dropna()).all()


def test_what_is_not_comparable_is_left_empty_and_the_rest_is_shown(tables):
    decaying = {"schedule": "linear"}
    curves = table(curve("flat", 2.0, **decaying), curve("llama-4", 1.9, seconds=0.02, flops=2000, **decaying))
    rows = comparisons.differences(curves)
    assert rows["steps"].notna().all()
    assert rows[["seconds", "flops"]].isna().all(axis=None)
    made = {**tables, "learning_curve": curves}
    found = studies.module("mixers", "tables.budgets").tabulate(made).set_index("model")
    assert found.loc["llama-4", "at equal steps_nats"] < 0
    assert np.isnan(found.loc["llama-4", "at equal time_nats"])
    assert svg("against_flat", made)


def test_differences_are_of_models_that_a_flat_mixer_stands_beside(tables):
    rows = comparisons.differences(tables["learning_curve"])
    assert set(rows["setting"]) == {
        "expanded",
        "kernel-4",
        "llama-4",
        "gpt-4",
        "hybrid-after",
        "hybrid-as-published, left",
    }
    with pytest.raises(NotPlannedError, match="needs a flat mixer"):
        comparisons.differences(curve("flat", 2.0))


def test_a_rate_at_the_end_of_the_grid_is_flagged_and_a_diverged_one_never_chosen():
    rows = searched(cost())
    chosen = rows[rows["chosen"]].set_index("variant")
    assert chosen["rate"].to_dict() == {"flat": 0.012, "llama-4": 0.0015}
    assert chosen["at_edge"].to_dict() == {"flat": False, "llama-4": True}
    found = studies.module("mixers", "tables.learning_rates").tabulate({"cost": cost()}).set_index("model")
    assert found["at"].to_dict() == {"flat": "", "llama-4": "edge"}
    assert found["at_0.024"].isna().all()


def test_the_rate_of_several_searched_seeds_is_chosen_by_their_mean():
    other = cost().assign(seed=101, run=lambda rows: rows["run"] + "-other")
    other["validation_nats"] += 2.0 * other["learning_rate"].eq(0.012)
    rows = searched(pd.concat([cost(), other], ignore_index=True))
    flat = rows[rows["variant"].eq("flat")].set_index("rate")
    assert len(flat) == 5
    assert flat.index[flat["chosen"]].tolist() == [0.006]
    assert flat.loc[0.012, "validation_nats"] == 4.0


def test_small_tables(tables):
    leaking = studies.module("mixers", "tables.leaks").tabulate(tables).set_index("model")
    assert leaking["largest_change_1"].to_dict() == {"hybrid-after": 0, "hybrid-as-published": 1.5, "hybrid-before": 0}
    assert studies.module("mixers", "tables.dropout").tabulate(tables)["with"].tolist() == [2.05]


@pytest.mark.parametrize("erratum", ["E001-1", "E001-10", "E001-13"])
def test_the_report_says_where_a_conclusion_does_not_follow(erratum):
    row = next(row for row in studies.ledger("mixers", "errata") if row["id"] == erratum)
    assert "does not follow" in " ".join(row["right"].split())
    assert erratum in studies.about("mixers")["slice"]


def test_what_is_known_to_be_no_merit_is_said_and_no_result_before_it_is_measured():
    modules = [studies.module("mixers", f"figures.{name}") for name in ("against_flat",)]
    modules += [studies.module("mixers", f"tables.{name}") for name in ("budgets", "query_effect")]
    for module in modules:
        assert "as published, where it was run," in module.CAPTION
        assert "is ahead because" not in module.CAPTION
    assert f"{against_flat.MARGIN:g} nats" in against_flat.CAPTION
    reason = " ".join(next(row for row in studies.ledger("mixers") if row["id"] == "001-19")["reason"].split())
    assert "not the mixing alone" in reason


@pytest.mark.parametrize("module", [learning_curve, leak, dropout, training_memory])
def test_a_measure_declares_its_columns(module):
    assert module.RECIPE >= 1
    assert all(column.meaning for column in module.COLUMNS.values())


def test_the_plan_needs_no_corpus_on_this_machine(settings):
    context = Context(params.load(PARAMETERS / "params.yaml"), PARAMETERS, "cpu")
    assert training.runs(settings["mixers", "smoke"], context)
