"""Study 001 at the scale `long`: further seeds, searches in proportion, one benchmark's seconds, widths an eighth."""

import json
from types import SimpleNamespace

import numpy as np
import pytest

from allmlp.judging.rules import NotComparableError
from allmlp.plan import params
from allmlp.spec import catalogue
from allmlp.studies.mixers import budgets, step_times
from allmlp.studies.mixers.names import TRAINING
from allmlp.studies.mixers.parts import model_rows
from allmlp.studies.mixers.runs import training
from allmlp.studies.mixers.verdicts import padding_sides, representation, sizes
from tests.judging import judged, parts
from tests.unit.made_up_curves import SEEDS, curve, table

FURTHER = (*SEEDS, 6, 7)


@pytest.fixture(scope="module")
def planned():
    settings = params.read().settings["mixers", "long"]
    context = SimpleNamespace(
        tokens=lambda name: f"{name}-0", corpus_settings=lambda name: name, vocabulary=lambda name: 64, device="cpu"
    )
    return settings, training.runs(settings, context)


@pytest.fixture
def timed(tmp_path, monkeypatch):
    """A function that writes a benchmark: name -> (operations, seconds of each round)."""

    def write(models, printed=(), device="cpu"):
        content = {
            key: {name: {"flops": flops, "seconds": seconds} for name, (flops, seconds) in of.items()}
            for key, of in (("models", models), ("printed", dict(printed)))
        }
        (tmp_path / "step_times.json").write_text(json.dumps({device: {"hardware": "a made-up CPU", **content}}))

    monkeypatch.setattr(step_times, "FILE", tmp_path / "step_times.json")
    return write


def test_no_seed_of_long_is_one_of_another_scale(planned):
    settings, runs = planned
    seeds = {run.seed for run in runs}
    others = {
        seed
        for (study, scale), of in params.read().settings.items()
        if study == "mixers" and scale != "long"
        for seed in [*of.seeds, *(of.search.seeds if of.search else [])]
    }
    assert seeds
    assert not seeds & others
    assert 900 not in seeds, "the pilots' own"
    assert len(settings.search.seeds) == 3
    assert len(settings.search.learning_rates) >= 5


def test_further_seeds_are_of_the_studys_own_size_and_side(planned):
    settings, runs = planned
    further = [run for run in runs if run.labels["part"] == TRAINING and run.seed not in settings.seeds]
    assert {run.labels["variant"] for run in further} == {"flat", "llama-4", "kernel-4", "kernel-4-linear", "heads-2"}
    assert {(run.labels["size"], run.labels["padding"]) for run in further} == {("base", "right")}
    assert {run.seed for run in further} == {1005, 1006, 1007}


def test_the_criterion_chooses_for_the_named_models_at_their_own_size(planned):
    settings, runs = planned
    of = [run for run in runs if run.labels["part"] == TRAINING and run.search]
    by_criterion = {(run.labels["variant"], run.labels["size"]) for run in of if run.criterion}
    assert by_criterion == {(name, "base") for name in settings.search.criterion_of}
    labelled = {run.labels["variant"] for run in runs if run.labels.get("criterion")}
    assert labelled == set(settings.search.criterion_of)
    assert not any(run.criterion for run in runs if run.labels["part"] == "search"), "their ids are as before"


def test_a_search_in_proportion_takes_the_same_share_of_a_shorter_training(planned):
    settings, runs = planned
    trained = {(run.labels["variant"], run.labels["size"]): run.steps for run in runs if run.labels["part"] == TRAINING}
    searched = {
        (run.labels["variant"], run.labels["size"]): run.steps for run in runs if run.labels["part"] == "search"
    }
    for key, steps in searched.items():
        assert steps == round(settings.search.steps * min(1, trained[key] / settings.steps)), key


def test_every_training_has_the_seeds_that_its_claims_need(planned):
    _, runs = planned
    for claim in catalogue.ledger("mixers"):
        if claim["needs"]["scale"] == "long" and claim["needs"]["seeds"] == 8:
            names = {"001-17": ("kernel-4-linear", "llama-4"), "001-18": ("kernel-4", "heads-2")}[claim["id"]]
            for name in names:
                seeds = {run.seed for run in runs if run.labels["variant"] == name and run.labels["part"] == TRAINING}
                assert len(seeds) == 8


def test_pairs_are_compared_on_the_seeds_that_both_were_given():
    rows = budgets.curves(table(curve("flat", 2.0), curve("kernel-4", 1.9, seeds=FURTHER)))
    found = budgets.loss_differences(model_rows(rows, "flat"), model_rows(rows, "kernel-4"), "steps")
    assert len(found) == len(SEEDS)
    assert np.isfinite(found).all()


