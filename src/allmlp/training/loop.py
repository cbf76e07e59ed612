"""The one training loop: AdamW, warm-up and decay, clipping, accumulation, kept weights, exact resume.

The same run on the same CPU type gives the same bits, killed and resumed or not. Batches and dropout are functions of
(seed, step); the initial weights are a function of the seed, or a parent's last weights.
"""

import math
import os
import signal
import time
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from contextlib import contextmanager, nullcontext
from pathlib import Path
from typing import Any

import torch
from torch import nn

from allmlp import models
from allmlp.common import deadline
from allmlp.common.errors import UserError
from allmlp.data.tasks.task import IGNORED, Batch, Task
from allmlp.measurements import search_losses
from allmlp.spec.run import Run
from allmlp.training.inputs import Choice
from allmlp.training.loss import Loss
from allmlp.training.process_group import ALONE, SingleProcess, Tensors
from allmlp.training.progress import Progress
from allmlp.training.state import WorkFolder, training_tensors
from allmlp.training.storage import write_tensors
from allmlp.training.task import build_task


def learning_rate(step: int, steps: int, optimiser: dict[str, Any]) -> float:
    """The rate of update number `step` (from 0) of `steps`.

    Warm-up: maximum * step / warmup_steps, 0 at step 0 (as published for 002). Cosine and linear decay end at
    `minimum_learning_rate` with the last update.
    """
    maximum, warmup = optimiser["learning_rate"], optimiser["warmup_steps"]
    if step < warmup:
        return maximum * step / warmup
    if optimiser["schedule"] == "constant":
        return maximum
    progress = (step - warmup) / max(1, steps - 1 - warmup)
    remaining = (1 + math.cos(math.pi * progress)) / 2 if optimiser["schedule"] == "cosine" else 1 - progress
    return optimiser["minimum_learning_rate"] + (maximum - optimiser["minimum_learning_rate"]) * remaining


RECIPE = 1
PART_BITS = 52  # of the seed for dropout, below the number of a part of the batch
POLITE = (signal.SIGTERM, signal.SIGINT, signal.SIGUSR1)  # a user's, and those that batch systems send before SIGKILL
SAVE_SECONDS = 30.0  # the most work that a kill costs; ALLMLP_SAVE_SECONDS overrides it


def adamw(weights: Iterable[torch.Tensor], settings: Mapping[str, Any]) -> torch.optim.AdamW:
    """The optimiser of a run's settings."""
    return torch.optim.AdamW(
        weights,
        lr=settings["learning_rate"],
        betas=tuple(settings["betas"]),
        eps=settings["eps"],
        weight_decay=settings["weight_decay"],
        fused=True,
    )


def move_batch(batch: Batch, device: str) -> Batch:
    """The batch on a device; the copy is asynchronous."""
    return Batch(*(part.to(device, non_blocking=True) for part in batch))  # pragma: no mutate: as a copy that waits


def check_parts(run: Run, sequences: int, count: int) -> None:
    """UserError where a batch has fewer sequences than parts."""
    if sequences < count:
        raise UserError(
            f"{run.id}: a batch of {sequences} sequences cannot be cut into {count} parts "
            "(`accumulation`, `processes`). Lower one of them."
        )


def validation_loss(loss: Loss, batches: list[Batch], device: str, team: SingleProcess = ALONE) -> float | None:
    """Mean cross-entropy in nats over all held-out targets; None without a held-out split."""
    if not batches:
        return None
    loss.eval()
    own = batches[team.rank :: team.size]
    with torch.no_grad(), team.gather(loss):
        found = [(loss(move_batch(batch, device))[0].item(), int((batch.targets != IGNORED).sum())) for batch in own]
    loss.train()
    total, count = team.sum_values([sum(value * count for value, count in found), sum(count for _, count in found)])
    return total / count


@contextmanager
def _quiet_stop() -> Iterator[list[int]]:
    """Collects the signals of POLITE, so that the state can be saved before the process ends."""
    received: list[int] = []
    before = {number: signal.signal(number, lambda n, _: received.append(n)) for number in POLITE}
    try:
        yield received
    finally:
        for number, handler in before.items():
            signal.signal(number, handler)


