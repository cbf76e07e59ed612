"""The rules without training: masks, dimensions, hidden units, memory (001-1, -2, -9, -13, -14, own-11)."""

import math
from collections.abc import Mapping
from dataclasses import replace
from typing import Any

import pandas as pd

from allmlp.judging.multiplicity import require_all_parts
from allmlp.judging.rules import judge_exact, mark_corrected, undecided_finding
from allmlp.judging.statistics import Finding
from allmlp.spec.protocols import Evidence

MIB = 2**20  # MB in the output of driver tools
MEMORY_KEY = "memory_n{}_c{}_mb"  # a printed entry: layers, context
MIXER, TRANSFORMER, FUSED = "flat mixer", "transformer", "transformer, fused attention"


def judge_count(holds: bool, value: float, unit: str, text: str) -> Finding:
    """A property that is counted, not sampled: reproduced or contradicted, or undecided without a number."""
    if math.isnan(value):  # something did not fit on a device
        return undecided_finding(f"not judged: a pass did not fit the device; {text}", 1, unit)
    return judge_exact(holds, value, unit, text)


def masking(evidence: Evidence) -> Finding:
    """001-1: the worked example, the future, gradients of masked weights."""
    rows, limit = evidence.table("masking"), evidence.margin["difference_1"]
    example = rows["form"].eq("worked example")
    parts = {
        "(a) the worked example": (rows[example], 0.0),
        "(b) the future": (rows[rows["property"].eq("future")], limit),
        "(c) gradients of masked weights": (rows[rows["property"].eq("gradients of masked weights")], limit),
    }
    return require_all_parts({name: _judge_limit(of_part, at_most) for name, (of_part, at_most) in parts.items()})


def dimensions(evidence: Evidence) -> Finding:
    """001-2: 8 ln(m) against the printed numbers."""
    rows, margin = evidence.table("dimensions").drop_duplicates("points"), evidence.margin["relative_1"]
    findings = {}
    for letter, row in zip("abcd", rows.to_dict("records"), strict=True):
        printed, found, logarithm = evidence.paper[row["key"]], row["dimensions"], row["logarithm_nats"]
        text = f"8 ln(m) = {found:,.1f}, the paper says {printed:,}"
        if abs(logarithm / printed - 1) <= margin:
            text += f", which is ln(m) = {logarithm:,.1f} without the 8"
        counted = judge_count(abs(found / printed - 1) <= margin, found, "dimensions", text)
        findings[f"({letter}) {row['points']}"] = replace(mark_corrected(counted), here={row["key"]: found})
    return require_all_parts(findings)


def hidden_units(evidence: Evidence) -> Finding:
    """001-9: hidden units of expansion 2 that act, inputs of expansion 1/2 that do not."""
    rows = evidence.table("hidden_units").drop_duplicates("expansion_1")
    wide, narrow = (rows[rows["expansion_1"].eq(factor)].to_dict("records")[0] for factor in (2.0, 0.5))
    share = wide["hidden_used"] / wide["hidden"]
    text = f"{wide['hidden_used']} of {wide['hidden']} hidden units act"
    lost = f"{narrow['inputs_lost']} of {narrow['inputs']} inputs act on no output"
    return require_all_parts(
        {
            "(a) expansion 2": judge_count(
                share <= evidence.margin["used_share_1"], share, "share of hidden units", text
            ),
            "(b) expansion 1/2": judge_count(narrow["inputs_lost"] >= 1, float(narrow["inputs_lost"]), "inputs", lost),
        }
    )


def mixer_memory(evidence: Evidence) -> Finding:
    """001-13: the mixer's memory against the printed table, and its exponent in context."""
    found, where = megabytes(evidence, MIXER)
    printed = printed_table(evidence.paper)
    base, printed_base = found.min(), printed.min()
    exponents = [
        math.log((table[8, 8192] - least) / (table[8, 2048] - least)) / math.log(8192 / 2048)
        for table, least in ((found, base), (printed, printed_base))
    ]
    near = abs(exponents[0] - exponents[1]) <= evidence.margin["exponent_1"]
    text = f"exponent {exponents[0]:.2f} above the smallest entry, the printed table's {exponents[1]:.2f}; {where}"
    return require_all_parts(
        {
            "(a) the printed entries": _entries(evidence, found, where),
            "(b) the exponent": judge_count(near, exponents[0], "exponent of the context", text),
        }
    )