def test_a_diverged_seed_is_no_seed_that_a_model_lacks():
    rows = budgets.curves(table(curve("flat", 2.0, diverged=(2,)), curve("kernel-4", 1.9, seeds=FURTHER)))
    found = budgets.loss_differences(model_rows(rows, "flat"), model_rows(rows, "kernel-4"), "steps")
    assert len(found) == len(SEEDS)
    assert np.isnan(found).sum() == 1


def test_seconds_are_the_benchmarks_where_it_timed_all_models(timed):
    rows = table(curve("flat", 2.0, seconds=0.5), curve("llama-4", 2.0, seconds=0.1))
    timed({"flat-d64-n2-b16": (1000, [0.01, 0.02, 0.09]), "llama-4-d64-n2-b16": (1000, [0.04])})
    found = budgets.curves(rows)
    assert found["clock"].unique().tolist() == ["a benchmark on a made-up CPU"]
    per_step = (found["seconds"] / found["step"]).groupby(found["variant"]).first()
    assert per_step.to_dict() == pytest.approx({"flat": 0.02, "llama-4": 0.04})


@pytest.mark.parametrize("other", [{}, {"llama-4-d64-n2-b16": (999, [0.04])}])
def test_seconds_of_the_benchmark_and_of_trainings_do_not_mix(timed, other):
    timed({"flat-d64-n2-b16": (1000, [0.02]), **other})
    rows = budgets.curves(table(curve("flat", 2.0, seconds=0.5), curve("llama-4", 2.0, seconds=0.1)))
    assert rows["clock"].unique().tolist() == [budgets.TRAININGS]


def evidence(scale, rows, **margin):
    return SimpleNamespace(scale=scale, paper={}, margin=margin, table=lambda _: rows)


def test_at_long_nothing_is_equal_time_without_the_benchmark(timed):
    rows = table(curve("flat", 2.0), curve("llama-4", 2.2))
    timed({})
    of_long = sizes.trainings(evidence("long", rows))
    with pytest.raises(NotComparableError, match="step_times --write"):
        budgets.loss_differences(model_rows(of_long, "flat"), model_rows(of_long, "llama-4"), "seconds")
    assert np.isfinite(
        budgets.loss_differences(model_rows(of_long, "flat"), model_rows(of_long, "llama-4"), "steps")
    ).all()
    of_workstation = sizes.trainings(evidence("workstation", rows))
    assert np.isfinite(
        budgets.loss_differences(model_rows(of_workstation, "flat"), model_rows(of_workstation, "llama-4"), "seconds")
    ).all()


def widths(best_flat: int):
    """Trainings of long's widths: the mixer of `best_flat` ends lowest, the Llama of 64."""

    def of_width(name: str, loss: float, width: int):
        return curve(name, loss, d_model=width, size="base" if width == 64 else f"d{width}", seeds=range(8))

    of = [of_width("flat", 2.0 + 0.2 * (width != best_flat), width) for width in (32, 64, 128, 256)]
    of += [of_width("llama-16", 2.5 + 0.2 * (width != 64), width) for width in (32, 64, 128)]
    names = [f"flat-d{width}-n2-b16" for width in (32, 64, 128, 256)]
    names += [f"llama-16-d{width}-n2-b16" for width in (32, 64, 128)]
    return table(*of), {name: (1000, [0.01]) for name in names}


@pytest.mark.parametrize(("best_flat", "verdict"), [(128, "reproduced"), (32, "contradicted")])
def test_at_long_the_best_width_is_an_eighth_of_the_articles(timed, best_flat, verdict):
    rows, times = widths(best_flat)
    timed(times)
    found = sizes.flat_against_llama(evidence("long", rows, loss_nats=0.02, long_unit_steps=200))
    of = {part.name[:3]: part for part in found.parts}
    assert "width 128" in of["(c)"].name
    assert of["(b)"].verdict == "reproduced"
    assert of["(c)"].verdict == verdict
    assert "a made-up CPU" in of["(c)"].text
    llamas = sizes.best_llama(evidence("long", rows, loss_nats=0.02, long_unit_steps=200))
    assert {part.name: part.verdict for part in llamas.parts}["(b) width 64 is best at equal time"] == "reproduced"


