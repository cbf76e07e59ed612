"""What the rules on retrieval share: a rule on each padding side, printed losses, and what was read of the texts."""

from collections.abc import Callable, Mapping
from dataclasses import replace
from typing import TYPE_CHECKING

import pandas as pd

from allmlp.report.multiplicity import whole
from allmlp.report.statistics import Finding, Values, Verdict, better
from allmlp.studies.mixers.matching import Setting, by_side, differences, gains, of_setting
from allmlp.studies.mixers.verdicts.common import PAPER_SCALE, only_on_paper
from allmlp.studies.rules import NotPlannedError, below, every, withheld

if TYPE_CHECKING:
    from allmlp.report.evidence import Evidence

MIXER, TRANSFORMER, AUTOENCODER = Setting("mixer"), Setting("transformer"), Setting("autoencoder")
UNTRAINED, UNTRAINED_TRANSFORMER = Setting("untrained-mixer"), Setting("untrained-transformer")
NATS, SHARE = "nats", "share of queries"


def on_sides(values: Mapping[str, pd.Series], rule: Callable[[Values], Finding]) -> Finding:
    """A rule on each padding side that was run: it must hold on all. NotPlannedError where there is none."""
    if not values:
        raise NotPlannedError("needs the same padding side in all of its settings, which is not planned")
    return every({f"{side} padding": rule(of_side.to_numpy()) for side, of_side in values.items()})


def embeds_better(rows: pd.DataFrame, worse: Setting, good: Setting, margin: float) -> Finding:
    """Does `good` end lower than `worse` by more than `margin`? Lowest held-out losses, paired."""
    gaps = differences(rows, worse, good, "lowest_nats")
    found = on_sides(gaps, lambda gap: better(gap, margin, unit=NATS))
    return unless_at_chance(found, "contradicted", rows, margin, worse, good)


def unless_at_chance(
    finding: Finding, verdict: Verdict, rows: pd.DataFrame, margin: float, *settings: Setting
) -> Finding:
    """The finding, undecided where it says `verdict` and no matcher of `settings` came `margin` nats below chance.

    Matchers that learnt nothing are equal, whatever their embeddings hold.
    """
    of_settings = [gain for setting in settings for gain in gains(rows, setting).values()]
    nothing = all(below(gain.to_numpy(), margin).verdict == "reproduced" for gain in of_settings)
    reason = f"no matcher compared comes {margin:g} nats below chance"
    return withheld(finding, verdict, reason, when=nothing)


def printed_losses(evidence: "Evidence", losses: Mapping[str, tuple[Setting, str]], refuting: int = 1) -> Finding:
    """Printed losses beside ours, at the article's scale; padded on the right if planned, as its later code is."""
    found: dict[str, Values] | None = None
    if evidence.scale == PAPER_SCALE:
        rows = evidence.table("retrieval")
        sides = {key: by_side(rows, setting, column) for key, (setting, column) in losses.items()}
        found = {key: list(of_sides.values())[-1].to_numpy() for key, of_sides in sides.items()}
    return only_on_paper(evidence, found, refuting=refuting)


def of_what_was_read(findings: Mapping[str, Finding], rows: pd.DataFrame, *settings: Setting) -> Finding:
    """The claim of these parts, the first of which says how much of the texts the embedders of `settings` read."""
    name, first = next(iter(findings.items()))
    return whole({**findings, name: replace(first, text=f"{first.text}; {truncated(rows, *settings)}")})


def truncated(rows: pd.DataFrame, *settings: Setting) -> str:
    """Of which share of the held-out texts, and of the queries, the embedders of these settings read the end only."""
    found = pd.concat([of_setting(rows, setting) for setting in settings])
    texts, queries = (_span(found[column]) for column in ("truncated_1", "truncated_queries_1"))
    return f"truncated to the embedder's context: {texts} of the texts, {queries} of the queries"


def _span(shares: pd.Series) -> str:
    low, high = f"{shares.min():.0%}", f"{shares.max():.0%}"
    return low if low == high else f"{low} to {high}"
