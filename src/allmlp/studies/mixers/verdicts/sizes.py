"""Flat and expanded mixers and Llamas of several sizes (001-3 to 001-8, 001-12, 001-31). The unit is the seed."""

import math
from typing import TYPE_CHECKING

import numpy as np
import pandas as pd

from allmlp.report.multiplicity import whole
from allmlp.report.statistics import Finding, Values, better, equal
from allmlp.studies.mixers import budgets
from allmlp.studies.mixers.parts import EXPANDED, FLAT, deepest, of_model, of_part, widths, with_half_the_width
from allmlp.studies.mixers.verdicts.common import (
    NATS,
    PAPER_SCALE,
    both,
    not_judged,
    only_on_paper,
    smallest,
    trainings,
    within,
)

if TYPE_CHECKING:
    from allmlp.report.evidence import Evidence

MANY_HEADS = "llama-16"
OF_EXPANDED = 256  # width of the expanded mixer whose losses the article's training section prints
BEST_LLAMA, BEST_FLAT = 512, 1024  # the widths that the article finds best
BESIDE_BEST = (256, 2048)  # of flat mixers: the next smaller one that it tries, and the next larger one


def expanded_mixer(evidence: "Evidence") -> Finding:
    """001-3: do the expanded mixer's last losses agree with the printed ones?"""
    mixer = widths(trainings(evidence), EXPANDED).get(OF_EXPANDED)
    return only_on_paper(evidence, None if mixer is None else both(mixer, ""))


def llama_of_half_the_width(evidence: "Evidence") -> Finding:
    """001-4: printed losses; beside the expanded mixer alike at equal steps, worse at equal time, larger in memory."""
    rows, margin = trainings(evidence), evidence.margin
    mixer, llama = with_half_the_width(rows, EXPANDED, MANY_HEADS)
    at_steps = min(evidence.paper["equal_steps"], budgets.budget([mixer, llama], "steps"))
    alike = budgets.at(llama, "steps", at_steps) - budgets.at(mixer, "steps", at_steps)
    memory = evidence.table("training_memory").set_index(["run"])["peak_bytes"]
    return whole(
        {
            "(a) Llama's printed losses": only_on_paper(evidence, both(llama, "")),
            "(b) alike at equal steps": equal(alike.to_numpy(), margin["loss_nats"], unit=NATS),
            "(c) Llama behind at equal time": better(
                budgets.compared(llama, mixer, "seconds"), margin["loss_nats"], unit=NATS
            ),
            "(d) Llama's memory over the mixer's": better(
                (_of_seed(memory, llama) / _of_seed(memory, mixer)).to_numpy(), margin["memory_ratio_1"]
            ),
        }
    )


def best_llama(evidence: "Evidence") -> Finding:
    """001-5: the printed losses of Llamas with 16 heads, and is width 512 the best at equal time?"""
    of_width = widths(trainings(evidence), MANY_HEADS)
    printed: dict[str, Values] = {}
    for width, rows in of_width.items():
        printed |= {key.replace("loss", f"loss_d{width}"): values for key, values in both(rows, "").items()}
    known = {key: values for key, values in printed.items() if key in evidence.paper}
    lead = _lead_of(of_width, BEST_LLAMA, tuple(sorted(set(of_width) - {BEST_LLAMA})))
    return whole(
        {
            "(a) printed losses": only_on_paper(evidence, known or None, refuting=2),
            "(b) width 512 is best": _better_if_any(lead, evidence.margin["loss_nats"], f"width {BEST_LLAMA}"),
        }
    )


def flat_against_llama(evidence: "Evidence") -> Finding:
    """001-6: at equal time the best flat mixer beats the best Llama with 16 heads, and width 1,024 is its best."""
    rows, margin = trainings(evidence), evidence.margin
    flat, llama = widths(rows, FLAT), widths(rows, MANY_HEADS)
    amount = budgets.budget([*flat.values(), *llama.values()], "seconds")
    best = {
        name: smallest({str(width): budgets.at(of_one, "seconds", amount) for width, of_one in of_width.items()})
        for name, of_width in (("flat", flat), ("llama", llama))
    }
    return whole(
        {
            "(a) printed losses": only_on_paper(evidence, _flat_losses(rows, flat), tolerated=1, refuting=3),
            "(b) best Llama behind best flat mixer": better(
                (best["llama"] - best["flat"]).to_numpy(), margin["loss_nats"], unit=NATS
            ),
            "(c) width 1,024 is the flat mixer's best": _better_if_any(
                _lead_of(flat, BEST_FLAT, BESIDE_BEST), margin["loss_nats"], f"widths {BEST_FLAT} and {BESIDE_BEST}"
            ),
        }
    )


def flat_against_expanded(evidence: "Evidence") -> Finding:
    """001-7: the flat mixer beats the expanded one of the same width at equal time, at every width."""
    rows = trainings(evidence)
    flat, expanded = widths(rows, FLAT), widths(rows, EXPANDED)
    leads = {
        str(width): pd.Series(budgets.compared(expanded[width], flat[width], "seconds"))
        for width in sorted(set(flat) & set(expanded))
    }
    losses = {
        key.replace("loss", f"loss_d{width}"): values
        for width, of_width in expanded.items()
        for key, values in both(of_width, "").items()
    }
    known = {key: values for key, values in losses.items() if key in evidence.paper}
    return whole(
        {
            f"(a) flat ahead at equal time, widths {', '.join(leads)}": better(
                smallest(leads).to_numpy(), evidence.margin["loss_nats"], unit=NATS
            ),
            "(b) printed losses": only_on_paper(evidence, known or None, refuting=2),
        }
    )


