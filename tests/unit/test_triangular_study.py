"""Study 004: its plan and settings, what no training alters, and what its measures read."""

from pathlib import Path
from types import SimpleNamespace

import numpy as np
import pandas as pd
import pytest
from pydantic import ValidationError

from allmlp.common.errors import UserError
from allmlp.plan import params
from allmlp.plan.context import Context
from allmlp.spec import catalogue
from allmlp.spec.run import Run, link_runs
from allmlp.studies.triangular.measures import learning as learning_measures
from allmlp.studies.triangular.measures.learning import learning
from allmlp.studies.triangular.measures.mixing import causality, parameter_counts, reach
from allmlp.studies.triangular.paper_numbers import PRINTED
from allmlp.studies.triangular.runs import PUBLISHED, Settings, held_out_steps
from allmlp.studies.triangular.runs import runs as triangular_runs
from allmlp.training import inputs
from tests.conftest import PROJECT


@pytest.fixture(scope="module")
def parameters(published: Path) -> params.Params:
    return params.load(published)


def planned(parameters: params.Params, scale: str) -> list[Run]:
    settings = parameters.settings["triangular", scale]
    return catalogue.module("triangular", "runs").runs(settings, Context(parameters, PROJECT, "cpu"))


@pytest.mark.parametrize("scale", params.SCALES)
def test_every_run_comes_after_those_that_it_needs_and_every_seed_of_the_search_tries_all_rates(
    parameters, scale
) -> None:
    runs, before = planned(parameters, scale), {}
    for run in runs:
        assert set(run.needs) <= set(before), run.id
        before[run.id] = run
    settings: Settings = parameters.settings["triangular", scale]
    judged = [run for run in runs if run.labels["part"] in ("comparison", "pretraining", "alone", "fine-tuning")]
    for run in judged:
        searched = [before[one] for one in run.search]
        if settings.search:
            rates = {one.optimiser["learning_rate"] for one in searched}
            assert rates >= {*settings.search.learning_rates}
            assert len(searched) == len(rates) * len(settings.search.seeds)
        else:
            assert not searched
        own = {
            key: value for key, value in run.hyperparameters.items() if key != "discount"
        }  # it has no search of its own
        assert all(one.hyperparameters == own for one in searched)
        assert {one.steps for one in searched} <= {settings.search.steps if settings.search else 0}
        assert all(one.seed not in settings.seeds and one.tokens == run.tokens for one in searched)
        assert all(one.continues == run.continues for one in searched)


def test_a_criterion_reaches_every_run_that_is_searched_for_and_its_search(published: Path, tmp_path: Path) -> None:
    own = tmp_path / "my.yaml"
    search = "{learning_rates: [1e-3, 4e-3], steps: 9, seeds: [100, 101, 102], criterion: held_out_nats}"
    own.write_text("scale: workstation\nstudies: {triangular: {search: " + search + "}}")
    with_it = planned(params.load(published, [own]), "workstation")
    assert all(run.criterion == ("held_out_nats" if run.search else "") for run in with_it)
    assert all(run.labels.get("criterion") for run in with_it if run.labels["part"] == "search")


def test_further_rates_widen_the_grid_of_their_variant_alone(published: Path, tmp_path: Path) -> None:
    own = tmp_path / "my.yaml"
    further = "{two-plain: [4e-3, 8e-3], fine-tuning: [5e-4]}"
    search = "{learning_rates: [1e-3, 4e-3], steps: 9, seeds: [100], further_rates: " + further + "}"
    own.write_text("scale: workstation\nstudies: {triangular: {search: " + search + "}}")
    parameters = params.load(published, [own])
    runs = [run for run in planned(parameters, "workstation") if run.labels.get("corpus") == "stories-chunks"]
    searched: dict[str, set[float]] = {}
    for run in runs:
        if run.labels["part"] == "search":
            searched.setdefault(run.labels["variant"], set()).add(run.labels["learning_rate"])
    assert searched.pop("two-plain") == {1e-3, 4e-3, 8e-3}
    assert searched
    assert all(rates == {1e-3, 4e-3} for rates in searched.values())
    assert {len(run.search) for run in runs if run.labels.get("variant") == "two-plain" and run.search} == {3}
    tuned = [run for run in planned(parameters, "workstation") if run.labels["part"] == "fine-tuning"]
    assert {len(run.search) for run in tuned} == {3}
    own.write_text(own.read_text().replace("two-plain", "relu-2"))
    with pytest.raises(UserError, match=r"my\.yaml:2: .*variant 'relu-2'"):
        params.load(published, [own])


