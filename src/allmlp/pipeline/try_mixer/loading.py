"""The mixer in a user's file: found, built and checked, with one error that names the file and the way out."""

import inspect
import sys
import traceback
from collections.abc import Mapping
from functools import cache
from importlib.machinery import SourceFileLoader
from pathlib import Path
from types import ModuleType
from typing import Any

import torch
from torch import nn
from torch.utils import _pytree as pytree
from torch.utils._python_dispatch import TorchDispatchMode

from allmlp.common import paths
from allmlp.common.errors import UserError, error_line
from allmlp.models.base import SequenceModel, TokenMixer

CONTRACT = "It is built as `Mixer(d_model, context)` and maps x (B, T, d_model) to the same shape; docs/architecture.md"


def load(file: Path) -> type[nn.Module]:
    """The mixer's class: the only nn.Module of the file, or the one that is called Mixer or is a TokenMixer."""
    if not file.is_file():
        raise UserError(f"{file}: is not there. Give a Python file with one torch.nn.Module.")
    return load_class(str(file), paths.file_sha256(file))


@cache
def load_class(file: str, digest: str) -> Any:
    """The class in a file of these bytes; the file's code is run once."""
    name = f"allmlp_try_{Path(file).stem}_{digest[:8]}"
    loader = SourceFileLoader(name, file)
    module = sys.modules[name] = ModuleType(name)
    cache_too, sys.dont_write_bytecode = sys.dont_write_bytecode, True  # nothing is written beside the user's file
    try:
        loader.exec_module(module)
    except SyntaxError as error:
        raise UserError(f"{file}:{error.lineno}: {error.msg}") from error
    except Exception as error:
        raise UserError(f"{line(file, error)}: cannot be run: {error_text(error)}") from error
    finally:
        sys.dont_write_bytecode = cache_too
    own = [one for one in vars(module).values() if isinstance(one, type) and one.__module__ == name]
    classes = [one for one in own if issubclass(one, nn.Module) and not issubclass(one, SequenceModel)]
    if not classes:
        raise UserError(f"{file}: has no torch.nn.Module. Write one: `class Mixer(nn.Module)`. {CONTRACT}.")
    chosen = [one for one in classes if one.__name__ == "Mixer" or issubclass(one, TokenMixer)]
    if len(found := chosen or classes) > 1:
        names = ", ".join(one.__name__ for one in found)
        raise UserError(f"{file}: has several modules ({names}). Call the one to be tried `Mixer`.")
    return found[0]


def check(file: Path, hyperparameters: Mapping[str, Any]) -> None:
    """UserError unless the mixer can be built, has parameters, and maps x to its own shape in finite numbers."""
    cls, D, T = load(file), hyperparameters["d_model"], hyperparameters["context"]
    place = forward_line(file)
    try:
        mixer = cls(D, T)
    except Exception as error:
        raise UserError(
            f"{line(file, error)}: {cls.__name__}({D}, {T}) failed: {error_text(error)}. {CONTRACT}."
        ) from error
    if not any(weight.requires_grad for weight in mixer.parameters()):
        raise UserError(
            f"{file}: {cls.__name__} has no parameters, so it can learn nothing. Add a layer, such as "
            "`self.out = nn.Linear(d_model, d_model)`, to its constructor."
        )
    x_BTD = torch.randn(2, T, D, generator=torch.Generator().manual_seed(0))
    try:
        out = mixer(x_BTD)
    except Exception as error:
        raise UserError(
            f"{line(file, error)}: {cls.__name__} failed on x of shape {tuple(x_BTD.shape)}: {error_text(error)}. "
            f"{CONTRACT}."
        ) from error
    if not isinstance(out, torch.Tensor) or out.shape != x_BTD.shape:
        shape = f"shape {tuple(out.shape)}" if isinstance(out, torch.Tensor) else f"a {type(out).__name__}"
        raise UserError(f"{place}: {cls.__name__} returns {shape} for x of shape {tuple(x_BTD.shape)}. {CONTRACT}.")
    if not out.isfinite().all():
        raise UserError(
            f"{place}: {cls.__name__} returns numbers that are not finite for random x of mean 0 and variance 1. "
            "Look for divisions by zero, logarithms, or an exponential that overflows."
        )
    _check_devices(file, mixer.to("meta"), x_BTD.to("meta"))


class _OneDevice(TorchDispatchMode):
    """Refuses operations on tensors of several devices; a GPU takes numbers and indices from the CPU, and nothing else.

    On `meta` an operation has shapes and no numbers, and some mix devices without an error.
    """

    def __torch_dispatch__(self, func: Any, types: Any, args: Any = (), kwargs: Any = None) -> Any:
        tensors = [one for one in pytree.arg_tree_leaves(*args, **(kwargs or {})) if isinstance(one, torch.Tensor)]
        devices = {one.device.type for one in tensors if one.ndim}
        if len(devices) > 1 and func not in (torch.ops.aten.index.Tensor, torch.ops.aten._to_copy.default):
            raise _MixedDevicesError(str(func))
        return func(*args, **(kwargs or {}))


class _MixedDevicesError(Exception):
    """Raised where the tensors of an operation lie on several devices."""


def _check_devices(file: Path, mixer: nn.Module, x_BTD: torch.Tensor) -> None:
    """UserError for a tensor that is made on the CPU whatever the device of x, which fails on a GPU."""
    try:
        with _OneDevice(), torch.no_grad():
            mixer(x_BTD)
    except _MixedDevicesError as error:
        raise UserError(
            f"{line(file, error)}: mixes a tensor of its own with x on another device, which fails on a GPU. Make it "
            "where x is, as in `torch.ones(T, T, device=x.device)`, or keep it as a buffer, with `register_buffer`."
        ) from error
    except (RuntimeError, NotImplementedError, TypeError):  # what reads numbers, which `meta` has none of
        return


def line(file: str | Path, error: Exception) -> str:
    """The file, with the last of its lines that an error went through."""
    lines = [frame.lineno for frame in traceback.extract_tb(error.__traceback__) if frame.filename == str(file)]
    return f"{file}:{lines[-1]}" if lines else str(file)


def forward_line(file: Path) -> str:
    """The file, with the line where the mixer's `forward` begins: what a fault of its numbers is about."""
    code = getattr(inspect.unwrap(load(file).forward), "__code__", None)
    return f"{file}:{code.co_firstlineno}" if code and code.co_filename == str(file) else str(file)


def error_text(error: Exception) -> str:
    """An error of the user's code in a line."""
    return f"{type(error).__name__}: {error_line(error)[:300]}"