def transformer_memory(evidence: Evidence) -> Finding:
    """001-14: growth from 512 to 2,048 tokens, transformer over mixer, and the printed table."""
    found, where = megabytes(evidence, TRANSFORMER)
    ratio, margin = growth_ratio(evidence, TRANSFORMER, 512, 2048), evidence.margin["growth_ratio_1"]
    fused = growth_ratio(evidence, FUSED, 512, 2048)
    text = f"the transformer's memory grows {ratio:.2f} times as much as the mixer's, with fused attention {fused:.2f}"
    return require_all_parts(
        {
            "(a) growth": judge_count(ratio >= margin, ratio, "ratio of growths", f"{text}; {where}"),
            "(b) the printed entries": _entries(evidence, found, where),
        }
    )


def fused_memory(evidence: Evidence) -> Finding:
    """001-own-11: with fused attention the transformer's memory grows hardly faster, and in the end slower."""
    early, late = (growth_ratio(evidence, FUSED, *ends) for ends in ((512, 2048), (4096, 8192)))
    _, where = megabytes(evidence, FUSED)
    margin = evidence.margin
    said = f"ratio {early:.2f} from 512 to 2,048 tokens; {where}"
    later = f"ratio {late:.2f} from 4,096 to 8,192 tokens; {where}"
    return require_all_parts(
        {
            "(a) short contexts": judge_count(early < margin["growth_ratio_1"], early, "ratio of growths", said),
            "(b) long contexts": judge_count(late < margin["late_ratio_1"], late, "ratio of growths", later),
        }
    )


def megabytes(evidence: Evidence, model: str) -> tuple["pd.Series[float]", str]:
    """(n_blocks, context) -> MB of one model, and their kind: the device's peak if there is one, else counted."""
    rows = evidence.table("memory").drop_duplicates(["model", "n_blocks", "context"])
    measured = rows["peak_bytes"].notna().any()
    column = "peak_bytes" if measured else "total_bytes"
    where = "most bytes allocated on the device" if measured else "counted: weights, gradients, what is kept"
    of_model = rows[rows["model"].eq(model)].set_index(["n_blocks", "context"])
    return of_model[column].astype(float) / MIB, where


def growth_ratio(evidence: Evidence, model: str, short: int, long: int, depths: tuple[int, ...] = (4, 8)) -> float:
    """Growth of memory from one context to another, of `model` over the mixer: geometric mean over depths."""
    growths = [megabytes(evidence, name)[0].unstack("context") for name in (model, MIXER)]
    logs = [
        math.log((of[long] - of[short])[n]) * sign for n in depths for of, sign in zip(growths, (1, -1), strict=True)
    ]
    return math.exp(sum(logs) / len(depths))


def printed_table(paper: Mapping[Any, float]) -> "pd.Series[float]":
    """(n_blocks, context) -> MB, of the entries `memory_n<layers>_c<context>_mb` of a claim."""
    cells = {
        tuple(int(part[1:]) for part in key.split("_")[1:3]): float(value)
        for key, value in paper.items()
        if key.startswith("memory_n")  # of MEMORY_KEY
    }
    return pd.Series(cells)


def _entries(evidence: Evidence, found: "pd.Series[float]", where: str) -> Finding:
    """The share of printed entries met, each less the smallest of its table; passes that did not fit are missed."""
    printed = printed_table(evidence.paper)
    ours, theirs = found.reindex(printed.index) - found.min(), printed - printed.min()
    met = (ours - theirs).abs() <= evidence.margin["relative_1"] * theirs
    share = float(met.mean())
    missed = ", ".join(f"{n} layers at {context:,}" for n, context in met.index[~met]) or "none"
    text = f"{int(met.sum())} of {len(met)} printed entries met; not: {missed}; {where}"
    judged = judge_count(share >= evidence.margin["entries_share_1"], share, "share of entries", text)
    beside = zip(met.index, found.reindex(met.index), strict=True)
    return replace(judged, here={MEMORY_KEY.format(*at): megabytes for at, megabytes in beside})


def _judge_limit(rows: pd.DataFrame, limit: float) -> Finding:
    worst = rows.sort_values("difference_1", kind="stable").iloc[-1]
    value = float(worst["difference_1"])
    text = f"largest difference {value:g} ({worst['form']}), limit {limit:g}"
    return judge_count(value <= limit, value, "largest difference", text)
