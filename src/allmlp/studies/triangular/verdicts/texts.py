"""What is written: milestones of pre-training, and fine-tuning on Shakespeare (004-6, -7). The unit is the seed."""

import math
from dataclasses import replace
from itertools import combinations

import pandas as pd

from allmlp.protocols import Evidence
from allmlp.report.multiplicity import whole
from allmlp.report.statistics import FEWEST_SEEDS, Finding, Verdict, better
from allmlp.studies.parts import of_part
from allmlp.studies.rules import NotPlannedError, below, undecided
from allmlp.studies.triangular.parts import ALONE, FINE_TUNING, PRETRAINING, SHAKESPEARE
from allmlp.studies.triangular.printed import OF_THE_PAPER

# part -> (column and margin, the paper's iteration)
MILESTONES = {
    "(a) words": ("word_share_1", "words_iterations"),
    "(b) phrases": ("pair_share_1", "phrases_iterations"),
    "(c) sentences": ("four_word_share_1", "sentences_iterations"),
    "(d) context": ("context_nats", "understanding_iterations"),
}


def milestones(evidence: Evidence) -> Finding:
    """004-6: words, phrases, sentences and the use of context at the paper's iterations, and in this order."""
    rows = of_part(evidence.table("milestones"), PRETRAINING)
    findings = {}
    for name, (column, iterations) in MILESTONES.items():
        step, limit = int(evidence.paper[iterations]), evidence.margin[column]
        values = rows[rows["step"] == step].set_index("seed")[column]
        every = values.reindex(rows["seed"].unique()).to_numpy()  # a seed that diverged before has none, and counts
        missing = f"not judged at this scale: no samples at iteration {step:,}, the last is {rows['step'].max():,}"
        findings[name] = better(every, limit) if len(values) else undecided(missing)
    return whole({**findings, "(e) in this order": _trend(rows, evidence.margin)})


def _trend(rows: pd.DataFrame, margin: dict[str, float]) -> Finding:
    """Do the first steps at which (a) to (c) reach their margins increase in every seed, or reverse in every one?"""
    orders = [_order(_reached(of_seed, margin)) for _, of_seed in rows.groupby("seed")]
    n, counts = len(orders), {order: orders.count(order) for order in ("increasing", "reversed", "undetermined")}
    verdict: Verdict = "undecided"
    if n >= FEWEST_SEEDS and n in (counts["increasing"], counts["reversed"]):
        verdict = "reproduced" if counts["increasing"] else "contradicted"
    listed = ", ".join(f"{order} in {count}" for order, count in counts.items())
    text = f"{listed} of {n} seeds; what is not reached within the budget comes after all that is"
    held = float(counts["increasing"])
    return Finding(verdict, held, held, held, n, "seeds", text)


def _reached(of_seed: pd.DataFrame, margin: dict[str, float]) -> list[float]:
    """The first kept steps of one seed at which words, phrases and sentences reach their margins; inf for none."""
    columns = [column for column, _ in MILESTONES.values()][:3]
    firsts = [of_seed.loc[of_seed[column] >= margin[column], "step"].min() for column in columns]
    return [math.inf if pd.isna(step) else float(step) for step in firsts]


def _order(steps: list[float]) -> str:
    """`increasing`: each after the one before. `reversed`: one before an earlier one of the list. Else `undetermined`.

    Two that are reached between the same kept steps, or not at all, may have come in either order.
    """
    pairs = list(combinations(steps, 2))
    if any(first > second for first, second in pairs):
        return "reversed"
    return "increasing" if all(first < second for first, second in pairs) else "undetermined"


def fine_tuning(evidence: Evidence) -> Finding:
    """004-7: does fine-tuning end lower on held-out Shakespeare than training on it alone, in words of its own?"""
    rows, margin = of_part(evidence.table("learning"), ALONE, FINE_TUNING), evidence.margin
    if not set(rows["corpus"]) <= set(SHAKESPEARE):
        raise NotPlannedError(f"needs runs on {' or '.join(SHAKESPEARE)}, which are not planned")
    losses = rows.pivot(index="seed", columns="part", values="end_nats_per_character")
    lower = better((losses[ALONE] - losses[FINE_TUNING]).to_numpy(), margin["loss_nats"], unit="nats per character")
    samples = of_part(evidence.table("samples"), FINE_TUNING)
    printed = samples["sample"] == OF_THE_PAPER
    ours = samples[~printed].groupby("seed")["copied_words"].mean()
    copied = below(ours.to_numpy(dtype=float), margin["copied_words"], unit="words")
    text = f"{copied.text}; the paper's sample has {samples.loc[printed, 'copied_words'].max():g} words in a row"
    return whole({"(a) held-out loss": lower, "(b) longest copied run": replace(copied, text=text)})