Row = dict[str, Any]  # of the log: step, loss, learning_rate, gradient_norm, scores, validation_loss


class Training:
    """One run being trained in its work folder.

    `task`: the run's task, if the caller has built it. `weights`: the initial weights of a run that continues another,
    by name. `choice`: the result of the run's search. `team`: the processes that train it together.
    """

    def __init__(
        self,
        run: Run,
        work: Path,
        *,
        task: Task | None = None,
        weights: Mapping[str, torch.Tensor] | None = None,
        choice: Choice | None = None,
        team: SingleProcess = ALONE,
    ) -> None:
        torch.set_num_threads(run.threads)
        # use_deterministic_algorithms(), but without the compiler that it imports: seconds of every process
        torch.set_deterministic_debug_mode("error" if run.device == "cpu" else "default")
        # deterministic mode fills new memory first, which costs up to 5 % of a step
        torch.utils.deterministic.fill_uninitialized_memory = False  # type: ignore[attr-defined]
        self.run, self.work, self.task = run, WorkFolder(work), task or build_task(run)
        torch.manual_seed(run.seed)
        self.model = models.build(run.architecture, **run.hyperparameters).to(run.device)
        if weights is not None:
            self.model.load_state_dict(weights)
        self.dtype = getattr(torch, run.loss_dtype)
        self.loss = Loss(self.model, self.task, self.dtype, run.compile)
        self.team = team
        self.team.shard(self.loss)
        self.choice, self.settings = choice, dict(run.optimiser)
        if choice:
            self.settings["learning_rate"] = choice.learning_rate
        self.optimiser = adamw(self.model.parameters(), self.settings)
        self.held_out = self.task.validation()
        self.restore()
        if list(team.largest_flags([self.step, -self.step])) != [self.step, -self.step]:
            raise UserError(f"{work}: the processes do not see the same saved states in it. Run again a little later.")
        self.diverged = self.arrived = False

    def restore(self, latest: float = math.inf) -> None:
        """Go on from the newest saved state, of at most `latest` updates."""
        found = self.work.restore(self.model, self.optimiser, latest)
        self.step: int = found["step"] if found else 0
        self.seconds: float = found["seconds"] if found else 0.0
        self.kept: dict[str, str] = found["kept"] if found else {}

    def _validation_loss(self) -> float | None:
        return validation_loss(self.loss, self.held_out, self.run.device, self.team)

    def autocast(self) -> Any:
        """The context of the forward pass."""
        return torch.autocast(self.run.device, torch.bfloat16) if self.run.precision == "bfloat16" else nullcontext()

    def keep(self, name: str) -> None:
        """Keep the weights as they are now as `<name>.safetensors`."""
        self.publish(f"{name}.safetensors", self.model.state_dict())

    def publish(self, file: str, tensors: Tensors) -> None:
        """Write tensors into the work folder, to be published with the rest."""
        whole = self.team.gather_tensors(tensors)
        if self.team.is_leader:
            self.kept[file] = write_tensors(self.work.folder / file, whole)

    def save(self) -> None:
        """Save the state before the next update."""
        whole = self.team.gather_tensors(training_tensors(self.model, self.optimiser))
        if self.team.is_leader:
            self.work.save(self.step, whole, self.seconds, self.kept)
        self.team.wait()

    def _parts(self, batch: Batch) -> Iterator[tuple[int, Batch]]:
        """This process's parts of a batch, with their numbers. A team of n takes n at a time."""
        count = self.team.size * -(-self.run.optimiser["accumulation"] // self.team.size)
        check_parts(self.run, len(batch.tokens), count)
        for number in range(self.team.rank, count, self.team.size):
            yield number, Batch(*(one.tensor_split(count)[number] for one in batch))

    def update(self) -> Row:
        """One update of the weights. Returns its row of the log, with scores of the batch before the update."""
        run = self.run
        # torch visits every device, for 0.5 ms
        generator = torch.default_generator if run.device == "cpu" else torch  # pragma: no mutate: same numbers
        batch = move_batch(self.task.batch(run.seed, self.step), run.device)
        supervised = (batch.targets != IGNORED).sum()
        total = torch.zeros((), dtype=self.dtype, device=run.device)
        scores: dict[str, float] = {}
        for number, part in self._parts(batch):
            # dropout is a function of (seed, step, part), whichever process has the part
            generator.manual_seed((number << PART_BITS) + (run.seed << 32) + self.step + 1)
            with self.autocast():
                loss, logits = self.loss(part)
            loss = loss * ((part.targets != IGNORED).sum() / supervised)
            loss.backward()
            total += loss.detach()
            for name, score in self.task.scores(logits.detach(), part).items() if logits is not None else ():
                scores[name] = scores.get(name, 0.0) + score * (len(part.tokens) / len(batch.tokens))
        norm = nn.utils.clip_grad_norm_(self.model.parameters(), run.optimiser["clip"] or math.inf)
        mean, *found = self.team.sum_values([total.item(), *scores.values()])
        row = self.row(mean, self.team.norm(norm), dict(zip(scores, found, strict=True)))
        if not self.diverged:
            for group in self.optimiser.param_groups:
                group["lr"] = row["learning_rate"]
            self.optimiser.step()
            self.optimiser.zero_grad(set_to_none=True)
        return row

    def row(self, loss: float, norm: float, scores: Mapping[str, float]) -> Row:
        """An update's row of the log. The run has diverged if the loss or the gradient's norm is not finite. It has
        arrived if it trains until an accuracy, and the batch has it."""
        self.diverged = not (math.isfinite(loss) and math.isfinite(norm))
        self.arrived = self.run.until is not None and scores[search_losses.ACCURACY] >= self.run.until
        rate = learning_rate(self.step, self.run.steps, self.settings)
        return {"step": self.step, "loss": loss, "learning_rate": rate, "gradient_norm": norm, **scores}

    @property
    def is_over(self) -> bool:
        """Is there no further update?"""
        return self.diverged or self.arrived or self.step >= self.run.steps

    def evaluate(self) -> float | None:
        """Before an update: keep the weights and take the held-out loss, where its step asks for them."""
        if self.step in self.run.keep:
            self.keep(f"step-{self.step}")
        return self._validation_loss() if self.step in self.run.keep or self.step in self.run.tested else None

    def record(self, row: Row, held_out: float | None) -> None:
        """After an update: write its row, unless the run diverged in it."""
        if self.diverged:
            return
        if self.team.is_leader:
            self.work.append_log([{**row, **({"validation_loss": held_out} if self.held_out else {})}])
        self.step += 1

    def finish(self) -> None:
        """After the last update: keep the weights and take their held-out loss."""
        self.keep("final")
        self.final_validation = self._validation_loss()

    def train(self) -> None:
        """Train to the end, to the accuracy that the run asks for, or to the first loss that is not finite: then the
        weights before it are the last."""
        learn([self], lambda _: [self.update()])


def learn(trainings: Sequence[Training], update: Callable[[Sequence[Training]], Sequence[Row]]) -> None:
    """Train runs that are at the same step to their ends. `update`: one update of each, its rows of the log.

    Each run's seconds are its share of those that the updates took.
    """
    first, left = trainings[0], [training for training in trainings if not training.is_over]
    progress, saved = Progress(first.run, first.step, len(trainings)), time.monotonic()
    pause, until = float(os.environ.get("ALLMLP_SAVE_SECONDS", SAVE_SECONDS)), deadline.moment()
    with _quiet_stop() as received:
        while left:
            signalled = received[0] if received else 0
            due: int = time.monotonic() - saved > pause
            signalled, late, due = first.team.largest_flags([signalled, time.time() >= until, due])
            if signalled or late or due:
                for training in left:
                    training.save()
                saved = time.monotonic()
            if signalled:
                raise SystemExit(128 + signalled)
            if late:
                deadline.leave(f"{first.run.id}: step {left[0].step} of {first.run.steps}")
            held_out = [training.evaluate() for training in left]
            began = time.monotonic()
            rows = update(left)
            seconds = (time.monotonic() - began) / len(left)
            for training, row, loss in zip(left, rows, held_out, strict=True):
                training.seconds += seconds
                training.record(row, loss)
            progress.show(left[0].step, rows[0]["loss"])
            left = [training for training in left if not training.is_over]
    for training in trainings:
        training.finish()
        progress.end(training.run.id, training.diverged, training.step)
