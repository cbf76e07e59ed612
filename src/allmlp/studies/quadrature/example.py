"""One frequency of one run, for figures that show a single sum as the paper does."""

from dataclasses import dataclass

import pandas as pd

from allmlp.common.errors import UserError
from allmlp.studies.quadrature.frequencies import Rule


@dataclass(frozen=True)
class Example:
    """The neurons of one key frequency of a network that adds modulo p."""

    seed: int
    p: int
    frequency: int
    rule: Rule

    @property
    def title(self) -> str:
        """The frequency and the run, for a panel's title."""
        return f"seed {self.seed}, k = {self.frequency}, {len(self.rule.phi)} neurons"


def first_run(rows: pd.DataFrame) -> pd.DataFrame:
    """The rows of the first seed, of one run only if it has several."""
    of_seed = rows[rows["seed"] == rows["seed"].min()]
    return of_seed[of_seed["run"] == of_seed["run"].iloc[0]]


def heaviest_keys(rows: pd.DataFrame, most: int, at_least: float = 0.0) -> list[Example]:
    """Key frequencies of the first seed that carry `at_least` that share of the weight, the heaviest first.

    rows: of the measure `neurons`, with the label p. UserError where no neuron belongs to a key frequency.
    """
    of_run = first_run(rows)
    keys = of_run.loc[of_run["is_key"].astype(bool), "frequency"].unique()
    if not len(keys):
        raise UserError("neurons: no neuron of the first seed belongs to a key frequency. Measure again.")
    weight = (of_run["amplitude_in_1"] * of_run["amplitude_out_1"]).groupby(of_run["frequency"]).sum()
    share = (weight / weight.sum()).loc[keys].sort_values(ascending=False, kind="stable")
    found = []
    for k in share[share >= at_least].index[:most]:
        neurons = of_run[of_run["frequency"] == k]
        rule = Rule(*(neurons[name].to_numpy(dtype=float) for name in ("phi_rad", "psi_rad", "width_1")))
        found.append(Example(int(of_run["seed"].iloc[0]), int(of_run["p"].iloc[0]), int(k), rule))
    return found


def heaviest_key(rows: pd.DataFrame) -> Example:
    """The key frequency of the first seed with the most weight."""
    return heaviest_keys(rows, most=1)[0]
