"""Masks, a second triangle, activations and the published reshape (004-2 to -5, own claims). The unit is the seed."""

from dataclasses import replace

import numpy as np

from allmlp.protocols import Evidence
from allmlp.report.multiplicity import whole
from allmlp.report.statistics import Finding, better, equal
from allmlp.studies.rules import NotPlannedError
from allmlp.studies.triangular.parts import SEARCH, by_variant

EARLY, END = "early_nats", "end_nats"


def averaging_mask(evidence: Evidence) -> Finding:
    """004-2: does the averaging mask learn faster in the beginning than the plain triangle?"""
    finding = _lower(evidence, EARLY, "one-averaging", "one-plain", evidence.margin["loss_nats"])
    end = _differences(evidence, END, "one-averaging", "one-plain")
    return replace(finding, text=f"{finding.text}; at the end {np.mean(end):.3g} nats")


def discount(evidence: Evidence) -> Finding:
    """004-3: does a discount of 1 end like 0.9999, in less time per step?"""
    seconds = by_variant(evidence.table("learning"), "step_seconds", "one-discounted", "one-averaging")
    ratio = np.log2((seconds["one-discounted"] / seconds["one-averaging"]).to_numpy())
    losses = _differences(evidence, END, "one-discounted", "one-averaging")
    return whole(
        {
            "(a) loss at the end": equal(losses, evidence.margin["loss_nats"], unit="nats"),
            "(b) time per step": better(ratio, evidence.margin["speed_log2"], unit="log2 of seconds per step"),
        }
    )


def second_triangle(evidence: Evidence) -> Finding:
    """004-4: does a second triangle make the loss drop faster, with the averaging mask and with a plain one?"""
    margin = evidence.margin["loss_nats"]
    return whole(
        {
            "(a) averaging mask": _lower(evidence, EARLY, "two-averaging", "one-averaging", margin),
            "(b) plain mask": _lower(evidence, EARLY, "two-plain", "one-plain", margin),
        }
    )


def sine(evidence: Evidence) -> Finding:
    """004-5: is the sine not worse than the better of leaky ReLU and GELU, each at a rate of its own?"""
    _require_search(evidence)
    losses = by_variant(evidence.table("learning"), END, "two-averaging", "leaky-relu", "gelu")
    others = losses[["leaky-relu", "gelu"]].min(axis=1, skipna=False)
    return better((others - losses["two-averaging"]).to_numpy(), -evidence.margin["loss_nats"], unit="nats")


def reshape_costs(evidence: Evidence) -> Finding:
    """004-own-1: does the transpose end lower than the published code's reshape, each at a rate of its own?"""
    _require_search(evidence)
    return _lower(evidence, END, "two-averaging", "reshape", evidence.margin["loss_nats"])


def head_start(evidence: Evidence) -> Finding:
    """004-own-2: does one averaging triangle begin at least as fast as two plain ones, each at a rate of its own?"""
    _require_search(evidence)
    return _lower(evidence, EARLY, "one-averaging", "two-plain", -evidence.margin["loss_nats"])


def _require_search(evidence: Evidence) -> None:
    """Raises NotPlannedError at a scale that sets one rate for all: the rule has each chosen by a search."""
    rows = evidence.table("cost")
    if "part" not in rows or not rows["part"].eq(SEARCH).any():
        raise NotPlannedError("needs a search of learning rates, which is not planned")


def _differences(evidence: Evidence, column: str, first: str, second: str) -> np.ndarray:
    """What `second` has more of than `first`, one number per seed."""
    losses = by_variant(evidence.table("learning"), column, first, second)
    return (losses[second] - losses[first]).to_numpy()


def _lower(evidence: Evidence, column: str, first: str, second: str, margin: float) -> Finding:
    """Is the loss of `first` below that of `second` by more than `margin`?"""
    return better(_differences(evidence, column, first, second), margin, unit="nats")
