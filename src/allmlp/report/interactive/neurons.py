"""First-layer neurons of study 000 for the explorer: where each has its energy, and what else was measured of it.

Energies of every neuron are measured at the start, half and end of training. Weight maps are measured of a few neurons
of each class, keywords of the clearest ones, both at the end.
"""

from typing import Any

import pandas as pd

from allmlp.report import answer, evidence, exhibits
from allmlp.report.evidence import Evidence
from allmlp.studies.language.drawing import COLOURS, MOMENTS
from allmlp.studies.language.keywords import RANDOM
from allmlp.studies.language.profiles import RECENT

STUDY, FIGURE = "language", "energy_map"  # the figure that the explorer enlarges
DECIMALS = 3  # of a share of energy


def of(study: str, figure: str, corpora: dict[str, Any]) -> dict[str, Any]:
    """The texts of a figure, and of each run on them its neurons. Empty for every other figure.

        {"colours": {"n-gram": "#0072B2", ...}, "recent": 3,
         "texts": [{"text": "English, long", "context": 15, "steps": [0, 20000, 40000], "runs": [run, ...]}, ...]}

    A run: its seed; window and constant, per moment the share of each neuron; maps and keywords, by neuron.
    """
    if (study, figure) != (STUDY, FIGURE):
        return {}
    found = evidence.sources(STUDY, exhibits.of(STUDY, "figures")[FIGURE])
    texts = [_text(at, corpora) for at in found.values()]
    return {"colours": COLOURS, "recent": RECENT, "texts": texts} if texts else {}


def _text(at: Evidence, corpora: dict[str, Any]) -> dict[str, Any]:
    energies, examples, keywords = (at.table(name) for name in ("energy_map", "example_neurons", "keywords"))
    steps = energies.groupby("moment")["step"].max()
    return {
        "text": f"{', '.join(answer.texts(at.corpora(['energy_map']), corpora))}, {at.scale}",
        "context": int(energies["context"].iloc[0]),
        "steps": [int(steps[moment]) for moment in MOMENTS],
        "runs": [_run(seed, energies, examples, keywords) for seed in sorted(energies["seed"].unique().tolist())],
    }


def _run(seed: int, *tables: pd.DataFrame) -> dict[str, Any]:
    energies, examples, keywords = (_of_seed(rows, seed) for rows in tables)
    return {
        "seed": seed,
        "window": _shares(energies, "recent_energy_1"),
        "constant": _shares(energies, "constant_energy_1"),
        "maps": maps(examples),
        "keywords": words(keywords),
    }


def _of_seed(rows: pd.DataFrame, seed: int) -> pd.DataFrame:
    return rows[rows["seed"] == seed] if len(rows) else rows


def _shares(rows: pd.DataFrame, column: str) -> list[list[float | None]]:
    """(moments, neurons); null of a neuron without weights."""
    table = rows.pivot(index="moment", columns="neuron", values=column).loc[list(MOMENTS)].sort_index(axis=1)
    return [[None if pd.isna(share) else round(share, DECIMALS) for share in of] for of in table.to_numpy().tolist()]


def maps(rows: pd.DataFrame) -> dict[str, dict[str, Any]]:
    """neuron -> its class and its first coordinates over time, (T, coordinates) in thousandths of its largest."""
    return {
        str(neuron): {
            "class": of_neuron["class"].iloc[0],
            "weights": [[int(word) for word in text.split()] for text in of_neuron.sort_values("position")["weights"]],
        }
        for neuron, of_neuron in (rows.groupby("neuron") if len(rows) else ())
    }


def words(rows: pd.DataFrame) -> dict[str, list[dict[str, Any]]]:
    """neuron -> what its vector is nearest to, by each nearness: class, keywords, coherence, completions."""
    if not len(rows):
        return {}
    names = ["class", "nearness", "keywords", "completions"]
    return {
        str(neuron): [
            {
                **{name: row[name] for name in names},
                "coherence": None if pd.isna(row["coherence_1"]) else round(row["coherence_1"], DECIMALS),
            }
            for row in of_neuron.to_dict("records")
        ]
        for neuron, of_neuron in rows[rows["class"] != RANDOM].groupby("neuron")
    }
