"""When a loss leaves its plateau, falls to half and a tenth of it, and 99 % accuracy is reached (002-3, 002-10)."""

import pandas as pd

from allmlp.columns import exact, numeric
from allmlp.outcomes import ARRIVED, first_reached
from allmlp.protocols import Trained
from allmlp.studies.copying.convergence import plateau
from allmlp.studies.over_steps import first_below

RECIPE = 1
SHARES = {"to_90_steps": 0.9, "to_half_steps": 0.5, "to_10_steps": 0.1}

COLUMNS = {
    **{
        name: numeric(f"first step below {share:g} of the plateau; the budget where none is", rtol=0.1, atol=10)
        for name, share in SHARES.items()
    },
    "fell_to_half": exact("did the loss fall to half the plateau within the budget"),
    "fell": exact("did the loss fall to a tenth of the plateau within the budget"),
    "reached": exact(f"did a batch reach {ARRIVED:.0%} token accuracy within the budget"),
    "iterations": numeric("first step that did; the budget where none did", rtol=0.1, atol=10),
    "perfect": exact("was every string of some batch right, each batch being strings never seen before"),
    "diverged": exact("did the training stop at a loss that was not finite?"),
    "budget": exact("training steps of the run"),
}


def measure(trained: Trained) -> pd.DataFrame:
    """One row per run. A diverged run has the steps that it did and the budget for the others."""
    log, budget = trained.log, trained.run.steps
    height = plateau(trained.run.task_parameters["string_length"])
    steps, loss = log["step"].to_numpy(), log["loss"].to_numpy()
    falls = {name: first_below(steps, loss, share * height) for name, share in SHARES.items()}
    arrived = first_reached(steps, log["token_accuracy"].to_numpy())
    row = {
        **{name: budget if step is None else step for name, step in falls.items()},
        "fell_to_half": falls["to_half_steps"] is not None,
        "fell": falls["to_10_steps"] is not None,
        "reached": arrived is not None,
        "iterations": budget if arrived is None else arrived,
        "perfect": bool((log["string_accuracy"] == 1).any()),
        "diverged": trained.diverged,
        "budget": budget,
    }
    return pd.DataFrame([row], columns=list(COLUMNS))
