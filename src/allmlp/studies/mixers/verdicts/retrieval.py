"""The rules on retrieval as tests (001-21 to 001-27, 001-30, own-5 to own-8). The unit is the seed, losses are in nats.

Where both padding sides were run, a rule must hold on both.
"""

from collections.abc import Callable, Mapping
from contextlib import suppress
from dataclasses import replace
from typing import TYPE_CHECKING, Any

import numpy as np
import pandas as pd

from allmlp.report.multiplicity import whole
from allmlp.report.statistics import FEWEST_SEEDS, Finding, Values, Verdict, better, t_interval
from allmlp.studies.mixers.matching import (
    LARGE,
    OTHER_WORDS,
    SMALL,
    Setting,
    as_printed,
    by_side,
    differences,
    gains,
    of_setting,
)
from allmlp.studies.mixers.verdicts.common import PAPER_SCALE, only_on_paper
from allmlp.studies.rules import NotPlannedError, below, every

if TYPE_CHECKING:
    from allmlp.report.evidence import Evidence

MIXER, TRANSFORMER, AUTOENCODER = Setting("mixer"), Setting("transformer"), Setting("autoencoder")
UNTRAINED, UNTRAINED_TRANSFORMER = Setting("untrained-mixer"), Setting("untrained-transformer")
AS_PUBLISHED = Setting("transformer", matcher="matcher-transformer-as-published")
MENDED = Setting("transformer", matcher="matcher-transformer")
METRICS = {"cosine": "(a) cosine", "l1": "(b) L1", "l2": "(c) L2"}
NATS, SHARE = "nats", "share of queries"


def distances_are_poor(evidence: "Evidence") -> Finding:
    """001-21: nearest neighbours lose to a matcher on the same embeddings of a mixer, where no word is shared."""
    distances, margin = evidence.table("distances"), evidence.margin["accuracy_gap_1"]
    setting = MIXER._replace(words=OTHER_WORDS)
    matched = of_setting(evidence.table("retrieval"), setting).set_index("run")["top_1"]
    found = {}
    for metric, name in METRICS.items():
        rows = of_setting(distances, setting)
        rows = rows[rows["metric"].eq(metric) & rows["normalisation"].eq("none")]
        gaps = rows.assign(gap_1=rows["top_1"] - rows["run"].map(matched))
        found[name] = _on_sides(by_side(gaps, setting, "gap_1"), lambda gap: below(gap, -margin, SHARE))
    return whole(found)


def mixer_embeds_better(evidence: "Evidence") -> Finding:
    """001-22: the matcher ends lower on a mixer's embeddings than on a transformer's, 32 at a time."""
    rows, margin = evidence.table("retrieval"), evidence.margin["loss_nats"]
    mixer, transformer = as_printed(rows, MIXER, TRANSFORMER)
    return whole(
        {
            "(a) transformer's minus mixer's": _ahead(rows, transformer, mixer, margin),
            "(b) printed losses": _printed(
                evidence,
                {
                    "mixer_train_loss_nats": (mixer, "train_nats"),
                    "mixer_test_loss_nats": (mixer, "lowest_nats"),
                    "transformer_train_loss_nats": (transformer, "train_nats"),
                    "transformer_test_loss_nats": (transformer, "lowest_nats"),
                },
            ),
        }
    )


def gap_widens(evidence: "Evidence") -> Finding:
    """001-23: with 128 at a time the mixer's lead is larger, and the transformer's matcher overfits."""
    rows, margin = evidence.table("retrieval"), evidence.margin["loss_nats"]
    mixer, transformer = as_printed(rows, MIXER, TRANSFORMER)
    of_mixer, of_transformer = mixer._replace(context=LARGE), transformer._replace(context=LARGE)
    at_small = differences(rows, transformer, mixer, "lowest_nats")
    at_large = differences(rows, of_transformer, of_mixer, "lowest_nats")
    widening = {side: at_large[side] - at_small[side] for side in at_large if side in at_small}
    rise = by_side(rows.assign(rise=rows["last_nats"] - rows["lowest_nats"]), of_transformer, "rise")
    printed = {
        "mixer_test_loss_nats": (of_mixer, "lowest_nats"),
        "transformer_test_loss_nats": (of_transformer, "lowest_nats"),
        "transformer_last_test_loss_nats": (of_transformer, "last_nats"),
    }
    return whole(
        {
            "(a) the gap at 128 minus that at 32": _on_sides(widening, lambda gap: better(gap, margin, unit=NATS)),
            "(b) last minus lowest": _on_sides(rise, lambda up: better(up, margin, unit=NATS)),
            "(c) printed losses": _printed(evidence, printed, refuting=2),
        }
    )


