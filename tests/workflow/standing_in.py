"""Programs that stand in for `allmlp` where a test looks at what a job is given."""

import os
import sys
from pathlib import Path

BIN = Path(sys.executable).parent

HOLDER = f"""#!/bin/sh
# `allmlp train --batch BATCH`, which leases a device, keeps it until $TOGETHER jobs have had one, and trains nothing
{BIN}/python -c '
import os, time
from pathlib import Path
from allmlp.training.devices import VISIBLE, lease
with lease("cuda") as device:
    began, seen, until = time.time(), Path("seen"), time.time() + 60
    seen.mkdir(exist_ok=True)
    mine = seen / str(os.getpid())
    mine.touch()
    while len(list(seen.iterdir())) < int(os.environ["TOGETHER"]) and time.time() < until:
        time.sleep(0.05)
    time.sleep(0.3)
    node = os.environ.get("SLURMD_NODENAME", "here")
    mine.write_text(f"{{node}} {{os.environ[VISIBLE]}}|{{began}}|{{time.time()}}|{{device.note}}")' || exit
mkdir -p work/trained && touch work/trained/$3.json
"""


def instead(clone: Path, script: str, path: str = os.environ["PATH"]) -> str:
    """A PATH with `script` in place of `allmlp`."""
    program = clone.parent / "bin" / "allmlp"
    program.parent.mkdir()
    program.write_text(script, encoding="utf-8")
    program.chmod(0o755)
    return os.pathsep.join([str(program.parent), str(BIN), path])


def held(clone: Path) -> list[tuple[str, float, float, str]]:
    """What the jobs had: node and device, from when, until when, and how it was chosen."""
    found = [path.read_text(encoding="utf-8").split("|") for path in (clone / "seen").iterdir()]
    return [(device, float(began), float(ended), note) for device, began, ended, note in found]


def most_at_once(spans: list[tuple[float, float]]) -> int:
    """How many of these spans of time overlap at most."""
    return max(sum(began <= moment < ended for began, ended in spans) for moment, _ in spans)
