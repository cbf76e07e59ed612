"""The course of an answer over budget: in the order of the budget, not of names, and with the parts that flip."""

from typing import Any

from allmlp.report.render import templates
from allmlp.report.verdict_by_scale import all_flips, course


def at(scale: str, operations: float, verdict: str, *parts: tuple[str, str]) -> dict[str, Any]:
    listed = [{"name": name, "verdict": said} for name, said in parts]
    interval = {"value": 0.1, "low": 0.05, "high": 0.15, "unit": "nats", "n": 5}
    text = "; ".join(f"{name}: {said}" for name, said in parts)
    return {"scale": scale, "operations": operations, "verdict": verdict, "parts": listed, "text": text, **interval}


def entry(name: str, *scales: dict[str, Any]) -> dict[str, Any]:
    return {**scales[-1], "id": name, "at": {found["scale"]: found for found in scales}}


FLIPS = entry("009-1", at("gpu", 1e11, "contradicted"), at("workstation", 1e10, "reproduced"))
PARTS = entry(
    "009-2",
    at("workstation", 1e10, "partly", ("(a) at 16", "reproduced"), ("(b) fast", "contradicted")),
    at("long", 1e12, "partly", ("(a) at 32", "reproduced"), ("(b) fast", "below margin")),
)
STAYS = entry("009-3", at("workstation", 1e10, "undecided"), at("long", 1e12, "contradicted"))
UNTESTED = entry("009-4", at("laptop", 1e9, "not testable at this scale"), at("long", 1e12, "contradicted"))


def test_scales_stand_in_the_order_of_their_budget() -> None:
    assert [found["scale"] for found in course(FLIPS)] == ["workstation", "gpu"]
    assert course(entry("009-5", at("long", 1e12, "reproduced"))) == []


def test_only_a_decided_verdict_that_becomes_another_is_a_flip() -> None:
    assert all_flips([FLIPS, PARTS, STAYS, UNTESTED]) == [
        {"id": "009-1", "part": "", "verdicts": {"workstation": "reproduced", "gpu": "contradicted"}},
        {"id": "009-2", "part": "(b) fast", "verdicts": {"workstation": "contradicted", "long": "below margin"}},
    ]


def test_the_page_names_each_budget_and_each_flip() -> None:
    module = templates().get_template("course.html.j2").module
    strip = module.strip(PARTS)
    for piece in ("1.00e+10", "1.00e+12", "(b) fast: below margin", 'class="deciding"'):
        assert piece in strip
    assert "0.1 [0.05, 0.15] nats, n = 5" in module.strip(FLIPS)
    assert "2 answers changed" in module.flip_list(all_flips([FLIPS, PARTS]))
    assert module.flip_list([]).strip() == ""
