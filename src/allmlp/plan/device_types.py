"""How fast each type of device trains: as benchmarks/rates.py measured it, or as slow as its nominal rate makes it.

A GPU that was never measured takes the seconds of the measured one, and more in proportion where its nominal rate is
lower; small models do not gain from a higher one. If none was measured, a stated share of the nominal rate stands in.

rates.json           seconds of a job's start; per device of PyTorch its hardware and seconds per counted FLOP
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


class DeviceType(NamedTuple):
    """A type of device. `flops`: per second, for architectures without a measured rate."""

    name: str
    flops: float
    measured: Mapping[str, float]  # architecture -> seconds per FLOP
    said: str  # where the rate comes from
    memory_bytes: float | None = None

    def seconds(self, architecture: str, operations: float) -> float:
        """Of so many counted operations of a training."""
        return operations * self.measured.get(architecture, 1 / self.flops)


@cache
def list_types(device: str) -> tuple[DeviceType, ...]:
    """The types of a `device`, cpu or cuda: a measured one first, then in the order of the table."""
    rates = _read(RATES).get(device, {"hardware": "", "seconds_per_flop": {}})
    measured, hardware = rates["seconds_per_flop"], rates["hardware"]
    if device == "cpu":
        return (DeviceType("CPU core", NOMINAL_OF_CPU, measured, f"measured on {hardware}"),)
    table, found = _read(TYPES), []
    share, types = table["share_of_peak"], table["types"]
    known = next((name for name in types if name in hardware), None)
    peak = types[known]["bf16_flops"] if known else None
    for name, about in types.items():
        slower = max(1.0, peak / about["bf16_flops"]) if peak else 1.0
        said = f"never measured: {share:.0%} of {about['bf16_flops'] / 1e12:g} TFLOP/s"
        if peak:
            said = (
                f"measured on {hardware}" if name == known else f"never measured: {slower:.2g} times {known}'s seconds"
            )
        own = {architecture: slower * seconds for architecture, seconds in measured.items()} if peak else {}
        found.append(DeviceType(name, share * about["bf16_flops"], own, said, 1e9 * about["memory_gb"]))
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
