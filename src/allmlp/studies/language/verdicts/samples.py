"""The rule on sampled text as a test (000-17): known trigrams and the use of context -> a finding."""

import numpy as np
import pandas as pd

from allmlp.protocols import Evidence
from allmlp.report.multiplicity import whole
from allmlp.report.statistics import Finding, better
from allmlp.studies.language.prompts import PROBING, PROMPTS
from allmlp.studies.rules import every, require_models

MODELS = ("mlp", "gpt2-last")


def samples_known_and_in_context(evidence: Evidence) -> Finding:
    """000-17: trigrams are known, and the context beyond the last word is used, by every model sampled."""
    require_models(evidence, "samples", MODELS)
    rows, margin = evidence.table("samples"), evidence.margin
    rows["who"] = rows["model"] + " d" + rows["d_model"].astype(str) + " w" + rows["d_mlp"].astype(str)
    probing = rows[rows["prompt"] >= len(PROMPTS) - len(PROBING)]
    known = rows.groupby(["who", "seed"])["known_trigrams_1"].mean()
    gain = probing.groupby(["who", "seed"])["context_gain_nats"].mean()
    parts = {
        "(a) trigrams of the training text": (known, margin["trigram_share_1"], ""),
        "(b) context beyond the last word": (gain, margin["context_nats"], "nats"),
    }
    return whole(
        {
            name: every({who: better(_of(values, who), limit, unit=unit) for who in sorted(set(rows["who"]))})
            for name, (values, limit, unit) in parts.items()
        }
    )


def _of(values: "pd.Series", who: str) -> np.ndarray:
    return values.loc[who].to_numpy()
