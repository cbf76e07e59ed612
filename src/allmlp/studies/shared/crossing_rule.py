"""The rule on a change of the lead: one model is ahead at the fewest operations measured, the other at the most.

The losses change continuously with the operations, so both together imply a crossing between. It is reproduced only if
the lead changes once, and if the interval of the place is narrow enough to call it a place.
"""

import math
from dataclasses import replace

from allmlp.judging.rules import judge_all, withhold_verdict
from allmlp.judging.statistics import Finding, judge_better
from allmlp.studies.shared.crossing import Course

NATS = "nats per token"
BILLION, UNIT = 1e9, "billion operations"


def judge_lead_change(course: Course, first: str, second: str, *, margin: float, factor: float) -> Finding:
    """Does the lead pass from the `first` model to the `second`, which the course compares by these names?

    margin: nats by which each must be ahead at its end. factor: the largest ratio of the ends of the interval of the
    crossing. The finding's number is the place of the crossing, in billions of operations; NaN without exactly one.
    """
    start, end = course.operations[[0, -1]]
    found = judge_all(
        {
            f"{first} ahead at {_number(start / BILLION)} {UNIT}": judge_better(course.values[:, 0], margin, unit=NATS),
            f"{second} ahead at {_number(end / BILLION)} {UNIT}": judge_better(
                -course.values[:, -1], margin, unit=NATS
            ),
        }
    )
    seeds, crossings = _describe_seeds(course), course.crossings
    if len(crossings) != 1:
        times = f"the lead is shown to change {len(crossings)} times"
        nowhere = replace(found, value=math.nan, low=math.nan, high=math.nan, unit=UNIT)
        return withhold_verdict(
            replace(nowhere, text=f"{times}, {seeds}; {found.text}"), "reproduced", times, when=True
        )
    crossing = crossings[0]
    at, low, high = (number / BILLION for number in crossing[:3])
    leader = first if crossing.leader > 0 else second
    place = f"{leader} takes the lead at {_number(at)} {UNIT}, 95 % interval {_number(low)} to {_number(high)}"
    found = replace(found, value=at, low=low, high=high, unit=UNIT, text=f"{place}, {seeds}; {found.text}")
    apart = f"the ends of the interval are more than a factor {factor:g} apart"
    return withhold_verdict(found, "reproduced", apart, when=high > factor * low)


def _describe_seeds(course: Course) -> str:
    """How many seeds cross within the measured range, and on which side of it the others do."""
    places = list(course.seed_crossings.values())
    inside = sum(0 < place < math.inf for place in places)
    outside = {"before it": places.count(0.0), "beyond it": places.count(math.inf)}
    words = [f"{number} {side}" for side, number in outside.items() if number]
    return ", ".join([f"{inside} of {len(places)} seeds cross within the measured range", *words])


def _number(billions: float) -> str:
    return f"{billions:,.0f}" if billions >= 100 else f"{billions:.3g}"
