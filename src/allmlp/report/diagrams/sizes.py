"""Sizes of a model by the letters of its code: shapes in letters, and the numbers of weights at the paper's sizes."""

from collections.abc import Callable, Iterable, Mapping
from dataclasses import dataclass
from itertools import combinations
from typing import Any

from torch import nn
from torch.overrides import TorchFunctionMode

MULTIPLES = (2, 3, 4)
RANDOM = ("kaiming_uniform_", "normal_", "uniform_", "xavier_uniform_")  # functions that fill a tensor


@dataclass(frozen=True)
class Letter:
    """A size: what it counts, a small number to trace with, which no other size has, and its number in the paper.

    `real` 0: the model does not depend on it.
    """

    word: str
    traced: int
    real: int = 0


class Sizes:
    """The letters of one model.

    >>> sizes = Sizes({"B": Letter("sequences", 17), "T": Letter("tokens", 5, 15), "D": Letter("features", 7, 512)})
    >>> sizes.name_shape((17, 35)), sizes.name_shape((17, 5, 28)), sizes.name_shape((17, 4, 1))
    ('(B, T D)', '(B, T, 4 D)', '(B, T - 1, 1)')
    """

    def __init__(self, letters: Mapping[str, Letter]) -> None:
        self.letters = dict(letters)
        by_number = {letter.traced: name for name, letter in letters.items()}
        if len(by_number) < len(letters):
            raise ValueError(f"two of {', '.join(letters)} are traced with the same number")
        self.names = by_number | {
            number: names for number, names in _composite_names(self).items() if number not in by_number
        }

    def __getitem__(self, name: str) -> int:
        return self.letters[name].traced

    def real(self, name: str) -> int:
        """The number in the paper."""
        return self.letters[name].real

    def name_shape(self, shape: Iterable[int]) -> str:
        """A shape in letters; a number that is none of them, nor made of them, stays a number.

        ValueError for a number that can be made of them in two ways.
        """
        names = ["1" if size == 1 else self.names.get(size, str(size)) for size in shape]
        if unclear := [name for name in names if " or " in name]:
            raise ValueError(f"a size may be {unclear[0]}: trace with other small numbers")
        return f"({', '.join(names)})"


def _composite_names(sizes: Sizes) -> dict[int, str]:
    """number -> `T D`, `4 D` or `C - 1`; two of them where it can be either."""
    found: dict[int, set[str]] = {}
    for name in sizes.letters:
        for multiple in MULTIPLES:
            found.setdefault(multiple * sizes[name], set()).add(f"{multiple} {name}")
        found.setdefault(sizes[name] - 1, set()).add(f"{name} - 1")
    for one, other in combinations(sizes.letters, 2):
        found.setdefault(sizes[one] * sizes[other], set()).add(f"{one} {other}")
    return {number: " or ".join(sorted(names)) for number, names in found.items()}


class _UnsetWeights(TorchFunctionMode):
    """Leaves large weights without values, so that they take neither time nor memory."""

    def __torch_function__(self, function: Any, types: Any, args: Any = (), kwargs: Any = None) -> Any:
        if getattr(function, "__name__", "") in RANDOM:
            return args[0] if args else (kwargs or {})["tensor"]
        return function(*args, **(kwargs or {}))


def counts(build: Callable[[], nn.Module]) -> dict[str, int]:
    """name -> numbers of each parameter of a model of any size: the system gives memory only to what is written.

    Not on the meta device: there PyTorch imports its compiler, which takes longer than all diagrams.
    """
    with _UnsetWeights():
        return {name: weight.numel() for name, weight in build().named_parameters()}
