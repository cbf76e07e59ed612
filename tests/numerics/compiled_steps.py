"""Every form of model that trains at scales gpu and paper: its step compiled, and what a GPU would be asked to do.

    python -m tests.numerics.compiled_steps     counts again, into compiled_steps.json

A form is an architecture with its options, sizes aside; the plan says which there are. Two counts, neither of seconds:

forward, backward    kernels of the compiled graphs before any is fused, of a small model on a CPU
launches, megabytes  of a plain step, forward and backward, in single precision at the size of the form's largest run,
                     counted on tensors without content: kernels, and what each reads and writes. They take a GPU's
                     way, but for the linear causal relation's scan, and attention, which is its plain products here.
                     A causal relation is one kernel.

A kernel is an operation of PyTorch's that makes no view. The graphs of another PyTorch have other operations.
"""

import json
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from dataclasses import replace
from functools import cache, partial
from pathlib import Path
from typing import Any
from unittest import mock

import torch
from torch import Tensor
from torch._dynamo.utils import counters
from torch.utils._python_dispatch import TorchDispatchMode
from torch.utils._pytree import tree_leaves

from allmlp import models
from allmlp.data import tasks
from allmlp.data.tasks.task import IGNORED, Batch
from allmlp.plan import model_facts
from allmlp.plan.plan import load_plan
from allmlp.spec.run import Run
from allmlp.training.loop import Training

FILE = Path(__file__).with_suffix(".json")
SCALES = ("gpu", "paper")
SMALL = {
    "vocabulary": 61, "context": 24, "d_model": 16, "n_blocks": 2, "d_mlp": 32, "n_heads": 2, "features": 16,
    "d_relation": 24,
}  # fmt: skip
ROWS, STEPS = 4, 3
VERSION = torch.__version__.split("+")[0]


@cache
def runs() -> dict[str, Run]:
    """form -> its run with the most operations in a step."""
    found: dict[str, Run] = {}
    for scale in SCALES:
        for run in load_plan(changes={"scale": scale}).runs:
            name = form(run)
            if run.steps and (name not in found or _operations(run) > _operations(found[name])):
                found[name] = run
    return dict(sorted(found.items()))


def form(run: Run) -> str:
    """The architecture with its options: `masked-mixer, kernel 4`."""
    options = {key: value for key, value in run.hyperparameters.items() if key not in SMALL}
    heads = ["several heads"] if run.hyperparameters.get("n_heads", 1) > 1 else []
    return ", ".join([run.architecture, *heads, *(f"{key} {value}" for key, value in sorted(options.items()))])


def _operations(run: Run) -> int:
    return model_facts.counts(run.architecture, run.hyperparameters, _sequences(run)).flops


def _sequences(run: Run) -> int:
    return model_facts.batch(run.task, run.task_parameters).sequences


class RandomRows:
    """Random tokens or embeddings for a model. How many targets are supervised differs from step to step."""

    def __init__(self, run: Run) -> None:
        with torch.device("meta"):
            self.model = models.build(run.architecture, **run.hyperparameters)
        self.reads_logits = tasks.load(run.task).reads_logits

    def batch(self, seed: int, step: int) -> Batch:
        """The batch of a step."""
        draw = torch.Generator().manual_seed(step)
        shape = (ROWS, self.model.context)
        if self.model.features is None:
            tokens = torch.randint(self.model.vocabulary, shape, generator=draw)
        else:
            tokens = torch.randn(*shape, self.model.features, generator=draw)
        targets = torch.randint(self.model.vocabulary, shape, generator=draw)
        if self.model.predicts == "last":
            return Batch(tokens, targets[:, 0])
        return Batch(tokens, targets.where(torch.rand(shape, generator=draw) < 0.2 * (step + 1), IGNORED))

    def validation(self) -> list[Batch]:
        """None is held out."""
        return []

    def scores(self, logits: Tensor, batch: Batch) -> dict[str, float]:
        """None."""
        return {}


