"""The first losses of every architecture: what keeps an unchanged RECIPE honest.

`python -m tests.numerics.golden` writes golden.json anew, after a RECIPE was raised.
"""

import json
import os
import tempfile
from pathlib import Path

from allmlp.training.loop import Training
from tests import tiny

FILE = Path(__file__).with_name("golden.json")
STEPS = 6


def first_losses(architecture: str) -> list[float]:
    """Losses before each of the first updates of the tiny run, in nats."""
    training = Training(tiny.run(architecture, steps=STEPS), Path("work") / architecture)
    training.train()
    return training.work.log()["loss"].tolist()


def main() -> None:
    """Write golden.json."""
    os.chdir(tempfile.mkdtemp())
    tiny.write_tokens(Path.cwd())
    FILE.write_text(json.dumps({name: first_losses(name) for name in tiny.ALL}, indent=1) + "\n")


if __name__ == "__main__":
    main()
