"""Losses of a run."""

import numpy as np

from allmlp.spec.columns import Rows, exact, numeric, timing
from allmlp.spec.measures import measure
from allmlp.spec.protocols import TrainedRun
from allmlp.studies.shared.curves import LOSSES, losses
from allmlp.studies.shared.texts import tokens_per_byte


@measure(
    recipe=1,
    learning_rate=exact("chosen on other seeds where the plan searches for it, else as given"),
    diverged=exact("did the training stop at a loss that was not finite?"),
    early_nats=numeric(
        "mean held-out loss per token over the tested steps of the first quarter; nan if it diverged",
        rtol=5e-3,
        atol=1e-3,
    ),
    end_nats=numeric("held-out loss per token after the last step; nan if it diverged", rtol=5e-3, atol=1e-3),
    end_nats_per_character=numeric("the same per character of text", rtol=5e-3, atol=1e-3),
    step_seconds=timing("training time per step; nan where it is not known"),
)
def learning(trained: TrainedRun) -> Rows:
    """Held-out loss early and at the end of a run, and its learning rate (004-2 to -5, -7).

    One row.
    """
    log, ending, seconds = trained.log, trained.ending, trained.timing().get("seconds", np.nan)
    early = log.loc[log["step"].between(1, trained.run.steps // 4), "validation_loss"].dropna()
    end = np.nan if ending["diverged"] or ending["validation_loss"] is None else ending["validation_loss"]
    early_nats = np.nan if ending["diverged"] or early.empty else float(early.mean())
    per_step = seconds / max(1, ending["steps_done"])
    yield (trained.learning_rate, bool(ending["diverged"]), early_nats, end, end * tokens_per_byte(trained), per_step)


MOST_ROWS = 200


@measure(
    recipe=1,
    **LOSSES,
    validation_nats_per_character=numeric("the same per character of text", rtol=5e-3, atol=1e-3),
)
def loss_curve(trained: TrainedRun) -> Rows:
    """Training and held-out loss of a run over its steps, in nats per token and per character (004-2 to -5, -7).

    One row per kept step of the log, and one for the end, which has a held-out loss only.
    """
    rows, per = losses(trained, MOST_ROWS), tokens_per_byte(trained)  # of ASCII, whose characters are bytes
    return rows.assign(validation_nats_per_character=per * rows["validation_nats"])
