"""Fuzzing of the parsers by atheris: `make fuzz`, with MINUTES=5 in all. Writes what it found into docs/strangers.md.

python -m tests.strangers.fuzzing MINUTES [SEED]     all parsers in turn, each in a fork of its own
"""

import os
import random
import sys
import tempfile
import traceback
from collections.abc import Callable
from pathlib import Path
from types import FunctionType
from typing import NamedTuple

from tests.conftest import PROJECT
from tests.strangers.catalogue import DOCS, FUZZED, table
from tests.strangers.parsers import PARSERS, Parser, tried

CRASHES = PROJECT / "work/fuzz"  # the inputs of crashes stay there
LONGEST, MEMORY, SLOWEST = 1 << 14, 3 << 10, 60  # bytes of an input, MB of a process, seconds of an input
INSTRUMENTED = tuple(
    f"allmlp.{name}"
    for name in (
        "artifacts",
        "bounded",
        "bundles",
        "corpora",
        "layered",
        "measured",
        "params",
        "store",
        "strict",
        "tokens",
        "yamlfile",
    )
)


class Fuzzed(NamedTuple):
    """What came of one parser: inputs tried, inputs that were read, and the crash, if there was one."""

    parser: str
    seed: int
    inputs: int
    read: int
    crash: str = ""

    @property
    def refused(self) -> int:
        """The inputs that one message refused."""
        return self.inputs - self.read


def fuzz(parser: Parser, seconds: int, seed: int, folder: Path) -> None:
    """Fuzz one parser in this process, which atheris ends. `folder`/counts has the inputs tried, and those read."""
    import atheris  # type: ignore[import-not-found]

    counts = {"inputs": 0, "read": 0}
    (folder / "seeds").mkdir()
    (folder / "input").mkdir()
    for number, content in enumerate(parser.seeds()):
        (folder / "seeds" / str(number)).write_bytes(content)

    kept = os.open(folder / "counts", os.O_WRONLY | os.O_CREAT)

    def one(data: bytes) -> None:
        counts["inputs"] += 1
        counts["read"] += tried(parser, data, folder / "input")
        os.pwrite(kept, f"{counts['inputs']:12} {counts['read']:12}".encode(), 0)  # whole, whenever this is killed

    limits = (f"-max_total_time={seconds}", f"-seed={seed}", f"-max_len={LONGEST}", f"-rss_limit_mb={MEMORY}")
    crashes = f"-artifact_prefix={CRASHES}/{parser.name.replace(' ', '-')}-"
    instrument(atheris.instrument_func)
    atheris.Setup([sys.argv[0], *limits, f"-timeout={SLOWEST}", crashes, str(folder / "seeds")], one)
    atheris.Fuzz()


def instrument(change: Callable[[object], object]) -> None:
    """Let atheris see which lines of this project an input reaches: it changes functions in place."""
    for name, module in sorted(sys.modules.items()):
        of = [*vars(module).values()] if name.startswith(INSTRUMENTED) else []
        of += [one for kind in of if isinstance(kind, type) for one in vars(kind).values()]
        for one in of:
            if isinstance(one, FunctionType) and one.__module__ == name:
                change(one)


def apart(parser: Parser, seconds: int, seed: int) -> Fuzzed:
    """One parser fuzzed in a fork: what ends it does not end this process."""
    with tempfile.TemporaryDirectory(prefix="allmlp-fuzz-") as place:
        folder = Path(place)
        (folder / "counts").touch()
        child = os.fork()
        if not child:
            to = os.open(folder / "said", os.O_WRONLY | os.O_CREAT)
            os.dup2(to, 1)
            os.dup2(to, 2)
            try:
                fuzz(parser, seconds, seed, folder)
            except BaseException:  # a fork must not leave this function: it would remove the folder
                traceback.print_exc()
                sys.stderr.flush()
                os._exit(1)
        status = os.waitstatus_to_exitcode(os.waitpid(child, 0)[1])
        inputs, read = map(int, (folder / "counts").read_text().split() or (0, 0))
        said = (folder / "said").read_text(encoding="utf-8", errors="replace")
    return Fuzzed(parser.name, seed, inputs, read, f"ended with {status}: {said[-2000:]}" if status else "")


def page(rows: list[Fuzzed], minutes: float) -> str:
    """The part of docs/strangers.md."""
    total, crashed = sum(row.inputs for row in rows), sum(bool(row.crash) for row in rows)
    lines = [
        FUZZED,
        "",
        f"`make fuzz` in {minutes:g} minutes: {total:,} inputs, {crashed} crashes. Each input was read, or refused by",
        "one message: no other exception, no end of the process, no hang, no memory beyond 3 GiB.",
        "`make fuzz MINUTES=60` goes on for an hour and writes this part again.",
        "",
        "| parser | seed | inputs | read | refused | crashes |",
        "| --- | ---: | ---: | ---: | ---: | ---: |",
    ]
    lines += [
        f"| {row.parser} | {row.seed} | {row.inputs:,} | {row.read:,} | {row.refused:,} | {int(bool(row.crash))} |"
        for row in rows
    ]
    return "\n".join([*lines, ""])


def main() -> None:
    """Fuzz all parsers for so many minutes together, print each, and exit with 1 if one crashed."""
    minutes = float(sys.argv[1])
    seed = int(sys.argv[2]) if len(sys.argv) > 2 else random.SystemRandom().randrange(1, 1 << 31)
    CRASHES.mkdir(parents=True, exist_ok=True)
    rows = []
    for number, parser in enumerate(PARSERS):
        row = apart(parser, max(1, round(60 * minutes / len(PARSERS))), seed + number)
        rows.append(row)
        print(f"{row.parser}, seed {row.seed}: {row.inputs:,} inputs, {row.crash or 'no crash'}", flush=True)
    crashed = sum(bool(row.crash) for row in rows)
    print(f"{sum(row.inputs for row in rows):,} inputs, {crashed} crashes", flush=True)
    if not crashed:
        DOCS.write_text(table() + page(rows, minutes), encoding="utf-8")
    raise SystemExit(1 if crashed else 0)


if __name__ == "__main__":
    main()
