"""The stages, in their order: what each calls, its minutes, the file that it ends in, and when that file is whole."""

import json
from collections.abc import Callable
from pathlib import Path
from typing import Any, NamedTuple

from allmlp import models

CHECKED, SPEEDS, STEPS, DECIDED, BUNDLE = "gpu-check.json", "gpu.json", "steps.json", "decided.json", "back.bundle"
# groups of checks that a rehearsal makes: seconds on a CPU
FEW = ("check_relations", "check_loss", "check_lease")
SHORTER = 2  # times, the stages of a rehearsal
OWN = ("-m", "allmlp.pipeline.gpu_hour")


class Stage(NamedTuple):
    """`minutes`: expected; one that takes half as long again is stopped, but for one that `takes_rest`.

    `words`: its command, behind `python`. `is_whole`: is its file complete? `gave`: the file in one line.
    """

    name: str
    minutes: float
    words: tuple[str, ...]
    file: str
    is_whole: Callable[[Path], bool]
    gave: Callable[[Path], str]
    takes_rest: bool = False


def stages(out: Path, device: str, tiny: bool) -> list[Stage]:
    """Those of a device. `tiny`: as short as a rehearsal needs them."""
    speeds = ("benchmarks/gpu.py", "--device", device, "--keep", str(out / SPEEDS))
    steps = ("benchmarks/rates.py", "--device", device, "--steps", str(out / STEPS))
    checks = (*OWN, "--stage", "check", "--out", str(out), "--device", device, *(["--tiny"] if tiny else []))
    runs = (*OWN, "--stage", "runs", "--out", str(out), "--device", device)
    every = [
        Stage("check", 3, checks, CHECKED, lambda file: _read(file)["complete"], _checks),
        Stage("speeds", 2, speeds, SPEEDS, _has("plain", device), _speeds(device)),
        Stage("steps", 3, steps, STEPS, _has("plain"), _steps),
        Stage("speeds compiled", 5, (*speeds, "--compile"), SPEEDS, _has("compiled", device), _speeds(device)),
        Stage("steps compiled", 5, (*steps, "--compile"), STEPS, _has("compiled"), _steps),
        Stage("runs", 2, runs, DECIDED, lambda file: _read(file)["complete"], _decided, takes_rest=True),
    ]
    if not tiny:
        return every
    return [stage._replace(minutes=stage.minutes / SHORTER) for stage in every if "compiled" not in stage.name]


def wrong_architectures(out: Path) -> dict[str, set[str]]:
    """architecture -> how it computed something wrong by the checks: plain, compiled, stacked. Empty without checks."""
    found: dict[str, set[str]] = {}
    for one in _read(out / CHECKED)["checks"] if (out / CHECKED).is_file() else ():
        words = one["check"].replace(",", " ").split()
        how = "compiled" if "compiled" in words else "stacked" if "stack" in words else "plain"
        if not one["passed"] and (name := "causal-rn" if words[0] == "relation" else words[0]) in models.REGISTRY:
            found.setdefault(name, set()).add(how)
    return found


def has_wrong_kernels(out: Path) -> bool:
    """Did the causal relation's own kernels compute something wrong?"""
    return "plain" in wrong_architectures(out).get("causal-rn", ())


def is_whole(stage: Stage, out: Path) -> bool:
    """Is its file there, complete and readable?"""
    try:
        return bool(stage.is_whole(out / stage.file))
    except (OSError, ValueError, KeyError):
        return False


def said(stage: Stage, out: Path) -> str:
    """What its file gives, whole or not."""
    try:
        return stage.gave(out / stage.file)
    except (OSError, ValueError, KeyError):
        return ""


def _read(file: Path) -> dict[str, Any]:
    return json.loads(file.read_text(encoding="utf-8"))


def _has(steps: str, device: str | None = None) -> Callable[[Path], bool]:
    """Does a file, or its entry of a device, have all steps that are plain, or compiled?"""
    return lambda file: steps in (_read(file)[device] if device else _read(file))["complete"]


def _checks(file: Path) -> str:
    checks = _read(file)["checks"]
    failed = [one["check"] for one in checks if not one["passed"]]
    return f"{len(checks)} checks, {len(failed)} failed{': ' * bool(failed)}{'; '.join(failed[:3])}"


def _speeds(device: str) -> Callable[[Path], str]:
    def gave(file: Path) -> str:
        entry = _read(file)[device]
        return f"{len(entry['models'])} models timed, {len(entry['not_measured'])} could not be"

    return gave


def _steps(file: Path) -> str:
    found = _read(file)
    of = len({point["architecture"] for point in found["points"]})
    return f"{len(found['points'])} steps of {of} architectures timed, {len(found['not_timed'])} could not be"


def _decided(file: Path) -> str:
    found = _read(file)
    left = f", {found['left_out']} left out: checks of their architectures failed" if found["left_out"] else ""
    return f"{found['done']} of {found['asked']} runs done, {found['failed']} failed{left}"
