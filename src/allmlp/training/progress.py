"""A calm line every few seconds: step, loss, tokens per second, time left."""

import time

from allmlp.data import tasks
from allmlp.spec.run import Run

SECONDS_BETWEEN = 10.0


class Progress:
    """Prints how far a run is, never more often than every ten seconds."""

    def __init__(self, run: Run, step: int, stacked: int = 1) -> None:
        """`stacked`: the runs of the stack, of which `run` is the first."""
        self.run, self.first, self.stacked = run, step, stacked
        self.name = f"{run.id} and {stacked - 1} more as one stack" if stacked > 1 else run.id
        self.start = self.last = time.monotonic()
        print(
            f"{self.name}: " + (f"going on at step {step} of {run.steps}" if step else f"{run.steps} steps"), flush=True
        )

    def show(self, step: int, loss: float) -> None:
        """Print a line if the last one is ten seconds old."""
        now = time.monotonic()
        if now - self.last < SECONDS_BETWEEN or step == self.first:
            return
        self.last = now
        rate = (step - self.first) / (now - self.start)
        tokens = self.stacked * tasks.size(self.run.task, self.run.task_parameters)[1]
        left = int((self.run.steps - step) / rate)
        speed = f"{rate * tokens:,.0f} supervised tokens/s, {left // 60}:{left % 60:02d} left"
        print(f"{self.name}: step {step} of {self.run.steps}, loss {loss:.4f}, {speed}", flush=True)

    def end(self, run: str, diverged: bool, step: int) -> None:
        """Print how a run ended."""
        seconds = time.monotonic() - self.start
        ending = f"diverged at step {step}; the weights before it are kept" if diverged else "done"
        print(f"{run}: {ending}, {seconds:.1f} s", flush=True)
