"""The key frequencies of a trained network, each with its neurons as a quadrature rule."""

from collections.abc import Callable
from dataclasses import dataclass

from allmlp.spec.columns import exact, numeric
from allmlp.spec.protocols import TrainedRun
from allmlp.studies.quadrature import circuits
from allmlp.studies.quadrature.frequencies import (
    KEY_SHARE,
    Floats,
    Neurons,
    Rule,
    angles,
    normalise_widths,
    weight_shares,
)

OF_KEY = {  # the first columns of every measure with a row per key frequency, see `key_rows`
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
            found.append(Key(k, p, share, Rule(neurons.phi[of_k], neurons.psi[of_k], normalise_widths(weight)), weight))
    return found


def run_keys(trained: TrainedRun) -> list[Key]:
    """Those of a run's last weights. UserError for an architecture without these circuits."""
    return keys(circuits.neurons(circuits.weights(trained)), trained.run.hyperparameters["vocabulary"])


def key_rows(trained: TrainedRun, row: Callable[[Key], dict[str, float]]) -> list[dict[str, float]]:
    """A measure's rows: OF_KEY and further columns of every key frequency."""
    return [
        {"frequency": key.k, "neurons": len(key.rule.phi), "weight_share_1": key.share, **row(key)}
        for key in run_keys(trained)
    ]