def transformer_teaches_nothing(evidence: "Evidence") -> Finding:
    """001-24: nothing from the lowest-loss transformer, much from an equal mixer, more with more pairs."""
    rows, margin = evidence.table("retrieval"), evidence.margin["loss_nats"]
    positions = {"before the end": TRANSFORMER, "at the end": TRANSFORMER._replace(position="last")}
    learnt = {
        f"{name}, {side}": below(gain.to_numpy(), margin, NATS)
        for name, setting in positions.items()
        for side, gain in gains(rows, setting).items()
    }
    printed = {
        "mixer_test_loss_nats": (MIXER._replace(fewer=True), "lowest_nats"),
        "mixer_550k_test_loss_nats": (MIXER, "lowest_nats"),
        "mixer_550k_c128_test_loss_nats": (MIXER._replace(context=LARGE), "lowest_nats"),
    }
    return whole(
        {
            "(a) chance minus the transformer's": every(learnt),
            "(b) transformer's minus mixer's": _ahead(rows, TRANSFORMER, MIXER, margin),
            "(c) mixer's, fewer minus more pairs": _ahead(rows, MIXER._replace(fewer=True), MIXER, margin),
            "(d) printed losses": _printed(evidence, printed, refuting=2),
        }
    )


def untrained_embeds_nothing(evidence: "Evidence") -> Finding:
    """001-25: an untrained mixer's embeddings teach nothing at 128 and little at 32."""
    rows, margin = evidence.table("retrieval"), evidence.margin
    many, few = gains(rows, UNTRAINED._replace(context=LARGE)), gains(rows, UNTRAINED)
    found = whole(
        {
            "(a) nothing at 128": _on_sides(many, lambda gain: below(gain, margin["none_nats"], NATS)),
            "(b) little at 32": _on_sides(few, lambda gain: below(gain, margin["little_nats"], NATS)),
        }
    )
    overlap = of_setting(rows, UNTRAINED)["shared_words_1"].mean()
    return replace(found, text=f"{found.text}; {overlap:.0%} of a query's content words are in its text{_beside(rows)}")


def autoencoder_embeds_no_better(evidence: "Evidence") -> Finding:
    """001-26: an encoder that gives its input back embeds no better for retrieval than an untrained mixer."""
    rows, margin = evidence.table("retrieval"), evidence.margin
    entropy, gap = by_side(rows, AUTOENCODER, "embedder_nats"), differences(rows, UNTRAINED, AUTOENCODER, "lowest_nats")
    limit, loss = margin["cross_entropy_nats"], margin["loss_nats"]
    return whole(
        {
            "(a) its own loss": _on_sides(entropy, lambda nats: below(nats, limit, "nats per token")),
            "(b) untrained minus autoencoder": _on_sides(gap, lambda nats: below(nats, loss, NATS)),
        }
    )


def bidirectional_transformer_fails(evidence: "Evidence") -> Finding:
    """001-27: a bidirectional transformer learns nothing as published, and mended; a query alters its scores."""
    rows, margin = evidence.table("retrieval"), evidence.margin["loss_nats"]
    return whole(
        {
            "(a) as published": _nowhere(rows, AS_PUBLISHED, margin),
            "(b) mended": _nowhere(rows, MENDED, margin),
            "(c) replacing the query, as published": _not_zero(evidence.table("query_effect")),
        }
    )


def tournament_grows(evidence: "Evidence") -> Finding:
    """001-30: do the passes of a tournament grow as n log n? Exact counts."""
    rows, slope = evidence.table("tournament_passes"), evidence.margin["slope_1"]
    rows = rows[rows["group"].eq(SMALL)].sort_values("texts")
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
    return Finding(verdict, mean, float(growth.min()), float(growth.max()), 1, "passes / n per factor of ten", text)


def shared_words(evidence: "Evidence") -> Finding:
    """001-own-5: is what an untrained transformer's embeddings give to retrieval owed to shared words?"""
    rows, margin = evidence.table("retrieval"), evidence.margin["gain_nats"]
    shared = gains(rows, UNTRAINED_TRANSFORMER)
    other = gains(rows, UNTRAINED_TRANSFORMER._replace(words=OTHER_WORDS))
    lost = {side: shared[side] - other[side] for side in shared if side in other}
    return _on_sides(lost, lambda nats: better(nats, margin, unit=NATS))


def training_embeds(evidence: "Evidence") -> Finding:
    """001-own-6: does training help retrieval where no content word is shared? Means over the text."""
    rows, margin = evidence.table("retrieval"), evidence.margin["loss_nats"]
    pairs = {"(a) mixer": (UNTRAINED, MIXER), "(b) transformer": (UNTRAINED_TRANSFORMER, TRANSFORMER)}
    other: dict[str, Any] = {"words": OTHER_WORDS, "position": "mean"}
    return whole(
        {
            name: _ahead(rows, untrained._replace(**other), trained._replace(**other), margin)
            for name, (untrained, trained) in pairs.items()
        }
    )