def test_the_unit_of_long_ends_before_the_trainings_do(timed):
    rows, times = widths(128)
    timed({**times, "llama-16-d64-n2-b16": (1000, [0.02])})
    found = evidence("long", rows, long_unit_steps=100)
    of_long = sizes.trainings(found)
    flat = model_rows(of_long, "flat")
    assert sizes.unit_of_time(found, of_long, [flat]) == pytest.approx(2.0)
    assert sizes.unit_of_time(evidence("gpu", rows), of_long, [flat]) == pytest.approx(4.0)


def test_speed_at_long_is_of_the_articles_own_sizes(timed):
    printed = {"expanded mixer of width 256": (1, [1.0] * 5), "Llama of width 128": (1, [2.9, 3.0, 3.1, 3.0, 3.0])}
    timed({}, printed)
    found = judged("001-31", scale="long")
    assert parts(found) == ["undecided", "undecided"]
    assert found.parts[0].premise_not_met == "timed on 1 machine, 5 are needed: 3 on a made-up CPU"
    timed({}, device="tpu")
    with pytest.raises(NotComparableError, match="on an idle machine"):
        judged("001-31", scale="long")


def test_throughput_at_long_is_of_the_benchmarks_rounds(timed):
    rows = table(curve("flat", 2.0), curve("expanded", 2.2, flops=2000))
    timed(
        {"flat-d64-n2-b16": (1000, [0.0070, 0.0071, 0.0072, 0.0070, 0.0070]), "expanded-d64-n2-b16": (2000, [0.01] * 5)}
    )
    found = judged("001-8", scale="long", learning_curve=rows)
    assert parts(found)[:2] == ["reproduced", "undecided"]
    assert "5 are needed: 0.3 on a benchmark on a made-up CPU" in found.parts[1].premise_not_met
    timed({})
    found = judged("001-8", scale="long", learning_curve=rows)
    assert parts(found)[:2] == ["reproduced", "undecided"]
    assert "on an idle machine" in found.parts[1].text


def test_completions_take_the_benchmarks_seconds(timed):
    cost = table(curve("flat", 2.0), curve("llama-4", 2.0)).drop_duplicates("run")
    rows = cost.assign(step=400)
    cost = cost.assign(steps_done=400, counted_flops=400_000, seconds=np.where(cost["variant"].eq("flat"), 1.0, 9.0))
    timed({"flat-d64-n2-b16": (1000, [0.01]), "llama-4-d64-n2-b16": (1000, [0.0105])})
    found = representation.equal_time_rows(rows, cost, 1.1, "long")
    assert found["clock"].unique().tolist() == ["a benchmark on a made-up CPU"]
    assert found.groupby("variant")["seconds"].first().to_dict() == pytest.approx({"flat": 4.0, "llama-4": 4.2})
    timed({})
    assert representation.equal_time_rows(rows, cost, 1.1, "long")["seconds"].isna().all()
    assert representation.equal_time_rows(rows, cost, 1.1, "workstation")["seconds"].notna().all()


def test_at_long_every_embedder_is_read_by_its_mean():
    for scale, position in (("long", "mean"), ("gpu", "before_last"), ("paper", "before_last")):
        found = padding_sides.scale_settings(SimpleNamespace(scale=scale), padding_sides.MIXER, padding_sides.UNTRAINED)
        assert [setting.position for setting in found] == [position, position]


def test_long_plans_what_the_rules_on_retrieval_read(planned):
    settings, _ = planned
    asked = {
        (embedder, context, position, pairs)
        for one in settings.retrieval.active_comparisons
        for embedder in one.embedders
        for context in one.contexts
        for position in one.positions
        for pairs in one.pairs
    }
    many, other = "stories-pairs-many", settings.retrieval.control
    means = [("mixer", 32), ("transformer", 32), ("untrained-mixer", 32), ("autoencoder", 32)]
    means += [("mixer", 128), ("transformer", 128), ("untrained-mixer", 128)]
    assert {(*one, "mean", many) for one in means} <= asked
    assert {("transformer", 32, "before_last", many), ("mixer", 32, "mean", other)} <= asked


def test_the_benchmark_times_every_training_of_its_scales():
    found = step_times.trained_models("cpu")
    assert {"flat-d64-n2-b8", "llama-4-d64-n2-b8-left", "flat-d8-n16-b8", "llama-16-d128-n2-b8"} <= set(found)
    one = {"flat-d8-n16-b8": found["flat-d8-n16-b8"]}
    (timed_one,) = step_times.measure(one, "cpu", 2, 0.0).values()
    assert timed_one.flops > 0
    assert len(timed_one.seconds) == 2
