"""Seconds that jobs spend on tokens, trainings and measures themselves, without the start of their processes.

work/busy.jsonl    a line per piece of work: what, when it began (seconds since 1970), how many seconds it took, and
                   how many of a core's, which do not count others that work beside
"""

import json
import time
from collections.abc import Iterator
from contextlib import contextmanager, suppress
from pathlib import Path
from typing import Literal

BUSY = Path("work/busy.jsonl")


@contextmanager
def record_seconds(work: str) -> Iterator[None]:
    """Record the seconds of a block, also if it fails. Processes append whole lines to one file."""
    began, start, cpu = time.time(), time.perf_counter(), time.process_time()
    try:
        yield
    finally:
        took = {"seconds": time.perf_counter() - start, "cpu_seconds": time.process_time() - cpu}
        line = json.dumps({"work": work, "began": began} | {key: round(value, 3) for key, value in took.items()})
        with suppress(OSError):  # a full disk has an error of its own
            BUSY.parent.mkdir(parents=True, exist_ok=True)
            with BUSY.open("a", encoding="utf-8") as stream:
                stream.write(f"{line}\n")


def seconds_since(folder: Path, moment: float, kind: Literal["seconds", "cpu_seconds"] = "seconds") -> float:
    """Seconds of all that began after this moment below a folder. A line that a kill cut off counts for nothing."""
    total = 0.0
    for line in (folder / BUSY).read_text(encoding="utf-8").splitlines() if (folder / BUSY).is_file() else ():
        try:
            found = json.loads(line)
            total += found[kind] if found["began"] >= moment else 0.0
        except (ValueError, KeyError, TypeError):
            continue
    return total
