"""The closing report: what each stage gave and took, what it would renew in the repository, and how that is done."""

import json
import shlex
from collections.abc import Sequence
from pathlib import Path
from typing import Any

from allmlp.common import paths
from allmlp.common.terminal import align_columns
from allmlp.pipeline.gpu_hour.running import BEFORE, DONE, Outcome
from allmlp.pipeline.gpu_hour.stages import BUNDLE, CHECKED, SPEEDS, STEPS, Stage, is_whole

JSON, TEXT = "report.json", "report.txt"
# a file of the folder -> the files of the repository that it renews, and the commands that do it there
TAKEN_IN = {
    CHECKED: (["benchmarks/gpu-check.json", "docs/cluster.md"], ["cp {} benchmarks/gpu-check.json"]),
    SPEEDS: (["benchmarks/gpu.json", "docs/cluster.md"], ["cp {} benchmarks/gpu.json"]),
    STEPS: (
        ["benchmarks/steps.json", "src/allmlp/plan/rates.json", "docs/machines.md"],
        ["cp {} benchmarks/steps.json", "python benchmarks/rates.py --write --device cuda --fit"],
    ),
    BUNDLE: (
        ["results/measurements", "results/claims.json", "results/report.html"],
        ["allmlp unpack {}", "allmlp report"],
    ),
}


def close(outcomes: Sequence[Outcome], stages: Sequence[Stage], out: Path, minutes: float) -> str:
    """Write both reports, the minutes of earlier calls counted in. Returns the text."""
    earlier = _read(out / JSON).get("stages", {})
    found = {}
    for one in outcomes:
        spent = earlier.get(one.stage, {}).get("minutes", 0.0) + one.minutes
        found[one.stage] = {"state": one.state, "minutes": round(spent, 2), "said": one.said}
    useful = {stage.file for stage in stages if is_whole(stage, out)} | {BUNDLE}
    there = [name for name in TAKEN_IN if name in useful and (out / name).is_file()]
    renewed = {name: TAKEN_IN[name][0] for name in there}
    commands = [one.format(shlex.quote(str(out / name))) for name in there for one in TAKEN_IN[name][1]]
    digests = {name: paths.file_sha256(out / name) for name in there}
    content = {
        "hardware": _hardware(out), "given_minutes": minutes, "stages": found, "sha256": digests,
        "would_renew": renewed, "commands": commands,
    }  # fmt: skip
    paths.write_atomically(out / JSON, json.dumps(content, indent=1) + "\n")
    text = "\n".join(_lines(content, outcomes)) + "\n"
    paths.write_atomically(out / TEXT, text)
    return text


def _lines(content: dict[str, Any], outcomes: Sequence[Outcome]) -> list[str]:
    spent = sum(one.minutes for one in outcomes)
    done = sum(one.state in (DONE, BEFORE) for one in outcomes)
    rows = [(name, of["state"], f"{of['minutes']:.1f}", of["said"]) for name, of in content["stages"].items()]
    found = [
        f"{content['hardware']}: {done} of {len(outcomes)} stages are whole; "
        f"{spent:.1f} of {content['given_minutes']:g} minutes taken",
        "",
        *align_columns([("stage", "state", "minutes", "what it gave"), *rows], left=4),
    ]
    if content["would_renew"]:
        found += ["", "committed would be, from these files:"]
        found += [f"  {name}: {', '.join(files)}" for name, files in content["would_renew"].items()]
        found += ["", "to take it in, in a clone with all commands:"]
        found += [f"  {command}" for command in content["commands"]]
    if done < len(outcomes):
        found += ["", "the same command goes on with what is left; log.txt has the words of each stage"]
    return found


def _hardware(out: Path) -> str:
    for name in (CHECKED, STEPS):
        if about := _read(out / name).get("hardware"):
            return str(about)
    return "unknown device"


def _read(file: Path) -> dict[str, Any]:
    try:
        return dict(json.loads(file.read_text(encoding="utf-8")))
    except (OSError, ValueError):
        return {}