def expanded_at_equal_samples(evidence: "Evidence") -> Finding:
    """001-8: the flat mixer is ahead after the same samples, too, and the expanded one 20 to 50 % slower."""
    rows, margin = trainings(evidence), evidence.margin
    flat, expanded = of_model(rows, FLAT), of_model(rows, EXPANDED)
    slower = 1 - _seconds_per_step(flat) / _seconds_per_step(expanded)
    share = within(slower.to_numpy(), margin["slower_low_share_1"], margin["slower_high_share_1"], "of the throughput")
    losses = {**both(expanded, "expanded_"), **both(flat, "flat_")}
    return whole(
        {
            "(a) flat ahead at equal samples": better(
                budgets.compared(expanded, flat, "steps"), margin["loss_nats"], unit=NATS
            ),
            "(b) throughput lost by expansion": share,
            "(c) printed losses": only_on_paper(evidence, losses, refuting=2),
        }
    )


def width_against_depth(evidence: "Evidence") -> Finding:
    """001-12: a deep and narrow flat mixer ends far behind a wide and shallow one."""
    rows = trainings(evidence)
    deep, wide = deepest(rows, FLAT), _widest(rows, evidence.scale)
    losses: dict[str, Values] = {
        "deep_validation_loss_nats": budgets.ends(deep).to_numpy(),
        "wide_validation_loss_nats": budgets.ends(wide).to_numpy(),
    }
    sizes = " against ".join(
        f"{int(one['n_blocks'].iloc[0])} blocks of width {int(one['d_model'].iloc[0])}" for one in (deep, wide)
    )
    return whole(
        {
            f"(a) {sizes}, at equal time": better(
                budgets.compared(deep, wide, "seconds"), evidence.margin["gap_nats"], unit=NATS
            ),
            "(b) printed losses": only_on_paper(evidence, losses),
        }
    )


def speed(evidence: "Evidence") -> Finding:
    """001-31: seconds per step of a Llama of half the width over those of the expanded mixer."""
    rows, margin = of_part(evidence.table("learning_curve"), "training"), evidence.margin
    mixer, llama = with_half_the_width(rows, EXPANDED, MANY_HEADS)
    ratio = np.log((_seconds_per_step(llama) / _seconds_per_step(mixer)).to_numpy(dtype=float))
    claimed, factor = evidence.paper["speed_ratio_1"], margin["factor_1"]
    limits = {
        "(a) 10 to 20 times": (margin["speed_low_ratio_1"], margin["speed_high_ratio_1"]),
        "(b) about six times": (claimed / factor, claimed * factor),
    }
    unit = "log of the ratio of seconds per step"
    parts = {name: within(ratio, math.log(low), math.log(high), unit) for name, (low, high) in limits.items()}
    return whole(parts)


def _of_seed(per_run: pd.Series, rows: pd.DataFrame) -> pd.Series:
    runs = rows.drop_duplicates("run").set_index("seed")["run"]
    return runs.map(per_run).sort_index()


def _seconds_per_step(rows: pd.DataFrame) -> pd.Series:
    return rows.drop_duplicates("run").set_index("seed")["seconds_per_step"].sort_index()


def _widest(rows: pd.DataFrame, scale: str) -> pd.DataFrame:
    """The widest flat mixer of the study's depth; at the article's size the one whose loss it prints, of batch 32."""
    of_width = widths(rows, FLAT)
    if scale != PAPER_SCALE:
        return of_width[max(of_width)]
    found = of_model(rows, FLAT, size=None)
    found = found[found["d_model"].eq(BEST_FLAT)]
    return found[found["batch_size"].eq(found["batch_size"].max())]


def _lead_of(of_width: dict[int, pd.DataFrame], best: int, others: tuple[int, ...]) -> pd.Series | None:
    """Per seed at equal time, the smallest loss of the other widths minus that of the best; None where one lacks."""
    if best not in of_width or not others or not set(others) <= set(of_width):
        return None
    amount = budgets.budget([of_width[width] for width in (best, *others)], "seconds")
    losses = {width: budgets.at(of_width[width], "seconds", amount) for width in (best, *others)}
    return smallest({str(width): losses[width] for width in others}) - losses[best]


def _better_if_any(lead: pd.Series | None, margin: float, needed: str) -> Finding:
    if lead is None:
        return not_judged(f"not all of {needed} and the widths beside are planned at this scale")
    return better(lead.to_numpy(), margin, unit=NATS)


def _flat_losses(rows: pd.DataFrame, of_width: dict[int, pd.DataFrame]) -> dict[str, Values] | None:
    """The ten printed losses of flat mixers: five widths or batch sizes; None where one of them is not planned."""
    found = of_model(rows, FLAT, size=None)
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
