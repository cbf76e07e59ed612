"""The rules on readers of embeddings: matchers, distances, probes, tournaments (001-21, -27, -30, own-7).

The unit is the seed. If both padding sides were run, a rule must hold on both.
"""

from contextlib import nullcontext, suppress
from dataclasses import replace

import numpy as np
import pandas as pd

from allmlp.judging.rules import NotPlannedError, judge_all, judge_below, mark_corrected, premise
from allmlp.judging.statistics import Finding, Verdict, judge_better
from allmlp.spec.protocols import Evidence
from allmlp.studies.mixers.matcher_settings import OTHER_WORDS, SMALL, Setting
from allmlp.studies.mixers.matching import POSITIONS, gains, setting_rows, values_by_side
from allmlp.studies.mixers.verdicts.padding_sides import (
    MIXER,
    NATS,
    SHARE,
    TRANSFORMER,
    add_truncation_note,
    judge_learnt_sides,
    judge_sides,
    scale_settings,
)

AS_PUBLISHED = Setting("transformer", matcher="matcher-transformer-as-published")
MENDED = Setting("transformer", matcher="matcher-transformer")
METRICS = {"cosine": "(a) cosine", "l1": "(b) L1", "l2": "(c) L2"}


def distances_are_poor(evidence: Evidence) -> Finding:
    """001-21: nearest neighbours lose to a matcher on the same embeddings of a mixer, where no word is shared."""
    distances, margin = evidence.table("distances"), evidence.margin["accuracy_gap_1"]
    (setting,) = scale_settings(evidence, MIXER._replace(words=OTHER_WORDS))
    matched = setting_rows(evidence.table("retrieval"), setting).set_index("run")["top_1"]
    learnt, found = gains(evidence.table("retrieval"), setting), {}
    for metric, name in METRICS.items():
        rows = setting_rows(distances, setting)
        rows = rows[rows["metric"].eq(metric) & rows["normalisation"].eq("none")]
        gaps = rows.assign(gap_1=rows["top_1"] - rows["run"].map(matched))
        found[name] = judge_learnt_sides(
            values_by_side(gaps, setting, "gap_1"),
            lambda gap: judge_below(gap, -margin, SHARE, none=0.0),
            "contradicted",
            0.0,
            learnt,
        )
    return add_truncation_note(found, evidence.table("retrieval"), setting)


def bidirectional_transformer_fails(evidence: Evidence) -> Finding:
    """001-27: a bidirectional transformer learns nothing as published, and mended."""
    rows, margin = evidence.table("retrieval"), evidence.margin["loss_nats"]
    largest, runs = _largest_effect(evidence.table("query_effect"))
    published = _judge_no_learning(rows, AS_PUBLISHED, margin)
    published = premise(published, "its scores depend on the query, so rates matter", holds=not largest)
    effect = f"a query's scores change by {largest:.3g} at most when it is replaced, in {runs} runs"
    parts = {
        "(a) as published": replace(published, text=f"{published.text}; {effect}"),
        "(b) mended": _judge_no_learning(rows, MENDED, margin, beside=TRANSFORMER),
    }
    return add_truncation_note(parts, rows, AS_PUBLISHED, MENDED)


def information_is_there(evidence: Evidence) -> Finding:
    """001-own-7: does a closed-form linear probe of both embeddings retrieve better than the trained matcher?"""
    rows, margin = evidence.table("retrieval"), evidence.margin["accuracy_1"]
    probes = evidence.table("embedding_probes").query("probe == 'both'").set_index("run")["top_1"]
    rows = rows.assign(lead_1=rows["run"].map(probes) - rows["top_1"])
    settings = [setting._replace(position="mean") for setting in (MIXER, TRANSFORMER)]
    parts = {
        f"{letter} {setting.embedder}": judge_sides(
            values_by_side(rows, setting, "lead_1"), lambda lead: judge_better(lead, margin, unit=SHARE)
        )
        for letter, setting in zip(("(a)", "(b)"), settings, strict=True)
    }
    parts = {
        name: replace(part, text=f"{part.text}; the matcher {_gain_text(rows, setting)}")
        for (name, part), setting in zip(parts.items(), settings, strict=True)
    }
    return add_truncation_note(parts, rows, *settings)


def tournament_grows(evidence: Evidence) -> Finding:
    """001-30: do the passes of a tournament grow as n log n, or in proportion to n, which corrects it? Exact counts."""
    rows, slope = evidence.table("tournament_passes"), evidence.margin["slope_1"]
    rows = rows[rows["group"].eq(SMALL)].sort_values("texts", kind="stable")
    decades, per_text = np.log10(rows["texts"].to_numpy(float)), rows["passes_per_text_1"].to_numpy(float)
    growth = np.diff(per_text) / np.diff(decades)
    exponent = float(np.polyfit(decades, np.log10(rows["passes"].to_numpy(float)), 1)[0])
    verdict: Verdict = "undecided"
    if (growth > slope).all():
        verdict = "reproduced"
    elif (np.abs(growth) <= slope).all():
        verdict = "contradicted"
    mean = float(growth.mean())
    text = f"passes / n from {per_text[0]:.4f} to {per_text[-1]:.4f} for n from {rows['texts'].min():,} to "
    text += f"{rows['texts'].max():,} (1 / (group - 1) is {1 / (SMALL - 1):.4f}); exponent of n {exponent:.3f}"
    ends = float(growth.min()), float(growth.max())
    return mark_corrected(Finding(verdict, mean, *ends, 1, "passes / n per factor of ten", text))


def _judge_no_learning(rows: pd.DataFrame, setting: Setting, margin: float, beside: Setting | None = None) -> Finding:
    """Does a matcher learn nothing, from the position before the end and, if it was run, from the mean over the text?

    beside: if this matcher learns nothing either, the embeddings or the budget may be the cause, and nothing is
    decided.
    """
    found = {}
    for position, name in POSITIONS.items():
        with suppress(NotPlannedError) if position != setting.position else nullcontext():
            at = gains(rows, setting._replace(position=position))
            found[name] = _judge_no_gain(at, margin, rows, beside and beside._replace(position=position))
    return judge_all(found)


def _judge_no_gain(gain: dict[str, pd.Series], margin: float, rows: pd.DataFrame, beside: Setting | None) -> Finding:
    if beside is None:
        return judge_sides(gain, lambda values: judge_below(values, margin, NATS))
    others = {}
    with suppress(NotPlannedError):
        others = gains(rows, beside)
    return judge_learnt_sides(gain, lambda values: judge_below(values, margin, NATS), "reproduced", margin, others)


def _gain_text(rows: pd.DataFrame, setting: Setting) -> str:
    of_sides = (f"{gain.mean():.3g} nats ({side} padding)" for side, gain in gains(rows, setting).items())
    return f"comes {', '.join(of_sides)} below chance on average"


def _largest_effect(rows: pd.DataFrame) -> tuple[float, int]:
    """The largest change of a query's scores, as published, when the query is replaced; and how many runs it is of."""
    changes = values_by_side(rows, AS_PUBLISHED, "own_change_1")
    values = np.concatenate([of_side.to_numpy() for of_side in changes.values()])
    return float(values.max()), len(values)
