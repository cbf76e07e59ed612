"""What a model does with its input, read off while it runs: modules, operations between them, shapes, reads, weights.

This module imports torch. Figures import it when they are drawn: the last mile starts without torch.
"""

from collections.abc import Callable, Iterable, Iterator
from contextlib import contextmanager
from dataclasses import dataclass, field
from typing import Any

import torch
from torch import Tensor, nn
from torch.overrides import TorchFunctionMode, resolve_name

INPUT = -1  # the number of what a model was given
# they show the same numbers in another shape or type: no step, but part of the way to the next one
VIEWS = {
    *("__get__", "__getitem__", "chunk", "contiguous", "detach", "double", "expand", "flatten", "float", "narrow"),
    *("permute", "reshape", "squeeze", "to", "transpose", "unflatten", "unsqueeze", "view"),
}
ARITHMETIC = {"add", "div", "mul", "sub"}
Shape = tuple[int, ...]


@dataclass(eq=False)
class Step:
    """A module that was called, or an operation outside of all closed modules.

    `path`: the module's dotted name in the model, of an operation that of the module around it. `reads`: what it was
    given, as (number of the step that made it, shape in which it arrived). `weights`: names of the parameters that it
    uses. `fixed`: numbers, or shapes of constant tensors, that arithmetic adds or multiplies with. A step with
    `children` is an open module, and has no number.
    """

    title: str
    path: str
    number: int = INPUT
    reads: list[tuple[int, Shape]] = field(default_factory=list)
    weights: list[str] = field(default_factory=list)
    fixed: list[float | Shape] = field(default_factory=list)
    shape: Shape = ()
    children: list["Step"] = field(default_factory=list)

    def leaves(self) -> Iterator["Step"]:
        """The steps without children, in the order in which they ran."""
        if not self.children:
            yield self
        for child in self.children:
            yield from child.leaves()


def trace(
    model: nn.Module, given: Tensor, *, closed: tuple[type, ...] = (), run: Callable[..., Any] | None = None
) -> Step:
    """The steps of `run(given)`, of the whole model unless `run` is another function of it.

    A module is closed, one step, if it holds no other module or is one of `closed`.
    """
    recorder = _Recorder(model, closed)
    recorder.root.reads = [(INPUT, tuple(given.shape))]
    recorder.made[id(given)] = (INPUT, ())
    recorder.alive.append(given)
    with torch.no_grad(), recorder.listening(), recorder:
        recorder.root.shape = tuple((run or model)(given).shape)
    return recorder.root


class _Recorder(TorchFunctionMode):
    """Sees each call of a module, by hooks, and each operation of PyTorch, as a function mode."""

    def __init__(self, model: nn.Module, closed: tuple[type, ...]) -> None:
        super().__init__()
        self.model, self.closed, self.count = model, closed, 0
        self.root = Step(type(model).__name__, "")
        self.open, self.inside = [self.root], 0  # `inside` so many closed modules
        # id of a tensor -> the step that made it, and the parameters that it is a view of
        self.made: dict[int, tuple[int, tuple[str, ...]]] = {}
        self.alive: list[Tensor] = []  # an id is a tensor's as long as the tensor lives
        for name, weight in model.named_parameters():
            self.made[id(weight)] = (INPUT - 1, (name,))

    @contextmanager
    def listening(self) -> Iterator[None]:
        """With hooks on all modules but the model itself."""
        hooks = []
        for path, module in self.model.named_modules():
            if path and not isinstance(module, nn.Identity):
                hooks.append(module.register_forward_pre_hook(self._entering(path)))
                hooks.append(module.register_forward_hook(self._leaving))
        try:
            yield
        finally:
            for hook in hooks:
                hook.remove()

    def _entering(self, path: str) -> Callable[..., None]:
        def enter(module: nn.Module, given: Any) -> None:
            if self.inside or self._is_closed(module):
                self.inside += 1
            if self.inside <= 1:
                step = Step(type(module).__name__, path)
                self.open[-1].children.append(step)
                self.open.append(step)
                if self.inside:
                    self._read(step, given)
                    step.weights += [f"{path}.{name}" for name, _ in module.named_parameters()]

        return enter

    def _leaving(self, module: nn.Module, given: Any, output: Any) -> None:
        if self.inside <= 1:
            step = self.open.pop()
            step.shape = tuple(output.shape)
            if self.inside:
                self._number(step, [output])
        self.inside = max(0, self.inside - 1)

    def _is_closed(self, module: nn.Module) -> bool:
        return isinstance(module, self.closed) or next(module.children(), None) is None

    def __torch_function__(self, function: Any, types: Any, args: Any = (), kwargs: Any = None) -> Any:
        output = function(*args, **(kwargs or {}))
        made = list(_tensors([output]))
        if made and not self.inside:
            self._operation(function, [*args, *(kwargs or {}).values()], made)
        return output

    def _operation(self, function: Any, given: Any, made: list[Tensor]) -> None:
        name = getattr(function, "__name__", "") or str(function)
        known = [self.made[id(tensor)] for tensor in _tensors(given) if id(tensor) in self.made]
        if not known:  # a constant
            return
        if name in VIEWS:
            for tensor in made:
                self._keep(tensor, known[0])
            return
        if ":" in name or "." in name:
            name = str(resolve_name(function)).split(".")[1]  # allmlp.causal_relation.default
        step = Step(name.strip("_"), self.open[-1].path)
        self._read(step, given)
        if step.title in ARITHMETIC:
            step.fixed = [tuple(one.shape) if isinstance(one, Tensor) else one for one in given if self._is_fixed(one)]
        self._number(step, made)
        self.open[-1].children.append(step)

    def _is_fixed(self, given: Any) -> bool:
        return isinstance(given, (int, float)) or (isinstance(given, Tensor) and id(given) not in self.made)

    def _read(self, step: Step, given: Any) -> None:
        for tensor in _tensors(given):
            number, weights = self.made.get(id(tensor), (INPUT - 1, ()))
            step.weights += weights
            if number >= INPUT:
                step.reads.append((number, tuple(tensor.shape)))

    def _number(self, step: Step, made: list[Tensor]) -> None:
        step.number, step.shape = self.count, tuple(made[0].shape)
        self.count += 1
        for tensor in made:
            self._keep(tensor, (step.number, ()))

    def _keep(self, tensor: Tensor, maker: tuple[int, tuple[str, ...]]) -> None:
        self.made[id(tensor)] = maker
        self.alive.append(tensor)


def _tensors(given: Iterable[Any]) -> Iterator[Tensor]:
    for one in given:
        if isinstance(one, Tensor):
            yield one
        elif isinstance(one, (list, tuple)):
            yield from _tensors(one)
