"""Iterations until 99 % accuracy, and the largest fall of the loss on the way (002-5, 002-2).

The accuracy is that of the supervised tokens of the training batch before its update, the paper's "320 online
samples". A run that never arrives is censored at its budget, not dropped.
"""

import pandas as pd

from allmlp.columns import exact, numeric
from allmlp.outcomes import ARRIVED, first_reached
from allmlp.protocols import Trained
from allmlp.studies.copying.convergence import WITHIN, largest_fall

RECIPE = 1

COLUMNS = {
    "reached": exact(f"did a batch reach {ARRIVED:.0%} token accuracy within the budget"),
    "iterations": numeric("first step that did; the budget where none did", rtol=0.1, atol=10),
    "diverged": exact("did the training stop at a loss that was not finite?"),
    "budget": exact("training steps of the run"),
    "fall_nats": numeric(f"largest fall of the training loss within {WITHIN} iterations", rtol=0.1, atol=0.05),
    "fall_step": numeric("step at which that fall begins", rtol=0.1, atol=WITHIN),
}


def measure(trained: Trained) -> pd.DataFrame:
    """One row per run."""
    log, budget = trained.log, trained.run.steps
    arrived = first_reached(log["step"].to_numpy(), log["token_accuracy"].to_numpy())
    fall = largest_fall(log["step"].to_numpy(), log["loss"].to_numpy())
    row = (arrived is not None, budget if arrived is None else arrived, trained.diverged, budget, *fall)
    return pd.DataFrame([row], columns=list(COLUMNS))