def compiled(run: Run, folder: Path) -> dict[str, Any]:
    """The product's own training steps of a small model, compiled: its graphs after the first step and after STEPS, why
    graphs were broken off, and the kernels of the first one, forward and backward."""
    sizes = {
        key: min(value, SMALL[key]) if key in SMALL and value else value for key, value in run.hyperparameters.items()
    }
    small = replace(
        run, hyperparameters=sizes, device="cpu", compile=True, stacked=1, processes=1, tokens=None, until=None,
        optimiser={**run.optimiser, "accumulation": 1},
    )  # fmt: skip
    with _counting_backend() as kernels:
        training = Training(small, folder, task=RandomRows(small))  # type: ignore[arg-type]
        graphs = []
        for training.step in range(STEPS):
            training.update()
            graphs.append(counters["stats"]["unique_graphs"])
        found = {"graphs": [graphs[0], graphs[-1]], "breaks": [one.splitlines()[0] for one in counters["graph_break"]]}
    return {**found, **dict(zip(("forward", "backward"), kernels, strict=False))}


@contextmanager
def _counting_backend() -> Iterator[list[int]]:
    """torch.compile keeps graphs as they are and only counts their kernels, in the order in which they are compiled."""
    from functorch.compile import make_boxed_func
    from torch._dynamo.backends.common import aot_autograd

    kernels: list[int] = []

    def keep(graph: torch.fx.GraphModule, _: Any) -> Callable[..., Any]:
        kernels.append(sum(node.op == "call_function" and _is_kernel(node.target) for node in graph.graph.nodes))
        for node in graph.graph.nodes:  # attention's gradients on a CPU are laid out otherwise than the graph was told
            if node.target is torch.ops.aten.view.default:
                node.target = torch.ops.aten.reshape.default
        graph.recompile()
        return make_boxed_func(graph)

    torch.compiler.reset()
    counters.clear()
    backend = aot_autograd(fw_compiler=keep, bw_compiler=keep)
    with mock.patch("torch.compile", partial(torch.compile, backend=backend)):
        yield kernels
    torch.compiler.reset()


def _is_kernel(operation: Any) -> bool:
    return isinstance(operation, torch._ops.OpOverload) and not operation.is_view


class _Launches(TorchDispatchMode):
    """Counts kernels, and the bytes of their tensors."""

    def __init__(self) -> None:
        super().__init__()
        self.launches = self.bytes = 0

    def __torch_dispatch__(self, operation: Any, types: Any, args: Any = (), kwargs: Any = None) -> Any:
        given = (args, kwargs or {})
        result = operation(*given[0], **given[1])
        if _is_kernel(operation):
            self.launches += 1
            self.bytes += sum(
                x.numel() * x.element_size() for x in tree_leaves((given, result)) if isinstance(x, Tensor)
            )
        return result


def uncompiled(run: Run) -> dict[str, int]:
    """Kernels and megabytes of a plain step at the run's own size."""
    with torch.device("meta"), _Launches() as counted:
        model = models.build(run.architecture, **run.hyperparameters).to("meta")  # tables of numpy too
        shape = (_sequences(run), model.context)
        inputs = (
            torch.zeros(shape, dtype=torch.int64) if model.features is None else torch.zeros(*shape, model.features)
        )
        counted.launches = counted.bytes = 0
        (model(inputs) if model.linear_head() is None else model.hidden(inputs)).sum().backward()
    return {"launches": counted.launches, "megabytes": round(counted.bytes / 1e6)}


def read() -> dict[str, Any]:
    """version of PyTorch, and the counts of each form."""
    return json.loads(FILE.read_text(encoding="utf-8"))


def main() -> None:
    """Count all again."""
    import tempfile

    forms = {}
    for name, run in runs().items():
        with tempfile.TemporaryDirectory() as folder:
            found = compiled(run, Path(folder))
        forms[name] = {key: found.get(key) for key in ("forward", "backward")} | uncompiled(run)
        print(name, found, forms[name], flush=True)
    lines = ",\n".join(f"  {json.dumps(name)}: {json.dumps(counts)}" for name, counts in forms.items())
    FILE.write_text(f'{{"torch": {json.dumps(VERSION)}, "forms": {{\n{lines}\n}}}}\n', encoding="utf-8")


if __name__ == "__main__":
    main()