def information_is_there(evidence: "Evidence") -> Finding:
    """001-own-7: does a closed-form linear probe of both embeddings retrieve better than the trained matcher?"""
    rows, margin = evidence.table("retrieval"), evidence.margin["accuracy_1"]
    probes = evidence.table("embedding_probes").query("probe == 'both'").set_index("run")["top_1"]
    rows = rows.assign(lead_1=rows["run"].map(probes) - rows["top_1"])
    return whole(
        {
            f"{letter} {setting.embedder}": _on_sides(
                by_side(rows, setting._replace(position="mean"), "lead_1"),
                lambda lead: better(lead, margin, unit=SHARE),
            )
            for letter, setting in (("(a)", MIXER), ("(b)", TRANSFORMER))
        }
    )


def mean_embeds_better(evidence: "Evidence") -> Finding:
    """001-own-8: does the mean over a text's tokens embed better than its last one?"""
    rows, margin = evidence.table("retrieval"), evidence.margin["loss_nats"]
    return whole(
        {
            f"{letter} {setting.embedder}": _ahead(rows, setting, setting._replace(position="mean"), margin)
            for letter, setting in (("(a)", MIXER), ("(b)", TRANSFORMER))
        }
    )


def _nowhere(rows: pd.DataFrame, setting: Setting, margin: float) -> Finding:
    """Does a matcher learn nothing, before the end and, where that was run, from the mean over the text?"""
    found = {f"before the end, {side}": gain for side, gain in gains(rows, setting).items()}
    with suppress(NotPlannedError):
        found |= {f"mean, {side}": gain for side, gain in gains(rows, setting._replace(position="mean")).items()}
    return every({name: below(gain.to_numpy(), margin, NATS) for name, gain in found.items()})


def _on_sides(values: Mapping[str, pd.Series], rule: Callable[[Values], Finding]) -> Finding:
    """A rule on each padding side that was run: it must hold on all. NotPlannedError where there is none."""
    if not values:
        raise NotPlannedError("needs the same padding side in all of its settings, which is not planned")
    return every({f"{side} padding": rule(of_side.to_numpy()) for side, of_side in values.items()})


def _ahead(rows: pd.DataFrame, worse: Setting, good: Setting, margin: float) -> Finding:
    """Does `good` end lower than `worse` by more than `margin`? Lowest held-out losses, paired."""
    gaps = differences(rows, worse, good, "lowest_nats")
    return _on_sides(gaps, lambda gap: better(gap, margin, unit=NATS))


def _printed(evidence: "Evidence", losses: Mapping[str, tuple[Setting, str]], refuting: int = 1) -> Finding:
    """Printed losses beside ours, at the article's scale; padded on the right if planned, as its later code is."""
    found: dict[str, Values] | None = None
    if evidence.scale == PAPER_SCALE:
        rows = evidence.table("retrieval")
        sides = {key: by_side(rows, setting, column) for key, (setting, column) in losses.items()}
        found = {key: list(of_sides.values())[-1].to_numpy() for key, of_sides in sides.items()}
    return only_on_paper(evidence, found, refuting=refuting)


def _beside(rows: pd.DataFrame) -> str:
    """The untrained transformer's gain, where it was run."""
    try:
        found = {side: t_interval(gain.to_numpy()) for side, gain in gains(rows, UNTRAINED_TRANSFORMER).items()}
    except NotPlannedError:
        return ""
    said = ", ".join(f"{side} {gain.mean:.3g} [{gain.low:.3g}, {gain.high:.3g}]" for side, gain in found.items())
    return f"; chance minus the untrained transformer's at 32 (nats): {said}"


def _not_zero(rows: pd.DataFrame) -> Finding:
    """Exactly 0 in every seed refutes, a change in every seed supports."""
    changes = by_side(rows, AS_PUBLISHED, "own_change_1")
    values = np.concatenate([of_side.to_numpy() for of_side in changes.values()])
    n = min(len(of_side) for of_side in changes.values())
    verdict: Verdict = "undecided"
    if n >= FEWEST_SEEDS and (values == 0).all():
        verdict = "contradicted"
    elif n >= FEWEST_SEEDS and (values != 0).all():
        verdict = "reproduced"
    text = f"largest change of a query's scores when it is replaced: {values.max():.3g} in {len(values)} runs"
    return Finding(verdict, float(values.mean()), float(values.min()), float(values.max()), n, "logits", text)


TESTS = {
    "001-21": distances_are_poor,
    "001-22": mixer_embeds_better,
    "001-23": gap_widens,
    "001-24": transformer_teaches_nothing,
    "001-25": untrained_embeds_nothing,
    "001-26": autoencoder_embeds_no_better,
    "001-27": bidirectional_transformer_fails,
    "001-30": tournament_grows,
    "001-own-5": shared_words,
    "001-own-6": training_embeds,
    "001-own-7": information_is_there,
    "001-own-8": mean_embeds_better,
}
