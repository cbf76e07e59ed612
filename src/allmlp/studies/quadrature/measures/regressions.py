"""How well each law of Appendix B describes the logits of each part of the network (003-9)."""

import pandas as pd

from allmlp.columns import exact, numeric
from allmlp.protocols import Trained
from allmlp.studies.quadrature import circuits, laws
from allmlp.studies.quadrature.frequencies import key_frequencies

RECIPE = 1

COLUMNS = {
    "part": exact(
        "logits: the whole network; mlp: without the residual stream's own way to the logits; abs, identity: by the "
        "part of ReLU(u) = |u|/2 + u/2 that lets it through"
    ),
    "law": exact(
        "regressors, each times cos(k(x+y-z)): abs |cos(k(x-y)/2)|; cosine 1; double cos(k(x-y)); both: abs and double"
    ),
    "key_frequencies": numeric("frequencies with regressors of their own", atol=1),
    "r2_1": numeric("least squares over all p^3 logits, with an intercept", rtol=0, atol=0.03),
}


def measure(trained: Trained) -> pd.DataFrame:
    """One row per part and law, of the last weights. UserError for an architecture without these circuits."""
    weights = circuits.weights(trained)
    keys = key_frequencies(circuits.neurons(weights))
    rows = []
    for part, logits_XYZ in laws.parts(weights).items():
        profile_KP = laws.profiles(logits_XYZ, keys)
        rows += [(part, law, len(keys), laws.r2(logits_XYZ, keys, law, profile_KP)) for law in laws.LAWS]
    return pd.DataFrame(rows, columns=list(COLUMNS))
