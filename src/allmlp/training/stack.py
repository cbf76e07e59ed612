"""Runs of one setting, such as its seeds, trained as one model with one more axis: each operation does all of them.

For small models, which leave a GPU idle; a CPU gains little (docs/cluster.md). The losses are those of the runs alone,
to rounding. Names: N runs; B sequences; T tokens.
"""

from collections.abc import Iterator, Sequence
from itertools import groupby

import torch
import torch.nn.functional as F
from torch import Tensor, nn
from torch.func import functional_call, stack_module_state
from torch.nn.attention import SDPBackend, sdpa_kernel

from allmlp.common.errors import UserError
from allmlp.data.tasks.task import IGNORED, Batch
from allmlp.models.base import LinearHead
from allmlp.models.ragged import select_rows
from allmlp.spec.run import Run
from allmlp.training.loop import Row, Training, adamw, check_parts, learn, move_batch
from allmlp.training.loss import Loss, linear_cross_entropy

RECIPE = 1


def stacks(runs: Sequence[Run]) -> Iterator[list[Run]]:
    """Neighbours in `runs` that are trained as one stack, of at most `stacked` runs; a run alone is a stack of one."""
    for _, group in groupby(runs, key=lambda run: run.setting):
        members = list(group)
        size = members[0].stacked
        yield from (members[start : start + size] for start in range(0, len(members), size))


def train(trainings: Sequence[Training]) -> None:
    """Train the runs of a stack to their ends: those that are at the same step together."""
    least = min(training.step for training in trainings)
    for training in trainings:
        if training.step > least and least in training.work.steps():  # a kill came while the states were saved
            training.restore(least)
    for step in sorted({training.step for training in trainings}):
        together = [training for training in trainings if training.step == step]
        if len(together) > 1 and not _has_dropout(together[0].model):
            learn(together, Stack(together).update)
        else:
            for training in together:
                training.train()


def _has_dropout(model: nn.Module) -> bool:
    """Has it dropout? Each run draws from a generator of its own, which a stack has not."""
    return any(isinstance(module, nn.Dropout) and module.p > 0 for module in model.modules())


class Stack:
    """Trainings at the same step, whose weights and optimisers become views of common tensors."""

    def __init__(self, trainings: Sequence[Training]) -> None:
        first = trainings[0]
        self.first = first
        self.body = _Body(first.loss)
        self._gather(trainings)

    def _gather(self, trainings: Sequence[Training]) -> None:
        """Stack the weights and the optimisers' moments of these trainings."""
        self.trainings = list(trainings)
        self.weights, _ = stack_module_state([training.model for training in trainings])
        for training in trainings:
            if differing := [name for name, one in training.model.named_buffers() if not self._is_common(name, one)]:
                raise UserError(
                    f"{training.run.id}: its constant {differing[0]} is not that of {self.first.run.id}, so they "
                    "cannot be trained as one. Set `stacked: 1`."
                )
        self.optimiser = adamw(self.weights.values(), self.first.settings)
        for name, weight in self.weights.items():
            self._share(name, weight)

    def _is_common(self, name: str, buffer: Tensor) -> bool:
        return torch.equal(self.first.model.get_buffer(name), buffer)

    def _share(self, name: str, weight: Tensor) -> None:
        """Make each run's weight, and its moments in the optimiser, a view of the stack's."""
        own = [training.model.get_parameter(name) for training in self.trainings]
        found = [training.optimiser.state.get(one) for training, one in zip(self.trainings, own, strict=True)]
        steps = found[0]["step"] if found[0] else torch.zeros((), device=weight.device)
        state: dict[str, Tensor] = {"step": steps.clone()}
        for moment in ("exp_avg", "exp_avg_sq"):
            state[moment] = torch.stack([one[moment] if one else torch.zeros_like(weight[0]) for one in found])
        self.optimiser.state[weight] = state
        for n, (training, one) in enumerate(zip(self.trainings, own, strict=True)):
            one.data = weight.data[n]
            training.optimiser.state[one] = {key: value if key == "step" else value[n] for key, value in state.items()}

    def _leave(self, n: int) -> None:
        """Give run n weights and moments of its own, as they are now: what the others do no longer reaches them."""
        training = self.trainings[n]
        for weight in training.model.parameters():
            weight.data = weight.data.clone()
            state = training.optimiser.state[weight]
            training.optimiser.state[weight] = {key: value.clone() for key, value in state.items()}

    def update(self, trainings: Sequence[Training]) -> list[Row]:
        """One update of each of these trainings, which are all that have not ended. Returns their rows of the log."""
        if len(trainings) != len(self.trainings):
            self._gather(trainings)
        first = self.first
        batches = [training.task.batch(training.run.seed, training.step) for training in trainings]
        batch = move_batch(Batch(*(torch.stack(parts) for parts in zip(*batches, strict=True))), first.run.device)
        supervised_N = _count_supervised(batch)
        total_N = torch.zeros(len(trainings), dtype=first.dtype, device=first.run.device)
        scores: list[dict[str, float]] = [{} for _ in trainings]
        for part in self._parts(batch):
            with first.autocast():
                losses_N, logits = self.body.losses(self.weights, part)
            losses_N = losses_N * (_count_supervised(part) / supervised_N)
            losses_N.sum().backward()
            total_N += losses_N.detach()
            if logits is not None:
                self._score(scores, logits.detach(), part, part.tokens.shape[1] / batch.tokens.shape[1])
        norms_N = self._clip_gradients()
        found = zip(trainings, torch.stack([total_N.double(), norms_N.double()], 1).tolist(), scores, strict=True)
        rows = [training.row(loss, norm, own) for training, (loss, norm), own in found]
        for n, training in enumerate(trainings):
            if training.diverged:
                self._leave(n)
        for group in self.optimiser.param_groups:
            group["lr"] = rows[0]["learning_rate"]
        self.optimiser.step()
        self.optimiser.zero_grad(set_to_none=True)
        return rows

    def _parts(self, batch: Batch) -> Iterator[Batch]:
        """The parts into which each run cuts its batch alone."""
        count = self.first.run.optimiser["accumulation"]
        check_parts(self.first.run, batch.tokens.shape[1], count)
        for number in range(count):
            yield Batch(*(one.tensor_split(count, 1)[number] for one in batch))

    def _score(self, scores: list[dict[str, float]], logits: Tensor, part: Batch, share: float) -> None:
        for n, training in enumerate(self.trainings):
            for name, score in training.task.scores(logits[n], Batch(*(one[n] for one in part))).items():
                scores[n][name] = scores[n].get(name, 0.0) + score * share

    def _clip_gradients(self) -> Tensor:
        """The norm of each run's gradient, (N,), which is cut to the run's `clip`."""
        gradients = [weight.grad for weight in self.weights.values() if weight.grad is not None]
        norms = [torch.linalg.vector_norm(gradient.flatten(1), dim=1) for gradient in gradients]
        norms_N = torch.linalg.vector_norm(torch.stack(norms), dim=0)
        clip = self.first.run.optimiser["clip"]
        if clip:
            scales_N = (clip / (norms_N + 1e-6)).clamp(max=1.0)
            for gradient in gradients:
                gradient.mul_(scales_N.view(-1, *[1] * (gradient.dim() - 1)))
        return norms_N


