"""A training step of the modular-addition network beside the plain transformer's, in one run (003).

Plain: every pair is embedded and its residual stream multiplied by every matrix in turn, at the answer's token
alone. Ours takes all products but the last on tables of p rows. Prints milliseconds per full-batch step (forward,
backward, AdamW; float32, loss in float64), medians of alternating rounds, their ratio, and by how much the losses
of both differ over 100 steps in float64.
"""

import statistics
import time
from collections.abc import Callable

import torch
import torch.nn.functional as F
from torch import Tensor, nn

from allmlp import models
from allmlp.data.tasks.modular import ModularAddition

ROUNDS, UPDATES, COMPARED = 7, 5, 100
SIZES = ((59, 512), (59, 128), (31, 512), (113, 512))


def plain(model: nn.Module, tokens_B2: Tensor) -> Tensor:
    """The same network as a transformer computes it: values and outputs of both tokens, then the MLP."""
    x_BTD = model.W_E[tokens_B2] + model.W_pos
    values_BHTK = torch.einsum("btd,hdk->bhtk", x_BTD, model.W_V)
    attended_BHK = 0.5 * values_BHTK.sum(dim=2)
    r_BD = x_BTD[:, 1] + torch.einsum("bhk,hkd->bd", attended_BHK, model.W_O)
    r_BD = r_BD + F.relu(r_BD @ model.W_in + model.b_in) @ model.W_out + model.b_out
    return r_BD @ model.W_U


def trainer(p: int, d_mlp: int, structured: bool, dtype: torch.dtype) -> Callable[[], float]:
    """A function that makes one update and returns the loss before it."""
    torch.manual_seed(0)
    model = models.build("constant-attention", vocabulary=p, d_mlp=d_mlp).to(dtype)
    optimiser = torch.optim.AdamW(model.parameters(), lr=1e-3, weight_decay=2.0, betas=(0.9, 0.98), fused=True)
    batch = ModularAddition(p, 0.8).batch(0, 0)

    def update() -> float:
        logits = model(batch.tokens) if structured else plain(model, batch.tokens)
        loss = F.cross_entropy(logits.double(), batch.targets)
        loss.backward()
        optimiser.step()
        optimiser.zero_grad(set_to_none=True)
        return loss.item()

    return update


def milliseconds(update: Callable[[], float]) -> float:
    """Per update, over a round."""
    start = time.perf_counter()
    for _ in range(UPDATES):
        update()
    return 1000 * (time.perf_counter() - start) / UPDATES


def main() -> None:
    """Print a line per size, then the largest difference of two losses."""
    torch.set_num_threads(1)
    print(f"{'p':>4} {'d_mlp':>6} {'plain':>10} {'ours':>10} {'ratio':>6}")
    for p, d_mlp in SIZES:
        hand, ours = (trainer(p, d_mlp, structured, torch.float32) for structured in (False, True))
        hand(), ours()
        rounds = [(milliseconds(hand), milliseconds(ours)) for _ in range(ROUNDS)]
        slow, fast = (statistics.median(column) for column in zip(*rounds, strict=True))
        print(f"{p:4} {d_mlp:6} {slow:7.1f} ms {fast:7.1f} ms {fast / slow:6.2f}")
    hand, ours = (trainer(59, 512, structured, torch.float64) for structured in (False, True))
    difference = max(abs(hand() - ours()) for _ in range(COMPARED))
    print(f"losses over {COMPARED} steps in float64, p=59, d_mlp=512: at most {difference:.1e} apart")


if __name__ == "__main__":
    main()
