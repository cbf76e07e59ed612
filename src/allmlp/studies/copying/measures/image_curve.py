"""Training loss and accuracy of each batch, test loss and accuracy at kept steps and at the end (002-8)."""

import pandas as pd
import torch

from allmlp.columns import exact, numeric
from allmlp.protocols import Trained
from allmlp.studies.curves import of_log, with_end
from allmlp.tasks.task import Batch, Task
from allmlp.training.loss import cross_entropy

RECIPE = 1
MOST_ROWS = 400

COLUMNS = {
    "step": exact("training steps done"),
    "loss_nats": numeric("training loss of the step's batch, before its update; nan at the end", rtol=0.1, atol=0.1),
    "accuracy_1": numeric("share of that batch's images classified right; nan at the end", atol=0.15),
    "test_nats": numeric("loss on held-out images; nan where no weights were kept", rtol=0.05, atol=0.05),
    "test_accuracy_1": numeric("share of held-out images classified right; nan as there", atol=0.03),
}


def measure(trained: Trained) -> pd.DataFrame:
    """One row per kept step of the log, and one for the end."""
    names, end = {"loss": "loss_nats", "accuracy": "accuracy_1"}, trained.ending["steps_done"]
    curve = of_log(trained.log, MOST_ROWS, names, always=trained.steps)
    curve = with_end(curve[curve["step"] < end], trained)
    task = trained.task()
    batches = task.validation()
    tested = {step: _tested(trained, task, batches, step) for step in trained.steps}
    found = pd.DataFrame.from_dict(tested, orient="index", columns=["test_nats", "test_accuracy_1"])
    return curve.join(found, on="step")[list(COLUMNS)]


@torch.no_grad()
def _tested(trained: Trained, task: Task, batches: list[Batch], step: int) -> tuple[float, float]:
    """Loss (nats) and accuracy over all held-out images; nan for weights that a divergence spoilt."""
    device = "cuda" if trained.run.device == "cuda" and torch.cuda.is_available() else "cpu"
    model = trained.model(step).to(device)
    losses, right, count = 0.0, 0.0, sum(len(batch.targets) for batch in batches)
    for batch in batches:
        logits = model(batch.tokens.to(device)).cpu()
        losses += cross_entropy(logits, batch.targets, torch.float64).item() * len(batch.targets)
        right += task.scores(logits, batch)["accuracy"] * len(batch.targets)
    return losses / count, right / count
