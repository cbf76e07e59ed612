"""The loop does what its words say: AdamW, warm-up, decay, clipping, accumulation."""

import math
from itertools import pairwise
from pathlib import Path

import pytest
import torch

from allmlp.tasks.task import IGNORED, Batch, Task
from allmlp.training.building import build_task
from allmlp.training.loop import Training, learning_rate, validation_loss
from allmlp.training.loss import cross_entropy
from tests import tiny


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


class Uneven:
    """A task whose batch has most of its targets in the first half: its parts are no equal shares of the loss."""

    reads_logits = True

    def __init__(self, task: Task) -> None:
        self.task = task

    def batch(self, seed: int, step: int) -> Batch:
        tokens, targets = self.task.batch(seed, step)
        few = targets.clone()
        few[len(few) // 2 :, :-1] = IGNORED
        return Batch(tokens, few)

    def validation(self) -> list[Batch]:
        return [self.batch(7, 0), *map(Batch, *(part.chunk(2) for part in self.batch(7, 1)))]

    def scores(self, logits: torch.Tensor, batch: Batch) -> dict[str, float]:
        return {}


def uneven(folder: Path, accumulation: int) -> Training:
    run = tiny.run("transformer", optimiser={**tiny.OPTIMISER, "accumulation": accumulation})
    return Training(run, folder / str(accumulation), task=Uneven(build_task(run)))  # type: ignore[arg-type]


def test_parts_of_a_batch_count_by_their_targets(tmp_path: Path) -> None:
    """Of the gradient itself: what Adam makes of it is the same at any scale."""
    whole, parts = (uneven(tmp_path, accumulation).update() for accumulation in (1, 2))
    assert parts["loss"] == pytest.approx(whole["loss"], rel=1e-5)
    assert parts["gradient_norm"] == pytest.approx(whole["gradient_norm"], rel=1e-4)


def test_the_validation_loss_is_the_mean_over_targets_not_over_batches(tmp_path: Path) -> None:
    training = uneven(tmp_path, 1)
    batches = training.held_out
    assert len({int((batch.targets != IGNORED).sum()) for batch in batches}) > 1
    tokens, targets = (torch.cat([batch[place] for batch in batches]) for place in (0, 1))
    with torch.no_grad():
        mean = cross_entropy(training.model.eval()(tokens), targets, torch.float32).item()
    assert validation_loss(training.model, training.held_out_loss, batches, "cpu") == pytest.approx(mean, rel=1e-5)


def test_one_update_is_adamw_with_clipping_in_float64(tmp_path: Path) -> None:
    rate, decay, clip = 1e-2, 0.1, 0.01
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
