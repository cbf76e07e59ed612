"""What the page has of study 001 beside its figures: learning curves to choose from, and memory against context."""

import math
from typing import Any

import pandas as pd

from allmlp.judging.rules import part_rows
from allmlp.report import style
from allmlp.report.learning_curves import Curves, texts
from allmlp.report.names import display
from allmlp.studies.mixers import budgets, drawing
from allmlp.studies.mixers.memory_chart import memory
from allmlp.studies.mixers.names import TRAINING
from allmlp.studies.mixers.parts import base_rows


def enlarge(figure: str, corpora: dict[str, Any]) -> dict[str, Any]:
    """What a reader may open below a figure."""
    match figure:
        case "learning_curves":
            return {"curves": texts("mixers", CURVES, corpora)}
        case "memory":
            return {"memory": memory()}
    return {}


def _series(rows: pd.DataFrame, scale: str) -> pd.DataFrame:
    """The rows of the common size, each model a series."""
    found = base_rows(budgets.curves(part_rows(rows, TRAINING), scale))
    return found.assign(
        series=found["variant"].map(display),
        colour=found["variant"].map(style.colour),
        shown=found["variant"].isin(drawing.HEADLINES),
        place=found["variant"].map({name: place for place, name in enumerate(drawing.HEADLINES)}).fillna(math.inf),
        per_second=found["seconds"] / found["step"],
        per_operation=found["flops_per_step"],
    )


CURVES = Curves("learning_curve", {"held-out": "validation_nats", "training": "train_nats"}, (TRAINING,), (), _series)
