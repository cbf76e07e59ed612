"""Common to the rules on retrieval: a rule on each padding side, printed losses, and truncation of the texts."""

from collections.abc import Callable, Mapping
from dataclasses import replace

import pandas as pd

from allmlp.judging.multiplicity import require_all_parts
from allmlp.judging.rules import NotPlannedError, judge_all, premise
from allmlp.judging.statistics import Finding, Values, Verdict, judge_better
from allmlp.spec.protocols import Evidence
from allmlp.studies.mixers.budgets import BENCHMARKED
from allmlp.studies.mixers.matcher_settings import Setting
from allmlp.studies.mixers.matching import differences, gains, setting_rows, values_by_side
from allmlp.studies.mixers.verdicts.common import PAPER_SCALE, judge_at_paper_size

MIXER, TRANSFORMER, AUTOENCODER = Setting("mixer"), Setting("transformer"), Setting("autoencoder")
UNTRAINED, UNTRAINED_TRANSFORMER = Setting("untrained-mixer"), Setting("untrained-transformer")
NATS, SHARE = "nats", "share of queries"
NO_SIDE = "needs the same padding side in all of its settings, which is not planned"


def scale_settings(evidence: Evidence, *settings: Setting) -> tuple[Setting, ...]:
    """The settings at this scale: at `long` every embedder takes the mean over a text's tokens."""
    if evidence.scale != BENCHMARKED:
        return settings
    return tuple(setting._replace(position="mean") for setting in settings)


def judge_sides(values: Mapping[str, pd.Series], rule: Callable[[Values], Finding]) -> Finding:
    """A rule on each padding side that was run: it must hold on all. NotPlannedError without any."""
    return _judge_each_side(values, lambda _, of_side: rule(of_side))


def judge_learnt_sides(
    values: Mapping[str, pd.Series],
    rule: Callable[[Values], Finding],
    verdict: Verdict,
    nats: float,
    *of: Mapping[str, pd.Series],
) -> Finding:
    """`judge_sides`; the premise of this `verdict` is that a matcher learnt something on that side.

    of: chance minus loss on each side, by seed, of the matchers compared. A matcher learnt if the lower end of its 95 %
    t interval is above `nats`. Matchers that did not learn are equal for any embeddings.
    """

    def judged(side: str, of_side: Values) -> Finding:
        learnt = [judge_better(gain[side].to_numpy(), nats).verdict == "reproduced" for gain in of if side in gain]
        unmet = f"no matcher compared is shown to come {nats:g} nats below chance"
        return premise(rule(of_side), unmet, holds=any(learnt), of=verdict)

    return _judge_each_side(values, judged)


def _judge_each_side(values: Mapping[str, pd.Series], rule: Callable[[str, Values], Finding]) -> Finding:
    if not values:
        raise NotPlannedError(NO_SIDE)
    return judge_all({f"{side} padding": rule(side, of_side.to_numpy()) for side, of_side in values.items()})


def judge_embedders(rows: pd.DataFrame, worse: Setting, good: Setting, margin: float) -> Finding:
    """Does `good` end lower than `worse` by more than `margin`? Lowest held-out losses, paired."""
    gaps, of = differences(rows, worse, good, "lowest_nats"), (gains(rows, worse), gains(rows, good))
    return judge_learnt_sides(gaps, lambda gap: judge_better(gap, margin, unit=NATS), "contradicted", margin, *of)


def printed_losses(evidence: Evidence, losses: Mapping[str, tuple[Setting, str]], refuting: int = 1) -> Finding:
    """Printed losses against ours, at the article's scale; padded on the right if planned, as in its later code."""
    found: dict[str, Values] | None = None
    if evidence.scale == PAPER_SCALE:
        rows = evidence.table("retrieval")
        sides = {key: values_by_side(rows, setting, column) for key, (setting, column) in losses.items()}
        found = {key: list(of_sides.values())[-1].to_numpy() for key, of_sides in sides.items()}
    return judge_at_paper_size(evidence, found, refuting=refuting)


def add_truncation_note(findings: Mapping[str, Finding], rows: pd.DataFrame, *settings: Setting) -> Finding:
    """The claim of these parts. The text of the first part notes how much of the texts the embedders truncate."""
    name, first = next(iter(findings.items()))
    return require_all_parts(
        {**findings, name: replace(first, text=f"{first.text}; {truncation_text(rows, *settings)}")}
    )


def truncation_text(rows: pd.DataFrame, *settings: Setting) -> str:
    """The shares of held-out texts and queries that the embedders of these settings truncate."""
    found = pd.concat([setting_rows(rows, setting) for setting in settings])
    texts, queries = (_span(found[column]) for column in ("truncated_1", "truncated_queries_1"))
    return f"truncated to the embedder's context: {texts} of the texts, {queries} of the queries"


def _span(shares: pd.Series) -> str:
    low, high = f"{shares.min():.0%}", f"{shares.max():.0%}"
    return low if low == high else f"{low} to {high}"
