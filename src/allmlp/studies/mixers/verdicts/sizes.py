"""Which width is best, and whether width or depth matters (001-5, -6, -12). The unit is the seed."""

from functools import partial

import numpy as np
import pandas as pd

from allmlp.judging.rules import judge_best, undecided_finding
from allmlp.judging.statistics import Finding, Values, judge_better
from allmlp.spec.protocols import Evidence
from allmlp.studies.mixers import budgets
from allmlp.studies.mixers.budgets import BENCHMARKED
from allmlp.studies.mixers.names import BASE, FLAT
from allmlp.studies.mixers.parts import deepest_rows, model_rows, widths
from allmlp.studies.mixers.verdicts.common import (
    NATS,
    TIMED,
    judge_all_behind,
    judge_at_paper_size,
    judge_parts,
    last_losses,
    trainings,
)
from allmlp.studies.mixers.verdicts.expansion import MANY_HEADS

BEST_LLAMA, BEST_FLAT = 512, 1024  # the widths that the article finds best
BESIDE_LLAMA = (128, 256, 1024)  # the article's other widths of Llamas
BESIDE_FLAT = (256, 2048)  # the article's next smaller and next larger widths of flat mixers
ANOTHER_RUN = 128  # the width of two printed losses that are not those of the Llama compared (E001-3)
SMALLEST_LLAMA = 32  # 16 heads need two features each
EIGHTH = 8  # at the scale `long` all widths are an eighth of the article's, with a unit of time to match


def best_llama(evidence: Evidence) -> Finding:
    """001-5: the printed losses of Llamas with 16 heads, and is width 512 the best at equal time?"""
    rows = trainings(evidence)
    of_width = widths(rows, MANY_HEADS)
    printed: dict[str, Values] = {}
    for width, of_one in of_width.items():
        printed |= {key.replace("loss", f"loss_d{width}"): values for key, values in last_losses(of_one, "").items()}
    of_another_run = f"d{ANOTHER_RUN}_nats"
    known = {key: of for key, of in printed.items() if key in evidence.paper and not key.endswith(of_another_run)}
    best, *others = _paper_widths(evidence, BEST_LLAMA, *BESIDE_LLAMA)
    others = [width for width in others if width >= SMALLEST_LLAMA]
    return judge_parts(
        {
            "(a) printed losses": partial(judge_at_paper_size, evidence, known or None, refuting=2),
            f"(b) width {best:,} is best {TIMED}": partial(_judge_best_width, evidence, rows, of_width, best, others),
        },
        rows,
    )


def flat_against_llama(evidence: Evidence) -> Finding:
    """001-6: at equal time the best flat mixer beats the best Llama with 16 heads, and width 1,024 is its best."""
    rows, margin = trainings(evidence), evidence.margin
    flat, llama = widths(rows, FLAT), widths(rows, MANY_HEADS)
    best, *others = _paper_widths(evidence, BEST_FLAT, *BESIDE_FLAT)

    def behind() -> Finding:
        amount = unit_of_time(evidence, rows, [*flat.values(), *llama.values()])
        flats, llamas = (
            {width: budgets.loss_at_amount(of_one, "seconds", amount) for width, of_one in of_width.items()}
            for of_width in (flat, llama)
        )
        losers, level = {_width_name(width): losses for width, losses in llamas.items()}, 1 - 0.05 / len(flats)
        ahead = {
            _width_name(width): judge_all_behind(losers, losses, margin["loss_nats"], level)
            for width, losses in flats.items()
        }
        best = max(ahead, key=lambda name: ahead[name].low)
        return judge_best(ahead, best, f"the flat mixer of {best} against Llamas of {ahead[best].text}")

    return judge_parts(
        {
            "(a) printed losses": partial(
                judge_at_paper_size, evidence, _flat_losses(rows, flat), tolerated=1, refuting=3
            ),
            f"(b) best Llama behind best flat mixer {TIMED}": behind,
            f"(c) width {best:,} is the flat mixer's best {TIMED}": partial(
                _judge_best_width, evidence, rows, flat, best, others
            ),
        },
        rows,
    )


