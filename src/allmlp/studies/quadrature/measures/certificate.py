"""Lower bounds on the margins of the whole network, level by level, and their cost (D.2)."""

import pandas as pd

from allmlp.columns import exact, numeric, timing
from allmlp.protocols import Trained
from allmlp.studies.quadrature import circuits
from allmlp.studies.quadrature.certificate.levels import certify

RECIPE = 1

_SHARE = {"rtol": 0.0, "atol": 0.1}
_BOUND = {"rtol": 0.1, "atol": 2.0}  # a neuron near a tie of two keys changes a sum over hundreds of them
_COUNT = {"rtol": 0.2, "atol": 0}  # another number of key frequencies, or of columns of the unembedding
COLUMNS = {
    "level": exact("truth, hidden, structured or story"),
    "terms": exact("Fourier terms kept (fourier.kept_terms); of `structured` the last row keeps all; 0: has none"),
    "certified_accuracy_1": numeric("share of all p^2 pairs with a lower bound above 0", **_SHARE),
    "true_accuracy_1": numeric("share of pairs whose true margin is above 0, by ball arithmetic", atol=0.02),
    "smallest_bound_nats": numeric("lower bound on the margin, least over pairs", **_BOUND),
    "mean_bound_nats": numeric("the same, mean over pairs", **_BOUND),
    "smallest_margin_nats": numeric("true margin, least over pairs", rtol=0.05, atol=0.1),
    "largest_excess_nats": numeric("bound minus upper end of the true margin, largest over pairs", **_BOUND),
    "keys": numeric("key frequencies of the structured model", atol=1),
    "operations": numeric("multiply-adds from the weights to all bounds, tables included", **_COUNT),
    "brute_operations": exact("the same of trying every x, y and z"),
    "seconds": timing("of the level, without the tables that all levels share"),
}


def measure(trained: Trained) -> pd.DataFrame:
    """One row per level, of the last weights. Raises UserError where `certify` does."""
    found = certify(circuits.weights(trained), trained.run.id)
    truth = found.levels[0]
    rows = [
        {
            "level": level.name,
            "terms": level.terms,
            "certified_accuracy_1": level.certified,
            "true_accuracy_1": truth.certified,
            "smallest_bound_nats": level.lower.min(),
            "mean_bound_nats": level.lower.mean(),
            "smallest_margin_nats": truth.lower.min(),
            "largest_excess_nats": (level.lower - found.upper).max(),
            "keys": len(found.keys),
            "operations": level.operations,
            "brute_operations": truth.operations,
            "seconds": level.seconds,
        }
        for level in found.levels
    ]
    return pd.DataFrame(rows, columns=list(COLUMNS))
