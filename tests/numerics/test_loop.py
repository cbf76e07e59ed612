"""The loop does what its words say: AdamW, warm-up, decay, clipping, accumulation."""

import math
from itertools import pairwise
from pathlib import Path

import pytest
import torch

from allmlp import models
from allmlp.common import paths
from allmlp.data.tasks.copying import Copying
from allmlp.data.tasks.task import IGNORED, Batch
from allmlp.training.inputs import Choice
from allmlp.training.loop import Training, learning_rate, move_batch, validation_loss
from allmlp.training.loss import cross_entropy
from allmlp.training.state import training_tensors
from allmlp.training.task import build_task
from tests import tiny
from tests.tiny import Uneven


def rates(steps: int = 100, **changes: object) -> list[float]:
    return [
        learning_rate(step, steps, {**tiny.OPTIMISER, "learning_rate": 2.0, "warmup_steps": 10, **changes})
        for step in range(steps)
    ]


def test_warm_up_starts_at_zero_and_the_constant_rate_stays() -> None:
    found = rates(schedule="constant")
    assert found[:3] == pytest.approx([0.0, 0.2, 0.4])
    assert found[10:] == [2.0] * 90


@pytest.mark.parametrize("schedule", ["cosine", "linear"])
def test_decay_ends_at_the_minimum(schedule: str) -> None:
    found = rates(schedule=schedule, minimum_learning_rate=0.5)
    assert found[10] == 2.0
    assert found[-1] == pytest.approx(0.5)
    assert all(a >= b for a, b in pairwise(found[10:]))


def test_cosine_is_half_way_down_in_the_middle() -> None:
    assert learning_rate(
        5, 11, {"learning_rate": 1.0, "warmup_steps": 0, "schedule": "cosine", "minimum_learning_rate": 0.0}
    ) == pytest.approx(0.5)


def weights_after(folder: Path, steps: int, **optimiser: object) -> dict[str, torch.Tensor]:
    run = tiny.run(
        "transformer",
        steps=steps,
        keep=(),
        optimiser={**tiny.OPTIMISER, "schedule": "constant", "warmup_steps": 0, **optimiser},
    )
    training = Training(run, folder / str(sorted(optimiser.items())))
    for _ in range(steps):
        training.update()
        training.step += 1
    return training.model.state_dict()


def test_accumulation_equals_the_whole_batch(tmp_path: Path) -> None:
    whole, parts = weights_after(tmp_path, 3), weights_after(tmp_path, 3, accumulation=2)
    for name in whole:
        torch.testing.assert_close(parts[name], whole[name], rtol=1e-3, atol=1e-5)


def uneven(folder: Path, accumulation: int) -> Training:
    run = tiny.run("transformer", optimiser={**tiny.OPTIMISER, "accumulation": accumulation})
    return Training(run, folder / str(accumulation), task=Uneven(build_task(run)))  # type: ignore[arg-type]


def test_parts_of_a_batch_count_by_their_targets(tmp_path: Path) -> None:
    """Of the gradient itself: what Adam makes of it is the same at any scale."""
    whole, parts = (uneven(tmp_path, accumulation).update() for accumulation in (1, 2))
    assert parts["loss"] == pytest.approx(whole["loss"], rel=1e-5)
    assert parts["gradient_norm"] == pytest.approx(whole["gradient_norm"], rel=1e-4)
    fresh = uneven(tmp_path, 3)
    tokens, targets = fresh.task.batch(fresh.run.seed, 0)
    mean = cross_entropy(fresh.model(tokens), targets, torch.float32).item()
    assert whole["loss"] == pytest.approx(mean, rel=1e-5)


def test_the_validation_loss_is_the_mean_over_targets_not_over_batches(tmp_path: Path) -> None:
    training = uneven(tmp_path, 1)
    batches = training.held_out
    assert len({int((batch.targets != IGNORED).sum()) for batch in batches}) > 1
    tokens, targets = (torch.cat([batch[place] for batch in batches]) for place in (0, 1))
    with torch.no_grad():
        mean = cross_entropy(training.model.eval()(tokens), targets, torch.float32).item()
    assert validation_loss(training.loss, batches, "cpu") == pytest.approx(mean, rel=1e-5)


def test_one_update_is_adamw_with_clipping_in_float64(tmp_path: Path) -> None:
    rate, decay, clip = 1e-2, 10.0, 0.01  # a tenth of each weight: far more than the tolerance
    run = tiny.run(
        "transformer",
        optimiser={
            **tiny.OPTIMISER,
            "learning_rate": rate,
            "weight_decay": decay,
            "clip": clip,
            "warmup_steps": 0,
            "schedule": "constant",
        },
    )
    training = Training(run, tmp_path)
    before = {name: value.detach().clone().double() for name, value in training.model.named_parameters()}
    reference = Training(run, tmp_path / "reference")
    batch = reference.task.batch(run.seed, 0)
    loss = torch.nn.functional.cross_entropy(
        reference.model(batch.tokens).flatten(0, 1), batch.targets.flatten(), ignore_index=-1
    )
    loss.backward()
    gradients = {
        name: value.grad.double() for name, value in reference.model.named_parameters() if value.grad is not None
    }
    norm = math.sqrt(sum(float(g.square().sum()) for g in gradients.values()))
    row = training.update()
    assert row["loss"] == pytest.approx(loss.item())
    assert row["gradient_norm"] == pytest.approx(norm, rel=1e-4)
    for name, value in training.model.named_parameters():
        g = gradients[name] * min(1.0, clip / norm)
        expected = before[name] * (1 - rate * decay) - rate * g / (
            g.abs() + 1e-8
        )  # Adam's first step: m / sqrt(v) is the sign
        torch.testing.assert_close(value.detach().double(), expected, rtol=1e-3, atol=2e-5)


