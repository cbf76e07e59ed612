"""First-layer neurons of study 000 for the explorer: where each has its energy, and what else was measured of it.

Energies of every neuron are measured at the start, half and end of training. Weight maps are measured of a few neurons
of each class, keywords of the clearest ones, both at the end. A text "over training" has the neurons of `weight_maps`
alone, with maps of all three moments: they may be of another training, on another type of CPU.
"""

from typing import Any

import pandas as pd

from allmlp.judging import evidence
from allmlp.judging.evidence import Evidence
from allmlp.report import first_screen
from allmlp.spec import exhibits
from allmlp.studies.language.drawing import COLOURS, MOMENTS, show_bytes
from allmlp.studies.language.keywords import CLEAREST_OF, NEARNESS, RANDOM
from allmlp.studies.language.profiles import RECENT

STUDY, FIGURE = "language", "energy_map"  # the figure that the explorer enlarges
MAPPED = "keyword_neurons"  # the figure of runs with weight maps over training
DECIMALS = 3  # of a share of energy


def neurons(corpora: dict[str, Any]) -> dict[str, Any]:
    """The texts of a figure, those with maps over training, and of each run on them its neurons.

        {"colours": {"n-gram": "#0072B2", ...}, "recent": 3,
         "texts": [{"text": "English, long", "context": 15, "steps": [0, 20000, 40000], "runs": [run, ...]}, ...]}

    A run: its seed; window and constant, per moment the share of each neuron; maps and keywords, by neuron.
    """
    figures = exhibits.study_exhibits(STUDY, "figures")
    texts = [_text(at, corpora) for at in evidence.sources(STUDY, figures[FIGURE]).values()]
    texts += [training_maps(at, corpora) for at in evidence.sources(STUDY, figures[MAPPED]).values()]
    return {"colours": COLOURS, "recent": RECENT, "texts": texts} if texts else {}


def _text(at: Evidence, corpora: dict[str, Any]) -> dict[str, Any]:
    energies, examples, keywords = (at.table(name) for name in ("energy_map", "example_neurons", "keywords"))
    if len(examples):
        examples = examples.assign(moment=MOMENTS[-1], own_class=examples["class"], largest_1=float("nan"))
    return {
        "text": _text_name(at, "energy_map", corpora),
        "context": int(energies["context"].iloc[0]),
        **_runs(energies, examples, keywords),
    }


def training_maps(at: Evidence, corpora: dict[str, Any]) -> dict[str, Any]:
    """A text of the neurons of `weight_maps`."""
    rows = at.table("weight_maps")
    of_neurons = rows[rows["shown"] != RANDOM].drop_duplicates(["run", "moment", "neuron", "position"])
    clearest = rows[(rows["shown"] == CLEAREST_OF) & (rows["moment"] == MOMENTS[-1]) & (rows["position"] == 0)]
    return {
        "text": f"{_text_name(at, 'weight_maps', corpora)}, over training",
        "context": int(rows["context"].iloc[0]),
        **_runs(
            of_neurons[of_neurons["position"] == 0],
            of_neurons,
            clearest.assign(nearness=NEARNESS[0], coherence_1=float("nan")),
        ),
    }


def _text_name(at: Evidence, measure: str, corpora: dict[str, Any]) -> str:
    return f"{', '.join(first_screen.texts(at.corpora([measure]), corpora))}, {at.scale}"


def _runs(energies: pd.DataFrame, weights: pd.DataFrame, keywords: pd.DataFrame) -> dict[str, Any]:
    steps = energies.groupby("moment")["step"].max()
    tables, seeds = (energies, weights, keywords), sorted(energies["seed"].unique().tolist())
    return {
        "steps": [int(steps[moment]) for moment in MOMENTS],
        "runs": [_run(seed, *(_seed_rows(rows, seed) for rows in tables)) for seed in seeds],
    }


def _run(seed: int, energies: pd.DataFrame, weights: pd.DataFrame, keywords: pd.DataFrame) -> dict[str, Any]:
    return {
        "seed": seed,
        "window": _shares(energies, "recent_energy_1"),
        "constant": _shares(energies, "constant_energy_1"),
        "maps": maps(weights),
        "keywords": words(keywords),
    }


def _seed_rows(rows: pd.DataFrame, seed: int) -> pd.DataFrame:
    return rows[rows["seed"] == seed] if len(rows) else rows


def _shares(rows: pd.DataFrame, column: str) -> list[list[float | None]]:
    """(moments, neurons); null of a neuron without weights, and of one that was not measured."""
    table = rows.pivot(index="moment", columns="neuron", values=column).loc[list(MOMENTS)]
    table = table.reindex(columns=range(int(max(table.columns)) + 1))
    return [[None if pd.isna(share) else round(share, DECIMALS) for share in of] for of in table.to_numpy().tolist()]


def maps(rows: pd.DataFrame) -> dict[str, dict[str, Any]]:
    """neuron -> its class, and at each moment, null where not measured, its first coordinates over time.

    weights: (T, coordinates) in thousandths of the largest; largest: that one, where measured.
    """
    found: dict[str, dict[str, Any]] = {}
    for (neuron, moment), one in rows.groupby(["neuron", "moment"]) if len(rows) else ():
        nothing = {name: [None] * len(MOMENTS) for name in ("weights", "largest")}
        of_neuron = found.setdefault(str(neuron), {"class": one["own_class"].iloc[0], **nothing})
        texts, largest, place = (
            one.sort_values("position", kind="stable")["weights"],
            one["largest_1"].iloc[0],
            MOMENTS.index(moment),
        )
        of_neuron["weights"][place] = [[int(word) for word in text.split()] for text in texts]
        of_neuron["largest"][place] = None if pd.isna(largest) else float(f"{largest:.{DECIMALS}g}")
    return found


def words(rows: pd.DataFrame) -> dict[str, list[dict[str, Any]]]:
    """neuron -> what its vector is nearest to, by each nearness: class, keywords, coherence, completions."""
    if not len(rows):
        return {}
    names = ["class", "nearness", "keywords", "completions"]
    return {
        str(neuron): [
            {
                **{name: show_bytes(row[name]) for name in names},
                "coherence": None if pd.isna(row["coherence_1"]) else round(row["coherence_1"], DECIMALS),
            }
            for row in of_neuron.to_dict("records")
        ]
        for neuron, of_neuron in rows[rows["class"] != RANDOM].groupby("neuron")
    }
