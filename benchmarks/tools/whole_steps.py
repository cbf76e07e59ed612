"""A step of the training loop beside the same step as a user would write it around a published model, in turns."""

import math
import statistics
import tempfile
import time
from collections.abc import Callable, Iterator
from contextlib import contextmanager, nullcontext
from pathlib import Path
from typing import Any

import torch
from torch import nn

import tools
from allmlp.data.tasks.task import IGNORED, Batch, Task
from allmlp.spec.run import Run
from allmlp.spec.settings import Optimiser
from allmlp.training.loop import Training
from allmlp.training.loss import cross_entropy
from allmlp.training.subnormals import flush_to_zero

ROUNDS, SECONDS = 11, 60  # of a row: as many rounds as fit into so many seconds, at least 5
OPTIMISER = Optimiser(learning_rate=1e-4, clip=1.0)
PEERS = ("published", "fused", "compiled")
OURS: dict[str, dict[str, Any]] = {"ours": {}, "ours compiled": {"compile": True}}
PRODUCTS = ("mm", "addmm", "bmm", "baddbmm", "_scaled_dot", "_slow_conv", "mkldnn_conv", "convolution_backward")
FOLDER = tempfile.TemporaryDirectory()
Step = Callable[[], object]


class OneBatch(Task):
    """A task with the same batch at each step. One whose scores read logits has them all, as its trainings do."""

    def __init__(self, batch: Batch, reads_logits: bool = False) -> None:
        self._batch, self.reads_logits = batch, reads_logits  # type: ignore[misc]

    def batch(self, seed: int, step: int) -> Batch:
        """The batch, whatever the step."""
        return self._batch


def by_hand(model: nn.Module, batch: Batch, fused: bool, compiled: bool, optimiser: Optimiser, dtype: Any) -> Step:
    """A step as a user would write it around the published model."""
    forward = torch.compile(model) if compiled else model
    settings = {"lr": optimiser.learning_rate, "betas": tuple(optimiser.betas), "weight_decay": optimiser.weight_decay}
    adamw = torch.optim.AdamW(model.parameters(), **settings, fused=True if fused else None)

    def step() -> None:
        cross_entropy(forward(batch.tokens), batch.targets, dtype).backward()
        if optimiser.clip:
            nn.utils.clip_grad_norm_(model.parameters(), optimiser.clip)
        adamw.step()
        adamw.zero_grad()

    return step


def in_the_loop(name: str, task: Task, sizes: dict[str, Any], optimiser: Optimiser, **settings: Any) -> Step:
    """A step of the training loop."""
    run = Run(
        study="benchmark", name=name, labels={}, architecture=name, hyperparameters=sizes, task="", task_parameters={},
        optimiser=optimiser.model_dump(), steps=1_000_000, seed=0, measures=(), **settings,
    )  # fmt: skip
    return Training(run, Path(tempfile.mkdtemp(dir=FOLDER.name)), task=task).update


class Row:
    """A row of the table: a model of ours, the peer, and what both compute."""

    def __init__(
        self,
        name: str,
        peer: Callable[[], nn.Module],
        batch: Batch,
        sizes: dict[str, Any],
        *,
        task: Task | None = None,
        optimiser: Optimiser = OPTIMISER,
        dtype: str = "float32",
        updates: int = 0,
        compilable: Callable[[], nn.Module] | None = None,
    ) -> None:
        self.name, self.peer, self.batch, self.sizes = name, peer, batch, sizes
        self.task, self.optimiser, self.dtype = task or OneBatch(batch), optimiser, dtype
        self.updates, self.compilable = updates, compilable or peer

    def steps(self) -> dict[str, Step]:
        """name -> the step, after `updates` of it."""
        found: dict[str, Step] = {}
        for name in PEERS:
            torch.manual_seed(0)
            model = self.compilable() if name == "compiled" else self.peer()
            made = model, self.batch, name != "published", name == "compiled", self.optimiser
            found[name] = by_hand(*made, getattr(torch, self.dtype))
        for name, settings in OURS.items():
            made = self.name, self.task, self.sizes, self.optimiser
            found[name] = in_the_loop(*made, loss_dtype=self.dtype, **settings)
        for name, step in found.items():
            with surroundings(name):
                for _ in range(self.updates + 2):  # compiled graphs are made in the first two
                    step()
        return found

    def work(self) -> dict[str, Any]:
        """What a step computes: vocabulary, rows, tokens of a row, share of the positions that have a target."""
        share = (self.batch.targets != IGNORED).double().mean().item()
        count, length = self.batch.tokens.shape
        return {"vocabulary": self.sizes["vocabulary"], "rows": count, "tokens": length, "supervised": round(share, 2)}


@contextmanager
def surroundings(name: str) -> Iterator[None]:
    """Ours: as in the training loop. The peer: as PyTorch comes; tuned, without subnormal numbers."""
    torch.set_deterministic_debug_mode("error" if name in OURS else "default")
    with nullcontext() if name == "published" else flush_to_zero():
        yield


def compared(steps: dict[str, Step]) -> dict[str, Any]:
    """Median milliseconds of each, and the ratios of the peers' to the better of our two forms in float32."""

    def milliseconds(name: str) -> float:
        with surroundings(name):
            return tools.milliseconds(steps[name])

    first = {name: milliseconds(name) for name in steps}
    count = max(5, min(ROUNDS, math.floor(1000 * SECONDS / sum(first.values()))))
    rounds = [{name: milliseconds(name) for name in steps} for _ in range(count)]
    ms = {name: round(statistics.median(one[name] for one in rounds), 2) for name in steps}
    better = min(("ours", "ours compiled"), key=ms.__getitem__)
    ratios = {name: round(statistics.median(one[name] / one[better] for one in rounds), 2) for name in PEERS}
    shares = {name: products_share(name, steps[name]) for name in ("compiled", better)}
    return {"rounds": count, "ms": ms, "better": better, "ratios": ratios, "products": shares}


def products_share(name: str, step: Step) -> float:
    """The share of a step's time that matrix products take, with fused attention: where it is high and both sides take
    the same products, neither can be much faster than the other."""
    with surroundings(name), torch.profiler.profile(activities=[torch.profiler.ProfilerActivity.CPU]) as profile:
        started = time.perf_counter()
        step()
        whole = 1e6 * (time.perf_counter() - started)
    products = tuple(f"aten::{of}" for of in PRODUCTS)
    return round(sum(e.self_cpu_time_total for e in profile.key_averages() if e.key.startswith(products)) / whole, 2)