def test_fine_tuning_goes_on_from_the_pre_trained_model_of_its_seed(parameters) -> None:
    runs = {run.id: run for run in planned(parameters, "workstation")}
    tuned = [run for run in runs.values() if run.labels["part"] == "fine-tuning"]
    assert len(tuned) == 5
    for run in tuned:
        parent = runs[str(run.parent)]
        assert run.continues
        assert (parent.labels["part"], parent.seed) == ("pretraining", run.seed)
        assert parent.hyperparameters == run.hyperparameters
        assert parent.tokens != run.tokens
    alone = [run for run in runs.values() if run.labels["part"] == "alone"]
    assert {run.steps for run in alone} == {run.steps for run in tuned}
    assert all(run.parent is None for run in alone)


def test_training_alone_can_have_the_steps_of_both_and_no_other_run_changes(parameters) -> None:
    settings, context = parameters.settings["triangular", "smoke"], Context(parameters, PROJECT, "cpu")
    before = {run.id for run in triangular_runs(settings, context)}
    second = settings.fine_tuning.model_copy(update={"as_long": True})
    after = {run.id: run for run in triangular_runs(settings.model_copy(update={"fine_tuning": second}), context)}
    added = [run for name, run in after.items() if name not in before]
    assert before < set(after)
    assert [run.seed for run in added] == list(second.seeds)
    assert {run.steps for run in added} == {settings.pretraining.steps + second.steps}
    assert {(run.corpus, run.parent) for run in added} == {(second.corpus, None)}


def test_fine_tuning_without_the_run_that_it_goes_on_from_says_how_to_make_it(
    parameters, tmp_path, monkeypatch
) -> None:
    runs = {run.id: run for run in planned(parameters, "workstation")}
    tuned = next(run for run in link_runs(runs, "") if run.labels["part"] == "fine-tuning")
    monkeypatch.chdir(tmp_path)
    said = rf"^{tuned.id} needs {tuned.parent}, its parent \(and 4 more\), which is not trained here. Train it first: "
    with pytest.raises(UserError, match=rf"{said}`allmlp train {tuned.parent} {' '.join(tuned.search)}`, or fetch it"):
        inputs.require_relatives([tuned])


def test_a_second_text_in_other_tokens_is_refused_by_the_plan(parameters) -> None:
    settings: Settings = parameters.settings["triangular", "smoke"]
    context = Context(parameters, PROJECT, "cpu")
    for corpus in ("stories-bytes", "classics-and-shakespeare"):
        second = settings.fine_tuning.model_copy(update={"corpus": corpus})
        with pytest.raises(
            UserError, match=f"with '{corpus}', whose .*{corpus}: {{tokenizer: {{kind: shared, corpus: stories-c"
        ):
            triangular_runs(settings.model_copy(update={"fine_tuning": second}), context)
    bytes_of = {
        "corpus": "stories-bytes",
        "fine_tuning": settings.fine_tuning.model_copy(update={"corpus": "wikitext-bytes"}),
    }
    assert triangular_runs(settings.model_copy(update=bytes_of), context), "bytes are bytes, whatever the text"


def test_the_paper_s_scale_has_the_printed_sizes_and_rate(parameters) -> None:
    published = next(run for run in planned(parameters, "paper") if run.labels["variant"] == PUBLISHED)
    assert published.hyperparameters == {"vocabulary": 1092, **PRINTED._asdict()}
    assert published.optimiser["learning_rate"] == 3e-5
    assert published.task_parameters["batch_size"] == 64
    assert published.optimiser["weight_decay"] == 0
    assert published.optimiser["schedule"] == "constant"