def width_against_depth(evidence: Evidence) -> Finding:
    """001-12: a deep and narrow flat mixer ends far behind a wide and shallow one."""
    rows = trainings(evidence)
    deep, wide = deepest_rows(rows, FLAT), _wide_rows(rows, *_paper_widths(evidence, BEST_FLAT))
    losses: dict[str, Values] = {
        "deep_validation_loss_nats": budgets.ends(deep).to_numpy(),
        "wide_validation_loss_nats": budgets.ends(wide).to_numpy(),
    }
    sizes = " against ".join(
        f"{int(one['n_blocks'].iloc[0])} blocks of width {int(one['d_model'].iloc[0])}" for one in (deep, wide)
    )

    def gap() -> np.ndarray:
        amount = unit_of_time(evidence, rows, [deep, wide])
        return budgets.paired_differences(
            *(budgets.loss_at_amount(one, "seconds", amount) for one in (deep, wide))
        ).to_numpy()

    return judge_parts(
        {
            f"(a) {sizes}, {TIMED}": lambda: judge_better(gap(), evidence.margin["gap_nats"], unit=NATS),
            "(b) printed losses": partial(judge_at_paper_size, evidence, losses),
        },
        rows,
    )


def _paper_widths(evidence: Evidence, *printed: int) -> tuple[int, ...]:
    """The article's widths at this scale."""
    return tuple(width // EIGHTH for width in printed) if evidence.scale == BENCHMARKED else printed


def unit_of_time(evidence: Evidence, rows: pd.DataFrame, of_models: list[pd.DataFrame]) -> float:
    """The seconds that all of these models have trained: at the scale `long` at most the scaled-down unit of the
    article.

    This unit is the time of `long_unit_steps` steps of the 16-headed Llama of the study's width.
    """
    amount = budgets.budget(of_models, "seconds")
    if evidence.scale != BENCHMARKED:
        return amount
    llama = model_rows(rows, MANY_HEADS)
    per_step = (llama["seconds"] / llama["step"]).median()
    return min(amount, evidence.margin["long_unit_steps"] * float(per_step))


def _wide_rows(rows: pd.DataFrame, best: int) -> pd.DataFrame:
    """The flat mixer of the claim's width, with its largest batch; the widest if that is not planned."""
    of_width = widths(rows, FLAT)
    if best not in of_width:
        return of_width[max(of_width)]
    depth = rows.loc[rows["size"].eq(BASE), "n_blocks"]
    found = model_rows(rows, FLAT, size=None)
    found = found[found["d_model"].eq(best) & found["n_blocks"].isin(depth)]
    return found[found["batch_size"].eq(found["batch_size"].max())]


def _judge_best_width(
    evidence: Evidence, rows: pd.DataFrame, of_width: dict[int, pd.DataFrame], best: int, others: list[int]
) -> Finding:
    """Is width `best` ahead of each other one at equal time?"""
    if missing := [width for width in (best, *others) if width not in of_width]:
        needed = " and ".join(f"{width:,}" for width in missing)
        return undecided_finding(f"not judged: needs width {needed}, which this scale does not plan")
    amount = unit_of_time(evidence, rows, [of_width[width] for width in (best, *others)])
    losses = {width: budgets.loss_at_amount(of_width[width], "seconds", amount) for width in (best, *others)}
    beside = {_width_name(width): losses[width] for width in others}
    return judge_all_behind(beside, losses[best], evidence.margin["loss_nats"])


def _width_name(width: int) -> str:
    return f"width {width:,}"


def _flat_losses(rows: pd.DataFrame, of_width: dict[int, pd.DataFrame]) -> dict[str, Values] | None:
    """The ten printed losses of flat mixers: five widths or batch sizes; None if one of them is not planned."""
    found = model_rows(rows, FLAT, size=None)
    wide = found[found["d_model"].eq(BEST_FLAT)]
    sizes = {f"d{width}": of_width.get(width) for width in (256, 512, BEST_FLAT, 2048)}
    sizes[f"d{BEST_FLAT}_b32"] = wide[wide["batch_size"].eq(32)]
    if any(of_one is None or of_one.empty for of_one in sizes.values()):
        return None
    return {
        f"{name}_loss_{size}_nats": budgets.ends(of_one, column).to_numpy()
        for size, of_one in sizes.items()
        if of_one is not None
        for name, column in (("train", "train_nats"), ("validation", "validation_nats"))
    }