def test_the_same_run_in_the_same_process_twice_is_the_same(tmp_path: Path) -> None:
    one, two = weights_after(tmp_path / "one", 3), weights_after(tmp_path / "two", 3)
    assert all(torch.equal(one[name], two[name]) for name in one)


# --- one update, and the settings behind it


@pytest.mark.parametrize(
    ("schedule", "after_warm_up"),
    [
        ("constant", [2.0, 2.0, 2.0, 2.0, 2.0]),
        ("linear", [2.0, 1.625, 1.25, 0.875, 0.5]),
        ("cosine", [2.0, 1.25 + 0.75 * math.sqrt(0.5), 1.25, 1.25 - 0.75 * math.sqrt(0.5), 0.5]),
    ],
)
def test_every_rate_of_seven_updates(schedule: str, after_warm_up: list[float]) -> None:
    optimiser = {"learning_rate": 2.0, "warmup_steps": 2, "schedule": schedule, "minimum_learning_rate": 0.5}
    assert [learning_rate(step, 7, optimiser) for step in range(7)] == pytest.approx([0.0, 1.0, *after_warm_up])


@pytest.mark.parametrize(("steps", "expected"), [(1, [2.0]), (2, [2.0, 0.5])])
def test_a_decay_over_one_update_or_two(steps: int, expected: list[float]) -> None:
    optimiser = {"learning_rate": 2.0, "warmup_steps": 0, "schedule": "linear", "minimum_learning_rate": 0.5}
    assert [learning_rate(step, steps, optimiser) for step in range(steps)] == expected


def test_a_batch_is_moved_whole() -> None:
    there = move_batch(Batch(torch.ones(2, 3), torch.ones(2)), "meta")
    assert [(part.device.type, tuple(part.shape)) for part in there] == [("meta", (2, 3)), ("meta", (2,))]


def test_a_training_has_the_settings_of_its_run(tmp_path: Path) -> None:
    own = {**tiny.OPTIMISER, "learning_rate": 0.5, "betas": [0.7, 0.8], "eps": 1e-3, "weight_decay": 0.25}
    run = tiny.run("transformer", optimiser=own, seed=5)
    torch.manual_seed(5)
    weights = models.build(run.architecture, **run.hyperparameters).state_dict()
    torch.set_deterministic_debug_mode("default")
    training = Training(run, tmp_path / "deep/work")
    assert torch.get_deterministic_debug_mode() == 2
    assert not torch.utils.deterministic.fill_uninitialized_memory
    assert all(torch.equal(value, weights[name]) for name, value in training.model.state_dict().items())
    group = training.optimiser.param_groups[0]
    found = {key: group[key] for key in ("lr", "betas", "eps", "weight_decay", "fused")}
    assert found == {"lr": 0.5, "betas": (0.7, 0.8), "eps": 1e-3, "weight_decay": 0.25, "fused": True}
    assert (training.step, training.seconds, training.kept, training.diverged) == (0, 0.0, {}, False)
    assert (training.run, training.work.folder, training.choice) == (run, tmp_path / "deep/work", None)
    assert training.held_out == []


def test_a_training_takes_the_weights_and_the_rate_that_it_is_given(tmp_path: Path) -> None:
    run = tiny.run("transformer", optimiser={**tiny.OPTIMISER, "warmup_steps": 0})
    ones = {name: torch.ones_like(value) for name, value in Training(run, tmp_path / "a").model.state_dict().items()}
    training = Training(run, tmp_path / "b", weights=ones, choice=Choice(0.125, {}))
    assert all(torch.equal(value, ones[name]) for name, value in training.model.state_dict().items())
    assert training.choice == Choice(0.125, {})
    assert training.optimiser.param_groups[0]["lr"] == 0.125
    assert training.update()["learning_rate"] == 0.125
    assert run.optimiser["learning_rate"] == tiny.OPTIMISER["learning_rate"]


def test_a_training_goes_on_from_its_saved_state(tmp_path: Path) -> None:
    run = tiny.run("transformer", keep=())
    first = Training(run, tmp_path)
    for _ in range(3):
        first.work.append_log([first.update()])
        first.step += 1
    first.keep("step-3")
    assert first.kept == {"step-3.safetensors": paths.file_sha256(tmp_path / "step-3.safetensors")}
    first.work.save(3, training_tensors(first.model, first.optimiser), 7.5, first.kept)
    second = Training(run, tmp_path)
    assert (second.step, second.seconds, second.kept) == (3, 7.5, first.kept)
    assert second.update() == first.update()


