"""What is written: milestones of pre-training, and fine-tuning on Shakespeare (004-6, -7). The unit is the seed."""

import math
from dataclasses import replace
from typing import TYPE_CHECKING

import numpy as np
import pandas as pd

from allmlp.report.multiplicity import whole
from allmlp.report.statistics import FEWEST_SEEDS, Finding, Verdict, better
from allmlp.studies.rules import NotPlannedError, below
from allmlp.studies.triangular.parts import ALONE, FINE_TUNING, PRETRAINING, SHAKESPEARE, of_part
from allmlp.studies.triangular.printed import OF_THE_PAPER

if TYPE_CHECKING:
    from allmlp.report.evidence import Evidence

# part -> (column, margin, the paper's iteration)
MILESTONES = {
    "(a) words": ("word_share_1", "word_share_1", "words_iterations"),
    "(b) phrases": ("pair_share_1", "pair_share_1", "phrases_iterations"),
    "(c) sentences": ("four_word_share_1", "four_word_share_1", "sentences_iterations"),
    "(d) context": ("context_nats", "context_nats", "understanding_iterations"),
}


def milestones(evidence: "Evidence") -> Finding:
    """004-6: words, phrases, sentences and the use of context at the paper's iterations, and in this order."""
    rows = of_part(evidence.table("milestones"), PRETRAINING)
    findings = {}
    for name, (column, margin, iterations) in MILESTONES.items():
        step, limit = int(evidence.paper[iterations]), evidence.margin[margin]
        values = rows.loc[rows["step"] == step, column].to_numpy()
        findings[name] = better(values, limit) if len(values) else _not_reached(step, rows)
    return whole({**findings, "(e) in this order": _in_order(rows, evidence.margin)})


def _not_reached(step: int, rows: pd.DataFrame) -> Finding:
    text = f"not judged at this scale: no samples at iteration {step:,}, the last is {rows['step'].max():,}"
    return Finding("undecided", math.nan, -math.inf, math.inf, 0, "", text)


def _in_order(rows: pd.DataFrame, margin: dict[str, float]) -> Finding:
    """Do the steps at which (a) to (c) first reach their margins increase, seed by seed? One not reached comes last."""
    increasing = []
    for _, of_seed in rows.groupby("seed"):
        reached = [
            of_seed.loc[of_seed[column] >= margin[key], "step"].min()
            for column, key, _ in list(MILESTONES.values())[:3]
        ]
        steps = [math.inf if pd.isna(step) else float(step) for step in reached]
        increasing.append(steps[0] < steps[1] < steps[2])
    held, n = sum(increasing), len(increasing)
    verdict: Verdict = "undecided"
    if n >= FEWEST_SEEDS and held in (0, n):
        verdict = "reproduced" if held else "contradicted"
    text = f"in {held} of {n} seeds; a margin not reached within the budget counts as later than all that are"
    return Finding(verdict, float(held), float(held), float(held), n, "seeds", text)


def fine_tuning(evidence: "Evidence") -> Finding:
    """004-7: does fine-tuning end lower on held-out Shakespeare than training on it alone, in words of its own?"""
    rows = of_part(evidence.table("learning"), ALONE, FINE_TUNING)
    if not set(rows["corpus"]) <= set(SHAKESPEARE):
        raise NotPlannedError(f"needs runs on {' or '.join(SHAKESPEARE)}, which are not planned")
    losses = rows.pivot(index="seed", columns="part", values="end_nats_per_character")
    samples = of_part(evidence.table("samples"), FINE_TUNING)
    ours = samples[samples["sample"] != OF_THE_PAPER].groupby("seed")["copied_words"].mean()
    theirs = samples.loc[samples["sample"] == OF_THE_PAPER, "copied_words"].max()
    copied = below(np.asarray(ours, dtype=float), evidence.margin["copied_words"], unit="words")
    return whole(
        {
            "(a) held-out loss": better(
                (losses[ALONE] - losses[FINE_TUNING]).to_numpy(),
                evidence.margin["loss_nats"],
                unit="nats per character",
            ),
            "(b) longest copied run": replace(
                copied, text=f"{copied.text}; the paper's sample has {theirs:g} words in a row"
            ),
        }
    )
