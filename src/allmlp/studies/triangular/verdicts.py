"""The rules of claims.yaml as tests: measurements of study 004 -> findings. The unit is the seed."""

import math
from dataclasses import replace
from itertools import combinations

import numpy as np
import pandas as pd

from allmlp.judging.multiplicity import require_all_parts
from allmlp.judging.rules import (
    NotPlannedError,
    judge_above,
    judge_all,
    judge_below,
    judge_exact,
    judge_machines,
    part_rows,
    premise,
    undecided_finding,
)
from allmlp.judging.statistics import FEWEST_SEEDS, Finding, Verdict, judge_better, judge_equal
from allmlp.spec.protocols import Evidence
from allmlp.studies.triangular.early_steps import early_nats
from allmlp.studies.triangular.paper_numbers import OF_THE_PAPER, READING
from allmlp.studies.triangular.parts import (
    ALONE_AS_LONG,
    COMPARISON,
    FINE_TUNING,
    PRETRAINING,
    SEARCH,
    SHAKESPEARE,
    pivot_variants,
    search_table,
    variants,
)


def parameter_count(evidence: Evidence) -> Finding:
    """004-1: has the model at the printed sizes the printed number of weights?"""
    counts = evidence.table("parameter_counts").set_index("reading")["parameters"]
    printed, margin = evidence.paper["parameters_millions"], evidence.margin["count_millions"]
    millions = float(counts[READING]) / 1e6
    others = "; ".join(f"{reading} {count:,}" for reading, count in counts.items() if reading != READING)
    text = f"{counts[READING]:,} weights, printed {printed:g} million (other readings: {others})"
    found = judge_exact(abs(millions - printed) <= margin, millions, "million weights", text)
    return replace(found, here={"parameters_millions": millions})


def causal_without_bias(evidence: Evidence) -> Finding:
    """004-8: exactly no change from later tokens, no gradient of masked weights, no bias over time."""
    rows, limit = evidence.table("causality"), evidence.margin["difference_1"]
    parts = {
        "(a) change from later tokens": ("leak_1", limit),
        "(b) gradient of masked weights": ("masked_gradient_1", limit),
        "(c) biases over time": ("time_biases", 0),
    }
    findings = {}
    for name, (column, most) in parts.items():
        worst = float(rows[column].max())
        text = f"at most {worst:g} over {len(rows)} forms, numbers of triangles and masks"
        findings[name] = judge_exact(worst <= most, worst, "largest", text)
    return require_all_parts(findings)


END = "end_nats"


def averaging_mask(evidence: Evidence) -> Finding:
    """004-2: does the averaging mask learn faster in the beginning than the plain triangle?"""
    finding = _judge_faster(evidence, "one-averaging", "one-plain", evidence.margin["loss_nats"])
    end = _differences(evidence, END, "one-averaging", "one-plain")
    finding = replace(finding, text=f"{finding.text}; at the end {np.mean(end):.3g} nats")
    return _note_edges(evidence, finding, "one-averaging", "one-plain")


def discount(evidence: Evidence) -> Finding:
    """004-3: does a discount of 1 end like 0.9999, in less time per step, one ratio per machine?"""
    pair = "one-discounted", "one-averaging"
    hardware = evidence.table("cost").set_index("run")["hardware"]
    rows = evidence.table("learning").assign(machine=lambda of: of["run"].map(hardware))
    seconds, machine = pivot_variants(rows, "step_seconds", *pair), pivot_variants(rows, "machine", *pair)
    ratios = (seconds[pair[0]] / seconds[pair[1]]).map(math.log2)[machine[pair[0]] == machine[pair[1]]]
    per_machine = {str(name): float(ratio) for name, ratio in ratios.groupby(machine[pair[0]]).median().items()}
    losses = _differences(evidence, END, *pair)
    findings = {
        "(a) loss at the end": judge_equal(losses, evidence.margin["loss_nats"], unit="nats"),
        "(b) time per step": judge_machines(
            per_machine,
            lambda ratios: judge_better(ratios, evidence.margin["speed_log2"], unit="log2 of seconds per step"),
        ),
    }
    return _note_edges(evidence, require_all_parts(findings), "one-averaging")


