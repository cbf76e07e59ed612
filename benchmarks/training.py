"""What the training loop costs beside the same updates written by hand, per architecture, in one run.

The loop adds pure batches, scores, the log and the checks for finite numbers. Prints milliseconds per update,
medians of alternating rounds, and their ratio.
"""

import statistics
import tempfile
import time
from pathlib import Path

import torch

from allmlp import models
from allmlp.spec.run import Run
from allmlp.spec.settings import Optimiser
from allmlp.training.loop import Training
from allmlp.training.loss import cross_entropy

ROUNDS, UPDATES = 7, 10
SIZES = {"vocabulary": 29, "context": 34, "d_model": 48, "n_blocks": 2}
OPTIMISER = Optimiser(learning_rate=2e-3, clip=1.0).model_dump()


def a_run(architecture: str) -> Run:
    """The laptop scale's copying run of strings of 16, or its modular addition."""
    if architecture == "constant-attention":
        sizes, task, parameters = {"vocabulary": 59}, "modular-addition", {"p": 59, "train_share": 0.8}
    else:
        sizes, task, parameters = SIZES, "copying", {"string_length": 16, "batch_size": 32}
    return Run(
        study="copying", name=architecture, labels={}, architecture=architecture, hyperparameters=sizes, task=task,
        task_parameters=parameters, optimiser=OPTIMISER, steps=1_000_000, seed=0, measures=(),
    )  # fmt: skip


def by_hand(run: Run, training: Training):  # type: ignore[no-untyped-def]
    """The same update as a user would write it: a fixed batch, forward, backward, clip, AdamW."""
    torch.manual_seed(0)
    model = models.build(run.architecture, **run.hyperparameters)
    optimiser = torch.optim.AdamW(model.parameters(), lr=2e-3, fused=True)
    batch = training.task.batch(0, 0)

    def update() -> None:
        cross_entropy(model(batch.tokens), batch.targets, torch.float32).backward()
        torch.nn.utils.clip_grad_norm_(model.parameters(), 1.0)
        optimiser.step()
        optimiser.zero_grad(set_to_none=True)

    return update


def milliseconds(update) -> float:  # type: ignore[no-untyped-def]
    """Per update, over a round."""
    start = time.perf_counter()
    for _ in range(UPDATES):
        update()
    return 1000 * (time.perf_counter() - start) / UPDATES


def main() -> None:
    """Print a line per architecture."""
    torch.set_num_threads(1)
    print(f"{'architecture':20} {'loop':>9} {'by hand':>9} {'ratio':>6}")
    for name in ("causal-rn", "linear-causal-rn", "transformer", "linear-transformer", "constant-attention"):
        run = a_run(name)
        training = Training(run, Path(tempfile.mkdtemp()))
        hand = by_hand(run, training)
        training.update()
        hand()
        rounds = [(milliseconds(training.update), milliseconds(hand)) for _ in range(ROUNDS)]
        loop, bare = (statistics.median(column) for column in zip(*rounds, strict=True))
        print(f"{name:20} {loop:6.2f} ms {bare:6.2f} ms {loop / bare:6.2f}")


if __name__ == "__main__":
    main()
