"""The rules on which model embeds better for retrieval (001-22 to 001-26, own-5, -6, -8). The unit is the seed, in
nats.

If both padding sides were run, a rule must hold on both.
"""

from dataclasses import replace

import pandas as pd

from allmlp.judging.rules import NotPlannedError, judge_above, judge_all, judge_below, premise
from allmlp.judging.statistics import Finding, judge_better, t_interval
from allmlp.spec.protocols import Evidence
from allmlp.studies.mixers.matcher_settings import LARGE, OTHER_WORDS, Setting
from allmlp.studies.mixers.matching import POSITIONS, differences, gains, printed_settings, setting_rows, values_by_side
from allmlp.studies.mixers.verdicts.padding_sides import (
    AUTOENCODER,
    MIXER,
    NATS,
    TRANSFORMER,
    UNTRAINED,
    UNTRAINED_TRANSFORMER,
    add_truncation_note,
    judge_embedders,
    judge_learnt_sides,
    judge_sides,
    printed_losses,
    scale_settings,
    truncation_text,
)


def mixer_embeds_better(evidence: Evidence) -> Finding:
    """001-22: the matcher ends lower on a mixer's embeddings than on a transformer's, 32 at a time."""
    rows, margin = evidence.table("retrieval"), evidence.margin["loss_nats"]
    mixer, transformer = printed_settings(rows, *scale_settings(evidence, MIXER, TRANSFORMER))
    printed = {
        "mixer_test_loss_nats": (mixer, "lowest_nats"),
        "transformer_test_loss_nats": (transformer, "lowest_nats"),
    }
    parts = {
        "(a) transformer's minus mixer's": judge_embedders(rows, transformer, mixer, margin),
        "(b) printed test losses": printed_losses(evidence, printed),
    }
    return add_truncation_note(parts, rows, mixer, transformer)


def gap_widens(evidence: Evidence) -> Finding:
    """001-23: with 128 at a time the mixer's lead is larger, and the transformer's matcher overfits."""
    rows, margin = evidence.table("retrieval"), evidence.margin["loss_nats"]
    mixer, transformer = printed_settings(rows, *scale_settings(evidence, MIXER, TRANSFORMER))
    of_mixer, of_transformer = mixer._replace(context=LARGE), transformer._replace(context=LARGE)
    at_small = differences(rows, transformer, mixer, "lowest_nats")
    at_large = differences(rows, of_transformer, of_mixer, "lowest_nats")
    widening = {side: at_large[side] - at_small[side] for side in at_large if side in at_small}
    printed = {
        "mixer_test_loss_nats": (of_mixer, "lowest_nats"),
        "transformer_test_loss_nats": (of_transformer, "lowest_nats"),
        "transformer_last_test_loss_nats": (of_transformer, "last_nats"),
    }
    at_chance = gains(rows, of_mixer), gains(rows, of_transformer)
    parts = {
        "(a) the gap at 128 minus that at 32": judge_learnt_sides(
            widening, lambda gap: judge_better(gap, margin, unit=NATS), "contradicted", margin, *at_chance
        ),
        "(b) last minus lowest": _judge_overfitting(evidence, of_transformer, margin),
        "(c) printed test losses": printed_losses(evidence, printed, refuting=2),
    }
    return add_truncation_note(parts, rows, mixer, transformer, of_mixer, of_transformer)


def _judge_overfitting(evidence: Evidence, setting: Setting, margin: float) -> Finding:
    """Does the test loss of a setting's matchers rise again? Premise: every one left chance, and had its lowest test
    loss before the end of training, so that a rise could be seen."""
    rows = setting_rows(evidence.table("retrieval"), setting)
    rows = rows.assign(rise=rows["last_nats"] - rows["lowest_nats"])
    left = (rows["chance_nats"] - rows["lowest_nats"]).gt(margin)
    steps = rows["run"].map({run: evidence.content["runs"][run]["steps"] for run in rows["run"]})
    turned = rows["lowest_step"].le(evidence.margin["turned_share_1"] * steps)
    unmet = (
        f"{left.sum()} of {len(rows)} matchers come {margin:g} nats below chance, and the lowest test loss of "
        f"{turned.sum()} comes before the last {1 - evidence.margin['turned_share_1']:.0%} of their steps"
    )
    found = judge_sides(values_by_side(rows, setting, "rise"), lambda up: judge_above(up, margin, NATS))
    return premise(found, unmet, holds=bool(left.all() and turned.all()))


def transformer_teaches_nothing(evidence: Evidence) -> Finding:
    """001-24: nothing from the lowest-loss transformer, much from an equal mixer, more with more pairs."""
    rows, margin = evidence.table("retrieval"), evidence.margin["loss_nats"]
    mixer, transformer = scale_settings(evidence, MIXER, TRANSFORMER)
    other = {"at the end": TRANSFORMER._replace(position="last")}
    positions = {POSITIONS[transformer.position]: transformer}
    positions |= other if transformer == TRANSFORMER else {POSITIONS[TRANSFORMER.position]: TRANSFORMER}
    of_mixer = gains(rows, mixer)
    learnt = {
        name: judge_learnt_sides(
            gains(rows, setting), lambda gain: judge_below(gain, margin, NATS), "reproduced", margin, of_mixer
        )
        for name, setting in positions.items()
    }
    printed = {
        "mixer_test_loss_nats": (mixer._replace(fewer=True), "lowest_nats"),
        "mixer_550k_test_loss_nats": (mixer, "lowest_nats"),
        "mixer_550k_c128_test_loss_nats": (mixer._replace(context=LARGE), "lowest_nats"),
    }
    parts = {
        "(a) chance minus the transformer's": judge_all(learnt),
        "(b) transformer's minus mixer's": judge_embedders(rows, transformer, mixer, margin),
        "(c) mixer's, fewer minus more pairs": judge_embedders(rows, mixer._replace(fewer=True), mixer, margin),
        "(d) printed test losses": printed_losses(evidence, printed, refuting=2),
    }
    return add_truncation_note(parts, rows, mixer, *positions.values())