class _Body(nn.Module):
    """The losses of all runs, (N,), in nats, and their logits if the task reads them."""

    def __init__(self, loss: Loss) -> None:
        super().__init__()
        self.model, self.dtype = loss.model, loss.dtype
        self.reads_logits, self.from_states = loss.reads_logits, loss.from_states
        head = loss.model.linear_head() if loss.from_states else None
        linear = ((name, module) for name, module in loss.model.named_modules() if isinstance(module, nn.Linear))
        # of the layers that this body applies: the loss applies the head's
        added = ((name, module.bias) for name, module in linear if head is None or module.bias is not head.bias)
        self.biases = {f"{name}.bias" for name, bias in added if bias is not None}

    def forward(self, tokens_BT: Tensor) -> tuple[Tensor, ...]:
        """The logits; or the states, and the head's weight and bias if it has one."""
        head = self.model.linear_head() if self.from_states else None
        if head is None:
            return (self.model(tokens_BT),)
        return self.model.hidden(tokens_BT), *(one for one in head if one is not None)

    def losses(self, weights: dict[str, Tensor], part: Batch) -> tuple[Tensor, Tensor | None]:
        named = {f"model.{name}": self._cast_bias(name, weight) for name, weight in weights.items()}
        with sdpa_kernel(SDPBackend.MATH):  # `vmap` loops over runs on a CPU's own kernel, and breaks a GPU's gradient
            out, *heads = torch.vmap(lambda own, tokens_BT: functional_call(self, own, (tokens_BT,)))(
                named, part.tokens
            )
        if not self.from_states:
            return _cross_entropies(out, part.targets, self.dtype), out if self.reads_logits else None
        of_each = zip(out, zip(*heads, strict=True), part.targets, strict=True)
        return torch.stack([self._loss(states, LinearHead(*head), targets) for states, head, targets in of_each]), None

    def _loss(self, states: Tensor, head: LinearHead, targets: Tensor) -> Tensor:
        supervised = targets != IGNORED
        return linear_cross_entropy(select_rows(states, supervised), head, targets[supervised], self.dtype)

    def _cast_bias(self, name: str, weight: Tensor) -> Tensor:
        """A linear map's bias in autocast's type: `vmap` adds it after the product, and would give the sum its own."""
        kind = weight.device.type
        halved = name in self.biases and torch.is_autocast_enabled(kind)
        return weight.to(torch.get_autocast_dtype(kind)) if halved else weight


def _cross_entropies(logits: Tensor, targets: Tensor, dtype: torch.dtype) -> Tensor:
    """`loss.cross_entropy` of each run: logits (N, ..., V), targets (N, ...) -> (N,)."""
    flat = logits.flatten(0, -2).to(dtype), targets.flatten()
    of_targets = F.cross_entropy(*flat, ignore_index=IGNORED, reduction="none")
    return of_targets.view(len(logits), -1).sum(1) / (targets != IGNORED).flatten(1).sum(1)


def _count_supervised(batch: Batch) -> Tensor:
    """Targets in the loss of each run, (N,)."""
    return (batch.targets != IGNORED).flatten(1).sum(1)