def test_an_update_has_the_rate_of_its_step(tmp_path: Path) -> None:
    """Adam's first step has the size of the rate for every weight with a gradient; the rate of step 0 is 0."""
    run = tiny.run("transformer", optimiser={**tiny.OPTIMISER, "warmup_steps": 4, "weight_decay": 0.0})
    for step, rate in ((0, 0.0), (2, tiny.OPTIMISER["learning_rate"] / 2)):
        training = Training(run, tmp_path / str(step))
        training.step = step
        before = {name: value.clone() for name, value in training.model.state_dict().items()}
        assert training.update()["learning_rate"] == rate
        moves = [(value - before[name]).abs().max().item() for name, value in training.model.state_dict().items()]
        assert max(moves) == pytest.approx(rate, rel=1e-3)


def test_dropout_is_drawn_from_seed_and_step(tmp_path: Path) -> None:
    training = Training(tiny.run("transformer", seed=3), tmp_path)
    training.step = 4
    training.update()
    assert torch.initial_seed() == 3 * 2**32 + 5


class Counted(Copying):
    """Scores that a test can foretell."""

    def scores(self, logits: torch.Tensor, batch: Batch) -> dict[str, float]:
        return {"rows": float(len(batch.tokens)), "taught": float(logits.requires_grad)}


class Silent(Copying):
    """A task that reads no logits."""

    reads_logits = False

    def scores(self, logits: torch.Tensor, batch: Batch) -> dict[str, float]:
        raise AssertionError("there are no logits to score")


def test_scores_of_parts_are_averaged_over_their_sequences(tmp_path: Path) -> None:
    run = tiny.run("transformer", optimiser={**tiny.OPTIMISER, "accumulation": 2})
    row = Training(run, tmp_path, task=Counted(4, 5)).update()  # parts of 3 and 2 sequences
    assert list(row) == ["step", "loss", "learning_rate", "gradient_norm", "rows", "taught"]
    assert (row["step"], row["rows"], row["taught"]) == (0, pytest.approx(2.6), 0.0)


def test_a_task_without_logits_is_trained_by_the_same_loss(tmp_path: Path) -> None:
    run = tiny.run("transformer")
    silent = Training(run, tmp_path / "silent", task=Silent(4, 4)).update()
    plain = Training(run, tmp_path / "plain", task=Copying(4, 4)).update()
    assert silent == {key: pytest.approx(plain[key], rel=1e-5) for key in silent}
    assert set(plain) - set(silent) == {"token_accuracy", "string_accuracy"}


def test_the_loss_has_its_own_precision_and_the_model_s_may_be_half(tmp_path: Path) -> None:
    run = tiny.run("transformer", loss_dtype="float64")
    training = Training(run, tmp_path / "double")
    batch = training.task.batch(run.seed, 0)
    exact = cross_entropy(training.model(batch.tokens), batch.targets, torch.float64).item()
    assert training.loss(batch)[0].dtype == torch.float64
    assert training.update()["loss"] == pytest.approx(exact, rel=1e-14)
    half = Training(tiny.run("transformer", precision="bfloat16"), tmp_path / "half").update()["loss"]
    assert half == pytest.approx(exact, rel=1e-2)
    assert half != pytest.approx(exact, rel=1e-6)


@pytest.mark.parametrize("clip", [0.01, 1e3, 0.0, None])
def test_gradients_are_clipped_to_a_norm_or_not_at_all(clip: float | None, tmp_path: Path) -> None:
    run = tiny.run("transformer", optimiser={**tiny.OPTIMISER, "clip": clip, "betas": [0.75, 0.9]})
    reference, training = Training(run, tmp_path / "a"), Training(run, tmp_path / "b")
    reference.loss(reference.task.batch(run.seed, 0))[0].backward()
    gradients = [value.grad for value in reference.model.parameters() if value.grad is not None]
    norm = math.sqrt(sum(float(value.double().square().sum()) for value in gradients))
    row = training.update()
    assert row["gradient_norm"] == pytest.approx(norm, rel=1e-5)
    scale = min(1.0, clip / norm) if clip else 1.0
    for value, gradient in zip(training.optimiser.state.values(), gradients, strict=True):
        torch.testing.assert_close(value["exp_avg"], 0.25 * scale * gradient, rtol=1e-3, atol=1e-9)
    assert all(value.grad is None for value in training.model.parameters())


def test_a_gradient_that_is_not_finite_ends_a_training_before_it_touches_the_weights(tmp_path: Path) -> None:
    training = Training(tiny.run("transformer"), tmp_path)
    before = {name: value.clone() for name, value in training.model.state_dict().items()}
    next(training.model.parameters()).register_hook(lambda gradient: gradient * math.inf)
    row = training.update()
    assert math.isfinite(row["loss"])
    assert not math.isfinite(row["gradient_norm"])
    assert training.diverged
    assert all(torch.equal(value, before[name]) for name, value in training.model.state_dict().items())
    assert not training.optimiser.state
