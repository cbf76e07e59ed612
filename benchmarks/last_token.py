"""The last-token MLP's step beside the machine's own large matrix product, and what of it is loading data, in one run.

Sizes of study 000 at width 8,192 with GPT-2's vocabulary. Rates are counted FLOPs (matrix products only) a second, over
those of a product of two square matrices of the same type: medians of alternating rounds. `plain` is the same step with
the loss taken from all logits at once. On a GPU bfloat16, on a CPU one thread of float32.
"""

import random
import statistics
import tempfile
import time
from collections.abc import Callable
from pathlib import Path

import torch
from torch import Tensor, nn

from allmlp import models
from allmlp.data.tasks.last_token import LastToken
from allmlp.data.tasks.task import Batch
from allmlp.data.tokenizers import fit
from allmlp.data.tokenizers.specs import Bytes
from allmlp.data.tokens import write_tokens
from allmlp.models import flops
from allmlp.training.loss import cross_entropy, linear_cross_entropy

CUDA = torch.cuda.is_available()
DEVICE, PRODUCT = ("cuda", torch.bfloat16) if CUDA else ("cpu", torch.float32)
SIZES = {"vocabulary": 50257, "context": 15, "d_model": 512, "d_mlp": 8192}
BATCH, SIDE, ROUNDS = (16384, 8192, 7) if CUDA else (512, 2048, 5)


def seconds(call: Callable[[], object]) -> float:
    """Of one call, the device's work included."""
    if CUDA:
        torch.cuda.synchronize()
    start = time.perf_counter()
    call()
    if CUDA:
        torch.cuda.synchronize()
    return time.perf_counter() - start


def fused(model: nn.Module, tokens: Tensor, targets: Tensor) -> Tensor:
    """The loss as the training loop takes it."""
    return linear_cross_entropy(model.hidden(tokens), model.linear_head(), targets, torch.float32)  # type: ignore[operator]


def plain(model: nn.Module, tokens: Tensor, targets: Tensor) -> Tensor:
    """The loss from all logits."""
    return cross_entropy(model(tokens), targets, torch.float32)


class Step:
    """One step, with and without its update of the weights."""

    def __init__(self, loss: Callable[[nn.Module, Tensor, Tensor], Tensor]) -> None:
        torch.manual_seed(0)
        self.model, self.loss = models.build("mlp", **SIZES).to(DEVICE), loss
        self.optimiser = torch.optim.AdamW(self.model.parameters(), lr=1e-3, fused=True)
        self.batch = torch.randint(SIZES["vocabulary"], (BATCH, SIZES["context"] + 1), device=DEVICE)

    def gradients(self) -> None:
        """Forward and backward."""
        self.optimiser.zero_grad(set_to_none=True)
        with torch.autocast(DEVICE, torch.bfloat16, enabled=CUDA):
            loss = self.loss(self.model, self.batch[:, :-1], self.batch[:, -1])
        loss.backward()

    def update(self) -> None:
        """Forward, backward, clipping, AdamW."""
        self.gradients()
        nn.utils.clip_grad_norm_(self.model.parameters(), 1.0)
        self.optimiser.step()


def loading() -> Callable[[], Batch]:
    """Batches of a corpus of a million windows on disk, as a training reads them."""
    folder, draw = Path(tempfile.mkdtemp()), random.Random(0)
    texts = [draw.randbytes(4096).hex() for _ in range(2000)]
    write_tokens(texts, fit(Bytes(), texts, folder), folder / "tokens", describe={})
    task, steps = LastToken(folder / "tokens", SIZES["context"], BATCH), iter(range(1_000_000))
    return lambda: task.batch(0, next(steps))


def main() -> None:
    """Print rates, ratios and the share of loading."""
    torch.set_num_threads(1)
    square = torch.randn(SIDE, SIDE, device=DEVICE, dtype=PRODUCT)
    steps = {"fused": Step(fused), "plain": Step(plain)}
    calls: dict[str, Callable[[], object]] = {"product": lambda: square @ square, "loading": loading()}
    for name, step in steps.items():
        calls |= {f"{name}, forward and backward": step.gradients, f"{name}, with the optimiser": step.update}
    for call in calls.values():
        call()
    rounds = [{name: seconds(call) for name, call in calls.items()} for _ in range(ROUNDS)]
    took = {name: statistics.median(round[name] for round in rounds) for name in calls}
    rate = 2 * SIDE**3 / took["product"]
    work = flops.counted_flops(steps["fused"].model, BATCH)
    print(f"{DEVICE}, {PRODUCT}: a product of {SIDE} x {SIDE} matrices runs at {rate / 1e9:,.0f} GFLOP/s")
    for name in list(calls)[2:]:
        print(f"{name:30} {took[name] * 1000:9.1f} ms {work / took[name] / rate:7.1%} of that rate")
    share = took["loading"] / took["fused, with the optimiser"]
    print(f"{'loading a batch':30} {took['loading'] * 1000:9.2f} ms {share:7.2%} of a step")


if __name__ == "__main__":
    main()
