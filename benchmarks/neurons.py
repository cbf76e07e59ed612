"""Analysis of one checkpoint of the paper's size beside reading its bytes once, in one run on one core.

A checkpoint of 15 tokens of context, embeddings of 512, hidden width 16,384 and 32,000 token types. Analysis: the
weights' digest checked, the first layer's profile, Appendix H's classes under both readings, l1/l2 in both bases,
energies and the curves of its thresholds: all measures of neurons but the keywords, which run the model. Asked: under
a second, and at most three times the time of reading the file once, from the system's cache. Prints both, medians of
alternating rounds of this process's own time, and what the parts of the analysis take.
"""

import statistics
import sys
import tempfile
import time
from collections.abc import Callable
from pathlib import Path
from types import SimpleNamespace

import torch

from allmlp import models
from allmlp.spec import catalogue
from allmlp.studies.language import profiles
from allmlp.training.storage import read_tensors, write_tensors

SIZES = {"vocabulary": 32_000, "context": 15, "d_model": 512, "d_mlp": 16_384}
MEASURES = ("class_energies", "concentration", "energy_map", "explained_energy", "l1_l2", "neuron_classes", "row_norms",
            "thresholds")  # fmt: skip
ROUNDS = 7
SECONDS, TIMES = 1.0, 3.0  # asked at most


def checkpoint(folder: Path) -> tuple[Path, str]:
    """A checkpoint's file, and its digest. Neurons are neither fresh nor of one kind: tails of some are made equal."""
    torch.manual_seed(0)
    weights = models.build("mlp", **SIZES).state_dict()
    neurons_NTD = weights["first.weight"].view(SIZES["d_model"], SIZES["context"], -1)
    neurons_NTD[::2, :-2] = neurons_NTD[::2, :1]
    path = folder / "final.safetensors"
    return path, write_tensors(path, weights)


def trained(path: Path, digest: str) -> SimpleNamespace:
    """The run as measures see it, with one kept step."""
    import pandas as pd

    run = SimpleNamespace(
        labels={"model": "mlp"}, hyperparameters=SIZES, optimiser={"weight_decay": 0.1}, steps=1, seed=0, tokens=None
    )
    return SimpleNamespace(
        run=run,
        steps=[1],
        log=pd.DataFrame({"step": [0], "learning_rate": [1e-3]}),
        weights=lambda step: read_tensors(path, digest, ""),
    )


def seconds(run: Callable[[], object]) -> float:
    """This process's own time, to which other processes add little."""
    start = time.process_time()
    run()
    return time.process_time() - start


def analyse(path: Path, digest: str) -> dict[str, float]:
    """Seconds of each part of one analysis."""
    seen = trained(path, digest)
    parts = {"read, checked, profiled": seconds(lambda: profiles.step_profile(seen, 1))}
    return parts | {name: seconds(lambda m=name: catalogue.measure("language", m)(seen)) for name in MEASURES}


def main() -> int:
    """Print a line per part, then the targets; return 1 where one is missed."""
    torch.set_num_threads(1)
    with tempfile.TemporaryDirectory() as folder:
        path, digest = checkpoint(Path(folder))
        analyse(path, digest)  # warm: the file in the page cache, modules imported
        rounds = [(seconds(path.read_bytes), analyse(path, digest)) for _ in range(ROUNDS)]
        size = path.stat().st_size
    for name in rounds[0][1]:
        print(f"{name:25} {1000 * statistics.median(parts[name] for _, parts in rounds):7.1f} ms")
    read = statistics.median(once for once, _ in rounds)
    whole = statistics.median(sum(parts.values()) for _, parts in rounds)
    times = statistics.median(sum(parts.values()) / once for once, parts in rounds)
    print(f"{'all':25} {1000 * whole:7.1f} ms; reading {size / 1e6:.0f} MB once {1000 * read:.1f} ms")
    print(f"{whole:.2f} s, {times:.2f} times reading once; asked at most {SECONDS:g} s and {TIMES:g} times")
    return int(whole > SECONDS or times > TIMES)


if __name__ == "__main__":
    sys.exit(main())
