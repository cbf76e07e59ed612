"""Memory of one training step of a run: counted, and the peak where it trains on a CUDA device (001-4)."""

import pandas as pd
import torch
from torch._subclasses.fake_tensor import FakeTensorMode

from allmlp import models, tasks
from allmlp.columns import exact, numeric
from allmlp.protocols import Trained
from allmlp.run import Run
from allmlp.studies.mixers.measures.memory import counted
from allmlp.training.loss import cross_entropy

RECIPE = 1
COPIES = 4  # of the weights: themselves, their gradients, AdamW's two means

COLUMNS = {
    "counted_bytes": exact("four times the weights, and what the forward pass of a batch keeps; no unembedding"),
    "peak_bytes": numeric("most bytes allocated in a step on the CUDA device; the count where there is none", rtol=0.1),
    "device": exact("what peak_bytes is of: cuda, or counted"),
}


def measure(trained: Trained) -> pd.DataFrame:
    """One row."""
    run = trained.run
    sequences = tasks.size(run.task, run.task_parameters)[0]
    with FakeTensorMode():
        model = models.build(run.architecture, **run.hyperparameters)
        bytes_ = counted(model, torch.zeros(sequences, model.context, dtype=torch.int64))
    total = COPIES * bytes_.parameters + bytes_.buffers + bytes_.kept
    on_device = run.device == "cuda" and torch.cuda.is_available()
    row = (total, float(_peak(run, sequences)) if on_device else float(total), "cuda" if on_device else "counted")
    return pd.DataFrame([row], columns=list(COLUMNS))


def _peak(run: Run, sequences: int) -> int:
    """Of the second of two steps: the first one makes AdamW's state."""
    model = models.build(run.architecture, **run.hyperparameters).to(run.device)
    optimiser = torch.optim.AdamW(model.parameters(), fused=True)
    tokens = torch.zeros(sequences, model.context, dtype=torch.int64, device=run.device)
    for _ in range(2):
        torch.cuda.reset_peak_memory_stats()
        with torch.autocast("cuda", torch.bfloat16, enabled=run.precision == "bfloat16"):
            loss = cross_entropy(model(tokens), tokens, torch.float32)
        loss.backward()
        optimiser.step()
        optimiser.zero_grad(set_to_none=True)
    return torch.cuda.max_memory_allocated()
