"""The search of learning rates: what every model lost at every rate, which one was chosen, and whether at an end."""

import pandas as pd

from allmlp.studies.mixers.parts import SEARCH, settings_of
from allmlp.studies.mixers.searched import SETTING, searched
from allmlp.studies.parts import of_part

MEASURES = ["cost"]
PARTS = [SEARCH]
PAPER = ""
CLAIMS: list[str] = []
TITLE = "Learning rates: what the search of every model found"
CAPTION = (
    "Held-out loss (nats) at the end of the search's runs, the same rates, steps and seed for every model, size and "
    "text; what is trained with both paddings is searched with one, for both; the seed is used for nothing else. "
    "edge: the chosen rate is the smallest or largest tried, so that a better one may lie beyond. The article tunes by "
    "hand; a rate of 0.005, which it names twice, occurs in none of its published trainers (E001-6)."
)


def tabulate(tables: dict[str, pd.DataFrame]) -> pd.DataFrame:
    """One row per model; a column per rate; empty where a run diverged."""
    rows = searched(of_part(tables["cost"], SEARCH))
    rows = rows.assign(model=settings_of(rows) + rows["windows"].map({True: ", windows", False: ""}))
    found = []
    for _, of_model in rows.groupby(SETTING, sort=False):
        chosen = of_model[of_model["chosen"]].iloc[0]
        losses = {f"at_{rate:g}": loss for rate, loss in zip(of_model["rate"], of_model["loss"], strict=True)}
        edge = "edge" if chosen["at_edge"] else ""
        steps = int(chosen["steps_done"])
        found.append({"model": chosen["model"], "steps": steps, "chosen": chosen["rate"], "at": edge, **losses})
    return pd.DataFrame(found)