def test_held_out_losses_are_taken_eight_times_in_the_first_quarter() -> None:
    steps = held_out_steps(400)
    assert len([step for step in steps if step <= 100]) == 8
    assert max(steps) < 400
    assert held_out_steps(8) == (1, 2, 3, 4, 5, 6, 7)


LONGER = {"pretraining": {}, "fine_tuning": {"corpus": "stories-dealt"}}


@pytest.mark.parametrize("scale", ["workstation", "gpu", "paper"])
def test_what_is_judged_has_five_seeds(parameters, scale) -> None:
    settings: Settings = parameters.settings["triangular", scale]
    needed = {row["needs"]["seeds"] for row in catalogue.ledger("triangular") if row["needs"]["scale"] != "smoke"}
    assert settings.pretraining
    assert settings.fine_tuning
    for seeds in (settings.seeds, settings.pretraining.seeds, settings.fine_tuning.seeds):
        assert len(seeds) >= max(needed)


@pytest.mark.parametrize(
    ("change", "said"),
    [
        ({"compared": ["two-averagin"]}, "two-averaging"),
        ({"variants": {PUBLISHED: {"searched_as": "none"}, "one-averaging": {}, "one-plain": {}}}, "none"),
        ({"pretraining": None}, "give both, or neither"),
        ({"pretraining": {"seeds": [1], "steps": 3}}, r"seeds \[0\] are not among"),
        ({"seeds": [0, 100]}, r"search.seeds\n.* one of the evaluated seeds \(0, 100\)"),
        ({"pretraining": {"seeds": [0, 100], "steps": 3}}, r"search.seeds\n.* one of the evaluated seeds"),
        (
            {part: {"seeds": [0, 100], "steps": 3, **more} for part, more in LONGER.items()},
            r"search.seeds\n.* one of the evaluated seeds",
        ),
    ],
)
def test_settings_that_fit_nothing_are_refused(parameters, change, said) -> None:
    value = parameters.settings["triangular", "smoke"].model_dump()
    with pytest.raises(ValidationError, match=said):
        Settings.model_validate({**value, **change})


def test_findings_without_training() -> None:
    rows = causality()
    assert (rows[["leak_1", "masked_gradient_1", "time_biases", "above_diagonal_1"]] == 0).all(axis=None)
    assert rows["in_sequence_1"].max() < 1e-10
    counts = parameter_counts().set_index("reading")["parameters"]
    assert counts.iloc[0] == 36_297_036


def test_the_published_code_reaches_seventeen_tokens_back_or_none() -> None:
    rows = reach()
    farthest = rows[rows["heard"]].groupby(["form", "context"])["tokens_back"].max()
    assert farthest["reshape", 430] == PRINTED.n_blocks
    assert farthest["transpose", 430] == 429
    assert farthest["reshape", 64] == 0


def test_early_is_the_first_quarter_and_a_diverged_run_has_no_loss(monkeypatch) -> None:
    monkeypatch.setattr(learning_measures, "tokens_per_byte", lambda trained: 0.5)
    losses = pd.Series(np.arange(40.0)).where(pd.Series(range(40)).isin([0, 5, 10, 20]))
    log = pd.DataFrame({"step": range(40), "validation_loss": losses})
    run = SimpleNamespace(steps=40, tokens="x")
    for diverged, early, end in ((False, 7.5, 2.0), (True, np.nan, np.nan)):
        ending = {"diverged": diverged, "validation_loss": 2.0, "steps_done": 40}
        trained = SimpleNamespace(log=log, ending=ending, run=run, learning_rate=1e-3, timing=lambda: {"seconds": 4.0})
        row = learning(trained).iloc[0]  # type: ignore[arg-type]
        assert row["early_nats"] == pytest.approx(early, nan_ok=True)
        assert row["end_nats_per_character"] == pytest.approx(end / 2, nan_ok=True)
        assert row["step_seconds"] == pytest.approx(0.1)
