"""Rules on the keywords of neurons and on sampled text (000-11, 000-17). The unit is the seed."""

from dataclasses import replace

import numpy as np
import pandas as pd

from allmlp.judging.multiplicity import partial_conjunction, require_all_parts
from allmlp.judging.rules import (
    join_findings,
    judge_above,
    judge_all,
    part_rows,
    premise,
    require_models,
    undecided_finding,
)
from allmlp.judging.statistics import Finding, judge_better
from allmlp.spec.protocols import Evidence
from allmlp.studies.language.classification import BAG_OF_WORDS, N_GRAM
from allmlp.studies.language.keywords import CLEAREST, RANDOM
from allmlp.studies.language.names import NEURONS
from allmlp.studies.language.prompts import PROBING, PROMPTS

DECIDING = "dot"


def coherent_keywords(evidence: Evidence) -> Finding:
    """000-11: are the keywords of bag-of-words neurons more related than random ones, and than n-gram neurons'?"""
    rows = part_rows(evidence.table("keywords"), NEURONS)
    parts = {
        "(a) more than of random vectors": _judge_more(rows, RANDOM, evidence.margin),
        "(b) more than of n-gram neurons": _judge_more(rows, N_GRAM, evidence.margin),
    }
    return require_all_parts(parts)


def differences(rows: pd.DataFrame, other: str, nearness: str) -> pd.Series:
    """Mean coherence of the bag-of-words neurons minus that of `other`, per seed."""
    of_nearness = rows[rows["nearness"] == nearness]
    means = of_nearness.groupby(["seed", "class"])["coherence_1"].mean().unstack()
    return means[BAG_OF_WORDS] - means[other]


def _judge_more(rows: pd.DataFrame, other: str, margin: dict[str, float]) -> Finding:
    found = judge_better(differences(rows, other, DECIDING).to_numpy(), margin["npmi_1"], unit="of NPMI")
    beside = ", ".join(_nearness_text(rows, other, nearness) for nearness in sorted(set(rows["nearness"]) - {DECIDING}))
    in_class = rows[rows["nearness"] == DECIDING].groupby(["seed", "class"])["in_class"].sum().unstack()
    fewest = int(min(in_class[name].min() for name in {BAG_OF_WORDS, other} - {RANDOM}))
    reason = f"as few as {fewest} of the {CLEAREST} neurons of a class are in it in some seed"
    return premise(replace(found, text=f"{found.text}; {beside}"), reason, holds=fewest >= CLEAREST)


def _nearness_text(rows: pd.DataFrame, other: str, nearness: str) -> str:
    mean = differences(rows, other, nearness).mean()  # nan: no seed has a coherence of both classes
    return f"by {nearness} " + ("undefined" if pd.isna(mean) else f"{mean:.3f}")


MODELS = ("mlp", "gpt2-last")


def samples_known_and_in_context(evidence: Evidence) -> Finding:
    """000-17: are the trigrams known that every model samples? What the context gains is said, without a rule."""
    require_models(evidence, "samples", MODELS)
    rows, limit = evidence.table("samples"), evidence.margin["trigram_share_1"]
    rows["who"] = rows["model"] + " d" + rows["d_model"].astype(str) + " w" + rows["d_mlp"].astype(str)
    probing = rows[rows["prompt"] >= len(PROMPTS) - len(PROBING)]
    known = rows.groupby(["who", "seed"])["known_trigrams_1"].mean()
    gain = probing.groupby(["who", "seed"])["context_gain_nats"].mean()
    models = sorted(set(rows["who"]))
    gains = ", ".join(f"{who} {_model_values(gain, who).mean():.2g}" for who in models)
    parts = {
        "(a) trigrams of the training text": _combine_models(
            {who: judge_above(_model_values(known, who), limit) for who in models}
        ),
        "(b) context beyond the last word": undecided_finding(
            f"not judged: other text before the word may gain as much; nats gained by the context: {gains}"
        ),
    }
    return require_all_parts(parts)


def _combine_models(findings: dict[str, Finding]) -> Finding:
    """Several models: all must hold, and only all of them refute."""
    verdict, rests = join_findings(findings.values(), refuting=len(findings))
    p_against = partial_conjunction((found.p_against for found in findings.values()), len(findings))
    return replace(judge_all(findings), verdict=verdict, rests=rests, p_against=p_against)


def _model_values(values: "pd.Series", who: str) -> np.ndarray:
    return values.loc[who].to_numpy()
