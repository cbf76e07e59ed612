"""How far the training loss rises again once the run has learned to copy (002-1).

From the whole log: a learning curve keeps every fifth row of a log of 5,000, and a jump may last for fewer steps.
"""

import pandas as pd

from allmlp.columns import exact, numeric
from allmlp.protocols import Trained
from allmlp.studies.copying.convergence import LEARNED_NATS, largest_rise

RECIPE = 1

COLUMNS = {
    "learned": exact(f"was the loss of a batch at most {LEARNED_NATS:g} nats within the budget"),
    "learned_steps": numeric("the first step with such a loss; the budget where none was", rtol=0.1, atol=10),
    "rise_nats": numeric("the largest rise of the loss above its lowest so far, from that step on", rtol=0.5, atol=0.1),
    "rise_step": numeric("the step with the peak of that rise", rtol=0.5, atol=100),
    "diverged": exact("did the training stop at a loss that was not finite?"),
    "budget": exact("training steps of the run"),
}


def measure(trained: Trained) -> pd.DataFrame:
    """One row per run. A run that has not learned has a rise of nan, at its budget."""
    budget = trained.run.steps
    rise = largest_rise(trained.log["step"].to_numpy(), trained.log["loss"].to_numpy())
    found = (False, budget, float("nan"), budget) if rise is None else (True, *rise)
    return pd.DataFrame([(*found, trained.diverged, budget)], columns=list(COLUMNS))