def second_triangle(evidence: Evidence) -> Finding:
    """004-4: does a second triangle make the loss drop faster, with the averaging mask and with a plain one?"""
    margin = evidence.margin["loss_nats"]
    findings = {
        "(a) averaging mask": _judge_faster(evidence, "two-averaging", "one-averaging", margin),
        "(b) plain mask": _judge_faster(evidence, "two-plain", "one-plain", margin),
    }
    return _note_edges(
        evidence, require_all_parts(findings), "one-averaging", "one-plain", "two-averaging", "two-plain"
    )


def sine(evidence: Evidence) -> Finding:
    """004-5: is the sine not worse than leaky ReLU, nor than GELU, each at a rate of its own?

    Not than the better one of each seed: the smaller of two equal losses is below a third equal one on average.
    """
    _require_search(evidence)
    others = {"leaky-relu": "leaky ReLU minus sine", "gelu": "GELU minus sine"}
    losses = pivot_variants(evidence.table("learning"), END, "two-averaging", *others)
    found = {
        words: judge_better(
            (losses[name] - losses["two-averaging"]).to_numpy(), -evidence.margin["loss_nats"], unit="nats"
        )
        for name, words in others.items()
    }
    return _note_edges(evidence, judge_all(found), "two-averaging", *others)


def reshape_costs(evidence: Evidence) -> Finding:
    """004-own-1: does the transpose end lower than the published code's reshape, each at a rate of its own?"""
    _require_search(evidence)
    finding = _judge_lower(evidence, END, "two-averaging", "reshape", evidence.margin["loss_nats"])
    return _note_edges(evidence, finding, "two-averaging", "reshape")


def head_start(evidence: Evidence) -> Finding:
    """004-own-2: does one averaging triangle begin at least as fast as two plain ones, each at a rate of its own?"""
    _require_search(evidence)
    finding = _judge_faster(evidence, "one-averaging", "two-plain", -evidence.margin["loss_nats"])
    return _note_edges(evidence, finding, "one-averaging", "two-plain")


def _require_search(evidence: Evidence) -> None:
    """Raises NotPlannedError at a scale with one rate for all: the rule needs a search for each."""
    rows = evidence.table("cost")
    if "part" not in rows or not rows["part"].eq(SEARCH).any():
        raise NotPlannedError("needs a search of learning rates, which is not planned")


def _note_edges(evidence: Evidence, finding: Finding, *names: str, parts: tuple[str, ...] = (COMPARISON,)) -> Finding:
    """The finding; its text names the variants whose best learning rate is the lowest or the highest that was tried.

    parts: those of the judged trainings. Searches on other corpora do not count.
    """
    cost, trained = evidence.table("cost"), part_rows(evidence.table("learning"), *parts)
    if "part" not in cost:
        return finding
    judged = cost["variant"].isin(names) & cost["corpus"].isin(trained["corpus"].unique())
    search = cost[cost["part"].eq(SEARCH) & judged]
    rows = search_table(search).to_dict("records") if len(search) else []
    listed = [f"{row['variant']} ({row['edge']}, {row['begins']} on {row['corpus']})" for row in rows if row["edge"]]
    note = f"; best rate at an edge of the search: {', '.join(listed)}" if listed else ""
    return replace(finding, text=finding.text + note)


def _differences(evidence: Evidence, column: str, first: str, second: str) -> np.ndarray:
    """`second` minus `first`, one number per seed."""
    losses = pivot_variants(evidence.table("learning"), column, first, second)
    return (losses[second] - losses[first]).to_numpy()


def _judge_faster(evidence: Evidence, first: str, second: str, margin: float) -> Finding:
    """Is the mean loss of `first` over the beginning below that of `second` by more than `margin`?"""
    losses = early_nats(variants(evidence.table("loss_curve"), first, second), first, second)
    return judge_better((losses[second] - losses[first]).to_numpy(), margin, unit="nats")


def _judge_lower(evidence: Evidence, column: str, first: str, second: str, margin: float) -> Finding:
    """Is the loss of `first` below that of `second` by more than `margin`?"""
    return judge_better(_differences(evidence, column, first, second), margin, unit="nats")


# part -> (column and margin, the paper's iteration)
MILESTONES = {
    "(a) words": ("word_share_1", "words_iterations"),
    "(b) phrases": ("pair_share_1", "phrases_iterations"),
    "(c) sentences": ("four_word_share_1", "sentences_iterations"),
    "(d) context": ("context_nats", "understanding_iterations"),
}


