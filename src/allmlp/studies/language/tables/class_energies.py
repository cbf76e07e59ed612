"""How clearly neurons are what their class says: mean shares of energy by class at the end (000-6, 000-8)."""

import pandas as pd

from allmlp.studies.language.classification import CLASSES
from allmlp.studies.seeds import over_seeds

MEASURES = ["class_energies"]
PARTS = ["neurons"]
PAPER = "Figures 4, 6 and 12"
CLAIMS = ["000-6", "000-8"]
TITLE = "Energy of the neurons of each class"
CAPTION = (
    "After the last step, means over the neurons of each class, then over seeds with 95 % t intervals: number of "
    "neurons, share of energy in the most energetic four positions in a row, in the last three positions, constant in "
    "time (frequency 0), and in the three lowest frequencies of the orthonormal DCT-II. Seeds without a neuron of the "
    "class leave its shares empty."
)

COLUMNS = {
    "neurons": "neurons",
    "window_energy_1": "four_positions_1",
    "recent_energy_1": "last_three_1",
    "constant_energy_1": "constant_1",
    "low_energy_1": "three_frequencies_1",
}


def tabulate(tables: dict[str, pd.DataFrame]) -> pd.DataFrame:
    """One row per reading and class."""
    rows = tables["class_energies"]
    rows = rows[rows["moment"] == "end"]
    keys = ["reading", "class"]
    table = rows.groupby(keys, as_index=False).agg(seeds=("run", "nunique"))
    for column, name in COLUMNS.items():
        means = over_seeds(rows, keys, column).drop(columns="n")
        table = table.merge(means.rename(columns={"mean": name, "low": f"{name}_low", "high": f"{name}_high"}), on=keys)
    order = {name: place for place, name in enumerate(CLASSES)}
    return table.sort_values(keys, key=lambda column: column.map(order).fillna(column), ignore_index=True)
