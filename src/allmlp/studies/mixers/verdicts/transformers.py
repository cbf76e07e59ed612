"""Llamas with fewer heads and larger rates, the early GPT, and where a Llama overtakes the flat mixer.

001-15, -16, -20, 001-own-12. The unit is the seed.
"""

from dataclasses import replace
from functools import partial

import pandas as pd

from allmlp.judging.rules import NotPlannedError, judge_all, part_rows, undecided_finding
from allmlp.judging.statistics import Finding, Values, judge_better
from allmlp.report.names import display
from allmlp.spec.protocols import Evidence
from allmlp.studies.mixers import budgets
from allmlp.studies.mixers.courses import curves
from allmlp.studies.mixers.names import FLAT, LLAMA, TRAINING
from allmlp.studies.mixers.parts import model_rows
from allmlp.studies.mixers.verdicts import common
from allmlp.studies.shared.crossing import compare
from allmlp.studies.shared.crossing_rule import judge_lead_change

HEADS = (16, 8, 4, 2)
RATES = {"": "llama-4-v100", "large_rate_": "llama-4-v100-large-rate", "b32_": "llama-4-v100-b32"}  # worst loss first
GPT = "gpt-"  # with its number of heads


def heads(evidence: Evidence) -> Finding:
    """001-15: fewer heads are better in the same time, more heads at the same samples."""
    rows, margin = common.trainings(evidence), evidence.margin["loss_nats"]
    two, four, sixteen = (model_rows(rows, f"llama-{count}") for count in (2, 4, 16))
    losses: dict[str, Values] = {}
    for count in HEADS if evidence.scale == common.PAPER_SCALE else ():
        printed_of = common.last_losses(model_rows(rows, f"llama-{count}"), "")
        losses |= {key.replace("loss", f"loss_h{count}"): values for key, values in printed_of.items()}
    return common.judge_parts(
        {
            "(a) 16 heads behind 4 at equal time": partial(common.judge_behind, sixteen, four, "seconds", margin),
            "(b) 2 heads behind 16 at equal samples": partial(common.judge_behind, two, sixteen, "steps", margin),
            "(c) printed losses": partial(common.judge_at_paper_size, evidence, losses, refuting=2),
        },
        rows,
    )


def three_settings(evidence: Evidence) -> Finding:
    """001-16: the printed losses of three settings of one Llama, and their order."""
    rows = common.trainings(evidence)
    if evidence.scale != common.PAPER_SCALE:
        raise NotPlannedError("needs the three settings of the article's four V100, which are not planned")
    found = {prefix: model_rows(rows, name) for prefix, name in RATES.items()}
    losses: dict[str, Values] = {}
    for prefix, of_one in found.items():
        losses |= common.last_losses(of_one, prefix)
    first, second, third = (budgets.ends(of_one) for of_one in found.values())
    return judge_all(
        {
            "printed losses": common.judge_printed(evidence, losses, refuting=2),
            "a larger rate is better": judge_better(
                budgets.paired_differences(first, second).to_numpy(), 0.0, unit=common.NATS
            ),
            "larger batches are better still": judge_better(
                budgets.paired_differences(second, third).to_numpy(), 0.0, unit=common.NATS
            ),
        }
    )


def early_gpt(evidence: Evidence) -> Finding:
    """001-20: the mixer is far ahead of an early GPT at equal time, its number of heads tuned."""
    rows, margin = common.trainings(evidence), evidence.margin["gap_nats"]
    names = sorted(name for name in rows["variant"].unique() if name.startswith(GPT))
    if not names:
        raise NotPlannedError("needs the early GPT, which is not planned")
    gpts, mixer = {name: model_rows(rows, name) for name in names}, model_rows(rows, FLAT)

    def all_behind() -> Finding:
        amount = budgets.budget([mixer, *gpts.values()], "seconds")
        losses = {display(name): budgets.loss_at_amount(of_one, "seconds", amount) for name, of_one in gpts.items()}
        lead = common.judge_all_behind(losses, budgets.loss_at_amount(mixer, "seconds", amount), margin)
        return replace(lead, text=f"{lead.text}{_dropout(evidence)}")

    both = ", each of them," if len(names) > 1 else ""
    return common.judge_parts(
        {
            f"(a) {' and '.join(map(display, names))}{both} behind at equal time": all_behind,
            "(b) printed losses": partial(_judge_printed, evidence, gpts, mixer),
        },
        rows,
    )


def _judge_printed(evidence: Evidence, gpts: dict[str, pd.DataFrame], mixer: pd.DataFrame) -> Finding:
    """The early GPT with the most heads represents the article's default, the best one its tuned model."""
    if len(gpts) < 2:
        return undecided_finding("not judged: needs the early GPT with two numbers of heads, which are not planned")
    tuned = min(gpts, key=lambda name: budgets.ends(gpts[name]).mean())
    default = max((name for name in gpts if name != tuned), key=lambda name: int(name.removeprefix(GPT)))
    losses = (
        common.last_losses(gpts[default], "gpt_")
        | common.last_losses(gpts[tuned], "gpt_tuned_")
        | common.last_losses(mixer, "mixer_")
    )
    return common.judge_at_paper_size(evidence, losses, refuting=2)


def _dropout(evidence: Evidence) -> str:
    """The effect of dropout on the training loss (E001-8)."""
    rows = part_rows(evidence.table("dropout"), "training")
    means = rows[["with_dropout_nats", "without_dropout_nats", "validation_nats"]].mean()
    return (
        f"; the GPT's loss on its last training batches is {means.iloc[0]:.3g} with dropout and {means.iloc[1]:.3g} "
        f"without, on held-out documents {means.iloc[2]:.3g} (E001-8)"
    )


def lead_changes_hands(evidence: Evidence) -> Finding:
    """001-own-12: the flat mixer leads at the fewest operations, the Llama at the most, and the lead changes once."""
    rows, margin = part_rows(evidence.table("learning_curve"), TRAINING), evidence.margin
    mixer, llama = (curves(model_rows(rows, name)) for name in (FLAT, LLAMA))
    names = "the flat mixer", "the Llama with 4 heads"
    return judge_lead_change(
        compare(mixer, llama), *names, margin=margin["loss_nats"], factor=margin["interval_factor_1"]
    )
