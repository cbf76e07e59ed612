"""What an architecture costs at its task's size: weights, operations, memory, and speed of training and generating."""

import time
from typing import TYPE_CHECKING

import pandas as pd
import torch

from allmlp.columns import exact, numeric, timing
from allmlp.models.base import SequenceModel
from allmlp.sampling import generate
from allmlp.studies.mixers.memory import counted
from allmlp.training import flops

if TYPE_CHECKING:
    from allmlp.training.checkpoint import Trained

RECIPE = 1
GENERATES = ("next-token",)  # tasks whose tokens can be gone on with

COLUMNS = {
    "parameters": exact("trained parameters"),
    "flops_per_token": exact("forward and backward, counted, over the tokens or patches of a sequence"),
    "kept_bytes_per_token": numeric("what a forward pass keeps for backward, without the head, per token", rtol=0.05),
    "training_tokens_per_s": timing("tokens read a second, over the whole training; nan where unknown"),
    "generation_tokens_per_s": timing("one continuation, token after token; nan where nothing is generated"),
    "hardware": timing("what it was trained on"),
}


def measure(trained: "Trained") -> pd.DataFrame:
    """One row."""
    run, model, spent = trained.run, trained.model(), trained.timing()
    read = int(run.labels["sequences"]) * model.context * trained.ending["steps_done"]
    shape = (1, model.context) if model.features is None else (1, model.context, model.features)
    inputs = torch.zeros(shape, dtype=torch.int64 if model.features is None else torch.float32)
    row = {
        "parameters": flops.parameters(model)["total"],
        "flops_per_token": flops.counted_flops(model, 1) // model.context,
        "kept_bytes_per_token": counted(model, inputs).kept / model.context,
        "training_tokens_per_s": read / spent["seconds"] if spent.get("seconds") else float("nan"),
        "generation_tokens_per_s": _generated_per_second(model) if run.task in GENERATES else float("nan"),
        "hardware": spent.get("hardware", ""),
    }
    return pd.DataFrame([row])[list(COLUMNS)]


def _generated_per_second(model: SequenceModel) -> float:
    """Half a context of tokens after half a context, the likeliest each; nan for weights that are not finite."""
    if not all(torch.isfinite(weight).all() for weight in model.parameters()):
        return float("nan")
    half = model.context // 2
    prompt = [number % model.vocabulary for number in range(half)]
    generate(model, prompt, 1, temperature=0)
    before = time.perf_counter()
    generate(model, prompt, half, temperature=0)
    return half / (time.perf_counter() - before)
