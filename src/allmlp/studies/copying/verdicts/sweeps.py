"""Sizes, learning rates, heads, and where CausalRN is faster (002-10, own-1). The unit is the seed."""

from dataclasses import replace

import numpy as np
import pandas as pd

from allmlp.judging.evidence_summary import Rule
from allmlp.judging.multiplicity import require_all_parts
from allmlp.judging.rules import (
    judge_all,
    judge_below,
    judge_best,
    judge_exact,
    part_rows,
    require_models,
    undecided_finding,
    withhold_verdict,
)
from allmlp.judging.statistics import (
    Finding,
    make_finding,
    p_share_above,
    p_share_below,
    share_interval,
)
from allmlp.spec import labels
from allmlp.spec.protocols import Evidence
from allmlp.studies.copying.parts import one_head_rows
from allmlp.studies.copying.verdicts.common import judge_faster

CELL = ["d_model", "n_blocks", "learning_rate"]
TWO = {"causal-rn": "causal_rn", "transformer": "transformer"}  # architecture -> its name in the paper's values


def sizes_and_sweeps(evidence: Evidence) -> Finding:
    """002-10: parameter counts, perfect copies, the best learning rates and number of heads."""
    require_models(evidence, "falls", TWO)
    rows, paper, margin = evidence.table("falls"), evidence.paper, evidence.margin
    sweep, compared = part_rows(rows, "sweep"), part_rows(rows, "comparison")
    perfect = {model: _judge_perfect(compared[compared["model"] == model], margin) for model in TWO}
    speed = margin["speed_log2"]
    rates = {
        model: _judge_order(sweep[sweep["model"] == model], "learning_rate", paper[f"best_rate_{name}_1"], speed)
        for model, name in TWO.items()
    }
    return require_all_parts(
        {
            "(a) parameter counts": _judge_counts(evidence.table("parameter_counts"), paper, margin["count_millions"]),
            "(b) copies without an error": judge_all(perfect),
            "(c) best learning rates": judge_all(rates),
            "(d) one head is best": _judge_order(one_head_rows(rows), "n_heads", paper["best_heads_count"], speed),
        }
    )


def faster_somewhere(evidence: Evidence) -> Finding:
    """002-own-1: does CausalRN lead in some cell of the grid, and the Transformer in some other?"""
    rows = part_rows(evidence.table("falls"), "grid")
    speed = evidence.margin["speed_log2"]
    return require_all_parts(
        {
            "(a) CausalRN leads somewhere": _judge_best_cell(rows, "causal-rn", "transformer", speed),
            "(b) the Transformer leads somewhere": _judge_best_cell(rows, "transformer", "causal-rn", speed),
        }
    )


def _judge_best_cell(rows: pd.DataFrame, fast: str, slow: str, margin: float) -> Finding:
    """The cell with the best case for `fast`, after Bonferroni's correction over the cells."""
    cells = {
        ", ".join(f"{labels.find_label(name).words} {value:g}" for name, value in zip(CELL, cell, strict=True)): of_cell
        for cell, of_cell in rows.groupby(CELL)
    }
    level = 1 - 0.05 / len(cells)
    found = {at: judge_faster(of_cell, fast, slow, margin, level=level) for at, of_cell in cells.items()}
    leads = [at for at, finding in found.items() if finding.verdict == "reproduced"]
    best = max(leads or found, key=lambda at: found[at].low)
    text = f"in {len(leads)} of {len(cells)} cells; the clearest, {best}: {found[best].text}"
    return judge_best(found, best, text)


def _judge_counts(rows: pd.DataFrame, paper: dict[str, float], margin: float) -> Finding:
    """Do the counts of blocks and head round to the paper's?"""
    counts = rows.drop_duplicates("model").set_index("model")["blocks_and_head"]
    here = {f"{name}_parameters_millions": counts[model] / 1e6 for model, name in TWO.items()}
    worst = max(abs(value - paper[key]) for key, value in here.items())
    text = ", ".join(f"{model} {counts[model]:,}" for model in TWO)
    found = judge_exact(worst <= margin, worst, "millions from the paper's", text, rows["seed"].nunique())
    return replace(found, here=here)


def _judge_perfect(rows: pd.DataFrame, margin: dict[str, float]) -> Finding:
    """Did every seed, at each string length, have a batch of new strings without an error?"""
    perfect = rows.groupby("seed")["perfect"].all()
    k, n, limit = int(perfect.sum()), len(perfect), margin["reached_share_1"]
    rule, p, p_against = Rule("all", limit, limit), p_share_above(k, n, limit), p_share_below(k, n, limit)
    text = f"{k} of {n} seeds"
    return make_finding(rule, perfect.to_numpy(), share_interval(k, n), "share of seeds", text, p, p_against)


def _judge_order(rows: pd.DataFrame, by: str, claimed: float, margin: float) -> Finding:
    """Does `claimed` take at most `margin` (log2) more steps to half the plateau than each other value?

    A run that does not get there counts with its budget, which is too few steps: `claimed` is then not shown to be
    best.
    """
    steps = rows.pivot(index="seed", columns=by, values="to_half_steps").clip(lower=1).apply(np.log2)
    words = labels.find_label(by).words
    if claimed not in steps:
        tried = ", ".join(f"{value:g}" for value in steps)
        return undecided_finding(f"{words} {claimed:g} was not tried, but {tried}", len(steps), "log2")
    found = {
        f"{claimed:g} against {value:g}": judge_below(
            (steps[claimed] - steps[value]).to_numpy(), margin, "log2 of steps"
        )
        for value in steps
        if value != claimed
    }
    together = judge_all(found)
    censored = not rows[rows[by].to_numpy() == claimed]["fell_to_half"].all()
    together = replace(together, text=f"{words}: {together.text}")
    return withhold_verdict(together, "reproduced", f"{claimed:g} is censored", when=censored)
