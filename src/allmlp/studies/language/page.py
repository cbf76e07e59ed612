"""What the page has of study 000 beside its figures: learning curves and the neurons to choose from."""

from typing import Any

import pandas as pd

from allmlp.report import style
from allmlp.report.learning_curves import Curves, texts
from allmlp.studies.language.names import NEURONS, VARIATION
from allmlp.studies.language.neuron_explorer import neurons
from allmlp.studies.language.parts import SETTINGS
from allmlp.studies.mixers.budgets import BENCHMARKED

SHORT = {"d_mlp": "neurons", "weight_decay": "weight decay", "embedding_std": "embedding std"}


def enlarge(figure: str, corpora: dict[str, Any]) -> dict[str, Any]:
    """What a reader may open below a figure."""
    match figure:
        case "loss":
            return {"curves": texts("language", CURVES, corpora)}
        case "energy_map":
            return {"neurons": neurons(corpora)}
    return {}


def _series(rows: pd.DataFrame, scale: str) -> pd.DataFrame:
    """The runs of the neurons and their variations, each setting a series that is named by what it varies."""
    found = rows.assign(steps=rows.groupby("run")["step"].transform("max"))
    seconds = found["seconds"] / found["steps_done"]
    first = found.drop_duplicates("run").set_index("run")
    names = found["run"].map({run: _name(row) for run, row in zip(first.index, first.to_dict("records"), strict=True)})
    return found.assign(
        series=names,
        colour=[style.colour("mlp") if part == NEURONS else "" for part in found["part"]],
        shown=found["part"].eq(NEURONS) | names.str.startswith("context"),
        per_second=float("nan") if scale == BENCHMARKED else seconds,
        per_operation=found["counted_flops"] / found["steps_done"],
    )


def _name(row: dict[Any, Any]) -> str:
    other = [] if row["part"] == NEURONS else [name for name in SETTINGS if row[name] != row[f"base_{name}"]]
    varied = [f"{SHORT.get(name, name)} {row[name]:g}" for name in other]
    return ", ".join(varied) or f"base, {row['steps']:,} steps"


CURVES = Curves(
    "loss_curve", {"held-out": "validation_nats", "training": "loss_nats"}, (NEURONS,), (VARIATION,), _series
)