def milestones(evidence: Evidence) -> Finding:
    """004-6: words, phrases, sentences and the use of context at the paper's iterations, and in this order."""
    rows = part_rows(evidence.table("milestones"), PRETRAINING)
    findings = {}
    for name, (column, iterations) in MILESTONES.items():
        step, limit = int(evidence.paper[iterations]), evidence.margin[column]
        values = rows[rows["step"] == step].set_index("seed")[column]
        every = values.reindex(rows["seed"].unique()).to_numpy()  # a seed that diverged before has no value, and counts
        missing = f"not judged at this scale: no samples at iteration {step:,}, the last is {rows['step'].max():,}"
        findings[name] = judge_above(every, limit) if len(values) else undecided_finding(missing)
    return require_all_parts({**findings, "(e) in this order": _trend(rows, evidence.margin)})


def _trend(rows: pd.DataFrame, margin: dict[str, float]) -> Finding:
    """Do the first steps at which (a) to (c) reach their margins increase in every seed, or reverse in every one?"""
    orders = [_order(_milestone_steps(of_seed, margin)) for _, of_seed in rows.groupby("seed")]
    n, counts = len(orders), {order: orders.count(order) for order in ("increasing", "reversed", "undetermined")}
    verdict: Verdict = "undecided"
    if n >= FEWEST_SEEDS and n in (counts["increasing"], counts["reversed"]):
        verdict = "reproduced" if counts["increasing"] else "contradicted"
    listed = ", ".join(f"{order} in {count}" for order, count in counts.items())
    text = f"{listed} of {n} seeds; what is not reached within the budget comes after all that is"
    held = float(counts["increasing"])
    return Finding(verdict, held, held, held, n, "seeds", text)


def _milestone_steps(of_seed: pd.DataFrame, margin: dict[str, float]) -> list[float]:
    """The first kept steps of one seed at which words, phrases and sentences reach their margins; inf for none."""
    columns = [column for column, _ in MILESTONES.values()][:3]
    firsts = [of_seed.loc[of_seed[column] >= margin[column], "step"].min() for column in columns]
    return [math.inf if pd.isna(step) else float(step) for step in firsts]


def _order(steps: list[float]) -> str:
    """`increasing`: each after the one before. `reversed`: one before an earlier one of the list. Else `undetermined`.

    Two margins reached between the same kept steps, or not at all, may be in either order.
    """
    pairs = list(combinations(steps, 2))
    if any(first > second for first, second in pairs):
        return "reversed"
    return "increasing" if all(first < second for first, second in pairs) else "undetermined"


def fine_tuning(evidence: Evidence) -> Finding:
    """004-7: does fine-tuning end lower on held-out Shakespeare than as many steps on it alone, without copying?"""
    parts, margin = (ALONE_AS_LONG, FINE_TUNING), evidence.margin
    rows, curves = (evidence.table(name) for name in ("learning", "loss_curve"))
    if not set(part_rows(rows, FINE_TUNING)["corpus"]) <= set(SHAKESPEARE):
        raise NotPlannedError(f"needs runs on {' or '.join(SHAKESPEARE)}, which are not planned")
    alone = part_rows(curves, ALONE_AS_LONG).groupby("seed")["validation_nats_per_character"].min()
    tuned = part_rows(rows, FINE_TUNING).set_index("seed")["end_nats_per_character"]
    lower = judge_better((alone - tuned).to_numpy(), margin["loss_nats"], unit="nats per character")
    samples = part_rows(evidence.table("samples"), FINE_TUNING)
    printed = samples["sample"] == OF_THE_PAPER
    ours = samples[~printed].groupby("seed")["copied_words"].mean()
    copied = judge_below(ours.to_numpy(dtype=float), margin["copied_words"], unit="words")
    text = f"{copied.text}; the paper's sample has {samples.loc[printed, 'copied_words'].max():g} words in a row"
    beyond_chance = judge_above(ours.to_numpy(dtype=float), margin["unordered_words"]).verdict == "reproduced"
    unmet = f"what it writes shares no longer runs than words in no order, of {margin['unordered_words']:g}"
    copied = premise(replace(copied, text=text), unmet, holds=beyond_chance, of="reproduced")
    finding = require_all_parts({"(a) held-out loss": lower, "(b) longest copied run": copied})
    return _note_edges(evidence, finding, "two-averaging", parts=parts)
