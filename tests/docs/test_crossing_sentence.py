"""The sentence on the crossing, of README and the first screen."""

from typing import Any

from allmlp.report import first_screen
from allmlp.report.render import templates


def said(entry: Any) -> str:
    template: Any = templates().get_template("crossing.txt.j2")
    return str(template.module.lead(entry)).strip()


def test_the_widest_claim_with_a_place_is_quoted_with_its_interval() -> None:
    place = {"value": 329.7, "low": 258.2, "high": 390.1, "unit": "billion operations", "verdict": "reproduced"}
    place["id"], one_width = "001-own-12", "(258 to 390) a Llama with four heads leads, at the one width compared."
    entries: dict[str, dict[str, Any]] = {"001-own-12": place, "all-own-4": {"verdict": "not run"}}
    assert f"From 330 billion operations on {one_width}" in said(first_screen.crossing(entries))
    entries["all-own-4"] = {**place, "value": 200.0, "id": "all-own-4"}
    assert "From 200 billion operations on (258 to 390) a Llama with four heads leads." in said(
        first_screen.crossing(entries)
    )
    undecided = {**place, "verdict": "undecided"}
    assert "not settled" in said(first_screen.crossing({**entries, "all-own-4": undecided}))