def untrained_embeds_nothing(evidence: Evidence) -> Finding:
    """001-25: an untrained mixer's embeddings teach nothing at 128 and little at 32."""
    rows, margin = evidence.table("retrieval"), evidence.margin
    untrained, mixer, transformer = scale_settings(evidence, UNTRAINED, MIXER, UNTRAINED_TRANSFORMER)
    many, few = gains(rows, untrained._replace(context=LARGE)), gains(rows, untrained)
    trained = gains(rows, mixer._replace(context=LARGE)), gains(rows, mixer)
    none_nats, little_nats = margin["none_nats"], margin["little_nats"]
    none = judge_learnt_sides(
        many, lambda gain: judge_below(gain, none_nats, NATS), "reproduced", none_nats, trained[0]
    )
    little = judge_learnt_sides(
        few, lambda gain: judge_below(gain, little_nats, NATS), "reproduced", little_nats, trained[1]
    )
    overlap = setting_rows(rows, untrained)["shared_words_1"].mean()
    gain = _untrained_gain(rows, transformer)
    said = f"{overlap:.0%} of a query's content words are in its text, of both what is read{gain}"
    parts = {"(a) nothing at 128": none, "(b) little at 32": replace(little, text=f"{little.text}; {said}")}
    return add_truncation_note(parts, rows, untrained._replace(context=LARGE), untrained)


def autoencoder_embeds_no_better(evidence: Evidence) -> Finding:
    """001-26: an autoencoder embeds no better for retrieval than an untrained mixer."""
    rows, margin = evidence.table("retrieval"), evidence.margin
    untrained, autoencoder = scale_settings(evidence, UNTRAINED, AUTOENCODER)
    entropy, gap = (
        values_by_side(rows, autoencoder, "embedder_nats"),
        differences(rows, untrained, autoencoder, "lowest_nats"),
    )
    limit, loss = margin["cross_entropy_nats"], margin["loss_nats"]
    of = gains(rows, untrained), gains(rows, autoencoder)
    own = judge_sides(entropy, lambda nats: judge_below(nats, limit, "nats per token"))
    better_embedder = judge_learnt_sides(gap, lambda nats: judge_below(nats, loss, NATS), "reproduced", loss, *of)
    unmet = f"the autoencoder ends at {own.value:.3g} nats per token and is not shown to be below {limit:g}"
    parts = {
        "(a) its own loss": own,
        "(b) untrained minus autoencoder": premise(better_embedder, unmet, holds=own.verdict == "reproduced"),
    }
    return add_truncation_note(parts, rows, untrained, autoencoder)


def shared_words(evidence: Evidence) -> Finding:
    """001-own-5: do an untrained transformer's embeddings help retrieval only through shared words?"""
    rows, margin = evidence.table("retrieval"), evidence.margin["gain_nats"]
    settings = UNTRAINED_TRANSFORMER, UNTRAINED_TRANSFORMER._replace(words=OTHER_WORDS)
    shared, other = (gains(rows, setting) for setting in settings)
    lost = {side: shared[side] - other[side] for side in shared if side in other}
    found = judge_learnt_sides(
        lost, lambda nats: judge_better(nats, margin, unit=NATS), "contradicted", margin, shared, other
    )
    return replace(found, text=f"{found.text}; {truncation_text(rows, *settings)}")


def training_embeds(evidence: Evidence) -> Finding:
    """001-own-6: does training help retrieval where no content word is shared? Means over the text."""
    rows, margin = evidence.table("retrieval"), evidence.margin["loss_nats"]
    settings = [
        setting._replace(words=OTHER_WORDS, position="mean")
        for setting in (UNTRAINED, MIXER, UNTRAINED_TRANSFORMER, TRANSFORMER)
    ]
    untrained, trained, untrained_transformer, transformer = settings
    parts = {
        "(a) mixer": judge_embedders(rows, untrained, trained, margin),
        "(b) transformer": judge_embedders(rows, untrained_transformer, transformer, margin),
    }
    return add_truncation_note(parts, rows, *settings)


def mean_embeds_better(evidence: Evidence) -> Finding:
    """001-own-8: does the mean over a text's tokens embed better than its last one?"""
    rows, margin = evidence.table("retrieval"), evidence.margin["loss_nats"]
    parts = {
        f"{letter} {setting.embedder}": judge_embedders(rows, setting, setting._replace(position="mean"), margin)
        for letter, setting in (("(a)", MIXER), ("(b)", TRANSFORMER))
    }
    return add_truncation_note(parts, rows, MIXER, TRANSFORMER)


def _untrained_gain(rows: pd.DataFrame, transformer: Setting) -> str:
    """The untrained transformer's gain, if it was run."""
    try:
        found = {side: t_interval(gain.to_numpy()) for side, gain in gains(rows, transformer).items()}
    except NotPlannedError:
        return ""
    said = ", ".join(
        f"{side} {gain.mean:.3g}" + (f" [{gain.low:.3g}, {gain.high:.3g}]" if gain.n > 1 else "")
        for side, gain in found.items()
    )
    return f"; chance minus the untrained transformer's at 32 (nats): {said}"
