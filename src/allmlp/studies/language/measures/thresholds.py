"""How the shares of the two classes at the end depend on Appendix H's thresholds, one varied at a time (000-19)."""

from dataclasses import replace

import numpy as np
import pandas as pd

from allmlp.columns import exact, numeric
from allmlp.protocols import Trained
from allmlp.studies.language import classification, profiles
from allmlp.studies.language.classification import Thresholds

RECIPE = 1
FACTORS = tuple(np.round(np.geomspace(1 / 16, 16, 25), 4).tolist())  # of the printed variance
NORMS = tuple(np.round(np.linspace(0.05, 1.0, 20), 2).tolist())
VARIED: dict[str, tuple[float, ...]] = {
    "low_rows": tuple(np.round(np.linspace(0.3, 0.9, 13), 2).tolist()),
    "low": NORMS,
    "high": NORMS,
    "variance": FACTORS,
}

COLUMNS = {
    "reading": exact("what Appendix H's norms are relative to: paper or relative"),
    "threshold": exact("the one that is varied: low_rows, low, high or variance"),
    "value_1": exact("its value; of the variance's, the factor that multiplies the printed one"),
    "printed_1": exact("the value in Appendix H, on the same scale"),
    "n_gram_share_1": numeric("share of n-gram neurons", rtol=1e-2, atol=0.02),
    "bag_of_words_share_1": numeric("share of neurons that vary little over time, n-gram or not", rtol=1e-2, atol=0.02),
}  # fmt: skip


def _varied(name: str, value: float) -> tuple[Thresholds, float]:
    """Appendix H's thresholds with one changed, and the printed value on the same scale."""
    printed = float(getattr(classification.STRICT, name))
    if name == "variance":
        return replace(classification.STRICT, variance=value * printed), 1.0
    return replace(classification.STRICT, **{name: value}), printed


def measure(trained: Trained) -> pd.DataFrame:
    """One row per reading, threshold and value. Raises UserError for an architecture without a first layer."""
    energies, rows = profiles.at(trained, profiles.moments(trained)["end"]).energies, []
    for reading in classification.READINGS:
        variance_N = classification.time_variance(energies, reading)
        scale = classification.variance_scale(energies, reading)
        for name, values in VARIED.items():
            for value in values:
                thresholds, printed = _varied(name, value)
                rows.append(
                    {
                        "reading": reading.name,
                        "threshold": name,
                        "value_1": value,
                        "printed_1": printed,
                        "n_gram_share_1": classification.is_n_gram(energies, reading, thresholds).mean(),
                        "bag_of_words_share_1": (variance_N < thresholds.variance * scale).mean(),
                    }
                )
    return pd.DataFrame(rows, columns=list(COLUMNS))
