"""How fast each type of device trains: as benchmarks/rates.py fitted it, or as slow as its data sheet makes it.

Seconds of a step = step_s + s_per_flop * its counted operations + s_per_parameter * the model's parameters: what does
not depend on the size, as launches; matrix operations; bytes moved. Three numbers an architecture.

A GPU that was never measured takes the seconds of the measured one, but no operation is faster there than a stated
share of its nominal rate, assumed of steps that fill a card, and bytes take longer where its memory is slower. If none
was measured, a smaller share of the nominal rate stands in.

rates.json           seconds of a job's start; per device of PyTorch its hardware, the three numbers, and their error
device_types.json    GPU types with their nominal rates, where these come from, and the share of them that is assumed
"""

import json
from collections.abc import Mapping
from functools import cache
from pathlib import Path
from typing import Any, NamedTuple

from allmlp.common.errors import UserError

RATES, TYPES = (Path(__file__).with_name(name) for name in ("rates.json", "device_types.json"))
NOMINAL_OF_CPU = 1e10  # operations per second of an architecture that is not in rates.json
FARTHEST = 10  # times the operations of the largest step that was measured: beyond, hours are extrapolated


class StepTime(NamedTuple):
    """What the seconds of an architecture's step are made of; and the operations of the largest one measured."""

    step_s: float
    s_per_flop: float
    s_per_parameter: float
    largest_flops: float

    def seconds(self, operations: float, parameters: float) -> float:
        """Of a step with so many counted operations."""
        return self.step_s + self.s_per_flop * operations + self.s_per_parameter * parameters


class DeviceType(NamedTuple):
    """A type of device. `flops`: per second, for architectures that were never measured. `error`: of the estimates, as
    benchmarks/rates.py has it: median and p90 of the ratio to measured `runs`; empty if unknown.
    """

    name: str
    flops: float
    measured: Mapping[str, StepTime]
    said: str  # where the rate comes from
    memory_bytes: float | None = None
    error: Mapping[str, float] = {}

    def step_seconds(self, architecture: str, operations: float, parameters: float) -> float:
        """Of a training step with so many counted operations."""
        if known := self.measured.get(architecture):
            return known.seconds(operations, parameters)
        return operations / self.flops

    def is_extrapolated(self, architecture: str, operations: float) -> bool:
        """Is a step far larger than all that were measured?"""
        known = self.measured.get(architecture)
        return known is None or operations > FARTHEST * known.largest_flops


@cache
def list_types(device: str) -> tuple[DeviceType, ...]:
    """The types of a `device`, cpu or cuda: a measured one first, then in the order of the table."""
    rates = _read(RATES).get(device, {"hardware": "", "steps": {}})
    measured = {name: StepTime(**of) for name, of in rates["steps"].items()}
    hardware, error = rates["hardware"], rates.get("error", {})
    if device == "cpu":
        return (DeviceType("CPU core", NOMINAL_OF_CPU, measured, f"measured on {hardware}", error=error),)
    table, found = _read(TYPES), []
    share, types = table["share_of_peak"], table["types"]
    known = next((name for name in types if name in hardware), None)
    for name, about in types.items():
        rate = share * about["bf16_flops"]
        if known is None:
            said = f"never measured: {share:.0%} of {about['bf16_flops'] / 1e12:g} TFLOP/s"
            found.append(DeviceType(name, rate, {}, said, 1e9 * about["memory_gb"]))
            continue
        filled = 1 / (table["share_when_filled"] * about["bf16_flops"])
        narrower = max(1.0, types[known]["bytes_per_s"] / about["bytes_per_s"])
        own = {
            of: one._replace(
                s_per_flop=one.s_per_flop if name == known else max(one.s_per_flop, filled),
                s_per_parameter=narrower * one.s_per_parameter,
            )
            for of, one in measured.items()
        }
        at_most = f"at most {table['share_when_filled']:.0%} of {about['bf16_flops'] / 1e12:g} TFLOP/s"
        said = f"measured on {hardware}" if name == known else f"never measured: {known}'s seconds, {at_most}"
        found.append(DeviceType(name, rate, own, said, 1e9 * about["memory_gb"], error if name == known else {}))
    return tuple(sorted(found, key=lambda one: one.name != known))


def find_type(name: str | None, device: str) -> DeviceType:
    """The type with this name, or the first one of the `device`. UserError, with the names, if there is none."""
    known = list_types(device)
    for one in known:
        if name is None or name.lower() == one.name.lower():
            return one
    raise UserError(
        f"--on {name}: no such type of device for these runs. There are: {', '.join(one.name for one in known)}. "
        f"Others go into {TYPES.name} beside the code."
    )


def start_s() -> float:
    """Seconds from the call of a job to its first training step, imports included."""
    return float(_read(RATES)["start_s"])


@cache
def _read(path: Path) -> Any:
    return json.loads(path.read_text(encoding="utf-8"))
