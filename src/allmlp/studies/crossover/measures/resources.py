"""Cost of an architecture at its task's size: weights, operations, memory, speed of training and of generation."""

import statistics
import tempfile
import time
from pathlib import Path

import torch

from allmlp.models import flops
from allmlp.models.base import SequenceModel
from allmlp.models.sampling import generate
from allmlp.spec.columns import Rows, exact, numeric, timing
from allmlp.spec.measures import measure
from allmlp.spec.protocols import TrainedRun
from allmlp.studies.mixers.measures.costs import count_bytes
from allmlp.training.environment import provenance
from allmlp.training.loop import Training

GENERATES = ("next-token",)  # tasks whose tokens can be continued
STEPS, GENERATIONS = 20, 5  # timings, for a median


@measure(
    recipe=2,
    parameters=exact("trained parameters"),
    flops_per_token=exact("forward and backward, counted, over the tokens or patches of a sequence"),
    kept_bytes_per_token=numeric("what a forward pass keeps for backward, without the head, per token", rtol=0.05),
    training_tokens_per_s=timing("tokens read a second; nan where unknown"),
    generation_tokens_per_s=timing("a continuation, token after token; nan where nothing is generated"),
    hardware=timing("what the speeds are of"),
    learning_rate_1=exact("its maximum, as the search chose it"),
    largest_rate_1=exact("the largest that the search tried; nan without a search"),
)
def resources(trained: TrainedRun) -> Rows:
    """Cost of an architecture at its task's size: weights, operations, memory, speed of training and of generation.

    One row.
    """
    run, model = trained.run, trained.model()
    shape = (1, model.context) if model.features is None else (1, model.context, model.features)
    inputs = torch.zeros(shape, dtype=torch.int64 if model.features is None else torch.float32)
    rates = [run.relatives[one].optimiser["learning_rate"] for one in run.search]
    yield {
        "parameters": flops.parameters(model)["total"],
        "flops_per_token": flops.counted_flops(model, 1) // model.context,
        "kept_bytes_per_token": count_bytes(model, inputs).kept / model.context,
        "training_tokens_per_s": _trained_per_second(trained, model.context),
        "generation_tokens_per_s": _generated_per_second(model) if run.task in GENERATES else float("nan"),
        "hardware": trained.timing().get("hardware", "") if run.device != "cpu" else provenance("cpu")["hardware"],
        "learning_rate_1": trained.learning_rate,
        "largest_rate_1": max(rates, default=float("nan")),
    }


def _trained_per_second(trained: TrainedRun, context: int) -> float:
    """A training on a GPU has the device to itself, so its own time counts. Trainings on a CPU share it: some steps are
    repeated here, one architecture after the other."""
    run = trained.run
    read = int(run.labels["sequences"]) * context
    if run.device != "cpu":
        seconds = trained.timing().get("seconds")
        return read * trained.ending["steps_done"] / seconds if seconds else float("nan")
    mode = torch.get_deterministic_debug_mode()  # training sets them for the whole process
    try:
        with tempfile.TemporaryDirectory() as folder:
            training = Training(run, Path(folder), task=trained.task())
            return read / statistics.median(_step_seconds(training) for _ in range(STEPS))
    finally:
        torch.set_deterministic_debug_mode(mode)


def _step_seconds(training: Training) -> float:
    before = time.perf_counter()
    training.update()
    return time.perf_counter() - before


def _generated_per_second(model: SequenceModel) -> float:
    """Greedy generation of half a context after a prompt of half a context; nan for weights that are not finite."""
    if not all(torch.isfinite(weight).all() for weight in model.parameters()):
        return float("nan")
    half = model.context // 2
    prompt = [number % model.vocabulary for number in range(half)]
    generate(model, prompt, 1, temperature=0)
    return half / statistics.median(_generation_seconds(model, prompt, half) for _ in range(GENERATIONS))


def _generation_seconds(model: SequenceModel, prompt: list[int], tokens: int) -> float:
    before = time.perf_counter()
    generate(model, prompt, tokens, temperature=0)
    return time.perf_counter() - before
