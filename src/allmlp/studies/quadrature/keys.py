"""The key frequencies of a trained network, each with its neurons as a quadrature rule."""

from collections.abc import Callable, Iterable
from dataclasses import dataclass

import pandas as pd

from allmlp.columns import exact, numeric
from allmlp.protocols import Trained
from allmlp.studies.quadrature import circuits
from allmlp.studies.quadrature.frequencies import KEY_SHARE, Floats, Neurons, Rule, angles, normalised, weight_shares

OF_KEY = {  # the first columns of every measure with a row per key frequency, see `a_row_each`
    "frequency": exact("key frequency k"),
    "neurons": numeric("neurons with this frequency", rtol=0.05, atol=2),
    "weight_share_1": numeric("their share of the sum of all r", rtol=5e-2, atol=5e-3),
}


@dataclass(frozen=True)
class Key:
    """One key frequency of a network that adds modulo p."""

    k: int
    p: int
    share: float  # of the sum of all weights r
    rule: Rule
    weight: Floats  # r of its neurons, not normalised, (n,)

    @property
    def theta(self) -> Floats:
        """The angle k t / 2 of every sum t, (p,)."""
        return angles(self.k, self.p)


def keys(neurons: Neurons, p: int, at_least: float = KEY_SHARE) -> list[Key]:
    """The frequencies whose neurons carry `at_least` that share of the weight. ValueError without any weight."""
    found = []
    for k, share in weight_shares(neurons).items():
        if share >= at_least:
            of_k = neurons.frequency == k
            weight = neurons.weight[of_k]
            found.append(Key(k, p, share, Rule(neurons.phi[of_k], neurons.psi[of_k], normalised(weight)), weight))
    return found


def of_run(trained: Trained) -> list[Key]:
    """Those of a run's last weights. UserError for an architecture without these circuits."""
    return keys(circuits.neurons(circuits.weights(trained)), trained.run.hyperparameters["vocabulary"])


def a_row_each(trained: Trained, columns: Iterable[str], row: Callable[[Key], dict[str, float]]) -> pd.DataFrame:
    """A measure's table: OF_KEY and further columns of every key frequency."""
    rows = [
        {"frequency": key.k, "neurons": len(key.rule.phi), "weight_share_1": key.share, **row(key)}
        for key in of_run(trained)
    ]
    return pd.DataFrame(rows, columns=list(columns))
