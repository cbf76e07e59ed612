"""The newest undamaged state of a run in its work folder, as files."""

from pathlib import Path

from allmlp.common import formats
from allmlp.measurements.origins import MADE_BY
from allmlp.pipeline.bundles.members import Member
from allmlp.training.state_file import has_log, is_intact
from allmlp.training.storage import MANIFEST, read_manifest

RUNS = Path("work/runs")
COMPLETE = 1 << 62  # the step of a training that has ended and lacks only its publication


def newest_state(run_id: str) -> tuple[int, list[Member]]:
    """(step, files) of the state that a training would continue; (-1, none) if none has begun.

    Two states are kept, and a running training replaces the older one. So files are read at once and checked, and on
    failure looked for again.
    """
    folder = RUNS / run_id
    for _ in range(3):
        if (folder / "complete").is_file():
            names = [*read_manifest(folder), MANIFEST, "complete"]
            return COMPLETE, [Member(f"{folder}/{name}") for name in names]
        steps = (int(path.stem.removeprefix("state-")) for path in folder.glob("state-*.json"))
        for step in sorted(steps, reverse=True):
            if members := _state(folder, step):
                return step, members
    return -1, []


def _state(folder: Path, step: int) -> list[Member]:
    """A state's files, its log and the weights kept before it; none if any is missing or damaged."""
    try:
        about = (folder / f"state-{step}.json").read_bytes()
        weights = (folder / f"state-{step}.safetensors").read_bytes()
        log = (folder / "log.jsonl").read_bytes().splitlines(keepends=True)[:step] if step else []
        found = formats.parse_json(about)
        formats.check_format("state", folder, found)
        kept = [Member(f"{folder}/{name}", (folder / name).read_bytes()) for name in found["kept"]]
        made = [Member(f"{folder}/{MADE_BY}", (folder / MADE_BY).read_bytes())] if (folder / MADE_BY).is_file() else []
    except (OSError, ValueError, KeyError, TypeError):
        return []
    state = Member(f"{folder}/state-{step}.safetensors", weights)
    expected = [found["sha256"], *found["kept"].values()]
    whole = is_intact(found) and has_log(found, b"".join(log))
    if not whole or [member.entry()["sha256"] for member in (state, *kept)] != expected:
        return []
    rows, described = Member(f"{folder}/log.jsonl", b"".join(log)), Member(f"{folder}/state-{step}.json", about)
    return [*kept, *made, rows, state, described]
