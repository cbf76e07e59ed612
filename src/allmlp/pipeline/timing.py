"""Seconds that jobs spend on tokens, trainings and measures themselves, without the start of their processes.

work/busy.jsonl    a line per piece of work: what, when it began (seconds since 1970), how many seconds it took
"""

import json
import time
from collections.abc import Iterator
from contextlib import contextmanager, suppress
from pathlib import Path

BUSY = Path("work/busy.jsonl")


@contextmanager
def record_seconds(work: str) -> Iterator[None]:
    """Record the seconds of a block, also if it fails. Processes append whole lines to one file."""
    began, start = time.time(), time.perf_counter()
    try:
        yield
    finally:
        line = json.dumps({"work": work, "began": began, "seconds": round(time.perf_counter() - start, 3)})
        with suppress(OSError):  # a full disk has an error of its own
            BUSY.parent.mkdir(parents=True, exist_ok=True)
            with BUSY.open("a", encoding="utf-8") as stream:
                stream.write(f"{line}\n")


def seconds_since(folder: Path, moment: float) -> float:
    """Seconds of all that began after this moment below a folder. A line that a kill cut off counts for nothing."""
    total = 0.0
    for line in (folder / BUSY).read_text(encoding="utf-8").splitlines() if (folder / BUSY).is_file() else ():
        try:
            found = json.loads(line)
            total += found["seconds"] if found["began"] >= moment else 0.0
        except (ValueError, KeyError, TypeError):
            continue
    return total
