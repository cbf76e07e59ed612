"""The held-out loss of a run by its measured `cost`: a search for a learning rate needs no checkpoints then."""

import math
from pathlib import Path

from allmlp import measured, store
from allmlp.run import Run

COST = "cost"


def held_out_loss(run: Run) -> float | None:
    """The last held-out loss in nats, infinite for a diverged run. None if it is not measured, or has none."""
    if COST not in run.measures:
        return None
    stored, key, file = store.of(run.study, COST), (run.id, run.recipe(COST)), Path(run.measurements[COST])
    if key not in stored.places and not file.is_file():
        return None
    rows = stored.rows(key) if key in stored.places else measured.read(file)[1]
    if rows["diverged"][0].as_py():
        return math.inf
    loss: float | None = rows["validation_nats"][0].as_py()
    return loss if loss is not None and math.isfinite(loss) else None


def read_by(run: Run) -> tuple[str, ...]:
    """The ids of the runs whose checkpoints its training reads: its parent, and runs of its search without a loss."""
    return tuple(one for one in run.needs if one == run.parent or held_out_loss(run.relatives[one]) is None)
