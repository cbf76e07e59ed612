"""All faults of the catalogue, a few hundred: `python -m tests.faults`, or `make faults`."""

import shutil
import sys
import tempfile
from collections import Counter
from pathlib import Path

from tests.faults import catalogue, subject, trials


def main() -> None:
    kinds = sys.argv[1:]
    folder = Path(tempfile.mkdtemp(prefix="faults-"))
    made = subject.make(folder)
    rows = []
    for fault in catalogue.CATALOGUE:
        if kinds and not any(kind in fault.kind for kind in kinds):
            continue
        for step in fault.steps:
            for seed in range(fault.weight):
                row = trials.carry_out(made, fault.kind, fault.put, step, seed, folder / "trial")
                shutil.rmtree(folder / "trial", ignore_errors=True)
                rows.append(row)
                print(row.kind, row.step, row.seed, row.how, "LOST" if row.lost else "", flush=True)
                if row.lost:
                    print("    " + row.lost.replace("\n", "\n    ")[:3000], flush=True)
    print(Counter((row.how, bool(row.lost)) for row in rows))


main()
