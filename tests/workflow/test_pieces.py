"""The pieces of the report that a reader steers, in a real browser: every control works, by keyboard too."""

import json
from collections.abc import Callable
from typing import Any

import numpy as np
import pytest

from allmlp.models.angles import fill, place
from allmlp.studies.quadrature.bounds import angle_bound, box_bound, folded_bound, total_bound
from allmlp.studies.quadrature.errors import largest_error, trained_sum
from allmlp.studies.quadrature.frequencies import Rule, two_phi
from allmlp.studies.quadrature.hand_coded import scores_of
from tests.workflow.visiting import Visit

pytestmark = pytest.mark.slow


def unfolded(visit: Callable[..., Visit], figure: str, **window: Any) -> tuple[Visit, Any]:
    """The page with a figure's piece unfolded from the keyboard, and the piece."""
    at = visit(**window)
    piece = at.page.locator(f"#{figure} details.explore")
    if not piece.evaluate("piece => piece.open"):
        piece.locator("summary").focus()
        at.page.keyboard.press("Enter")
        piece.locator(".piece svg[role=img]").first.wait_for()
    return at, piece


def named(piece: Any) -> str:
    label: str = piece.locator(".plot svg").first.get_attribute("aria-label")
    return label


@pytest.mark.parametrize("figure", ["figure-mixers-learning_curves", "figure-language-loss"])
def test_learning_curves_are_chosen_by_text_loss_axis_and_model(visit: Callable[..., Visit], figure: str) -> None:
    at, piece = unfolded(visit, figure)
    text, loss, axis = (piece.locator("select").nth(number) for number in range(3))
    for select in (text, loss, axis):
        for option in select.locator("option").all_text_contents()[1:]:
            before = piece.locator(".plot svg").inner_html()
            select.select_option(option)
            assert piece.locator(".plot path.mean").count() > 0
            assert piece.locator(".plot svg").inner_html() != before
        select.select_option(index=0)
    drawn = piece.locator(".plot path.seed").count()
    first = piece.locator(".chips input").first
    seeds = int(piece.locator("tbody td").nth(1).inner_text())
    first.focus()
    at.page.keyboard.press("Space")
    assert piece.locator(".plot path.seed").count() == drawn - seeds
    first.check()
    linear = named(piece), piece.locator(".plot path.mean").first.get_attribute("d")
    piece.locator("form input[type=checkbox]").uncheck()
    assert (named(piece), piece.locator(".plot path.mean").first.get_attribute("d")) != linear
    assert at.complaints == []


def test_the_mark_is_moved_by_keyboard_and_reads_the_mean_of_the_seeds(visit: Callable[..., Visit]) -> None:
    at, piece = unfolded(visit, "figure-mixers-learning_curves")
    piece.locator("form input[type=range]").focus()
    at.page.keyboard.press("End")
    data = at.of("JSON.parse(document.querySelector('#figure-mixers-learning_curves .explore script').textContent)")
    longest = max(data[0]["series"], key=lambda one: one["losses"]["held-out"]["steps"][-1])["losses"]["held-out"]
    ends = [losses[-1] for losses in longest["seeds"].values()]
    shown = piece.locator("tbody td").all_text_contents()
    assert f"{longest['steps'][-1]} steps" in piece.locator("thead").inner_text()
    assert f"{sum(ends) / len(ends):.3f}" in shown
    at.page.keyboard.press("Home")
    assert piece.locator("tbody td").all_text_contents() != shown


def rules() -> dict[str, tuple[int, Rule]]:
    """Networks of the playground: equal and uneven boxes, angles and output phases drawn at random."""
    rng = np.random.default_rng(0)
    found = {
        f"{n} equal": (p, two_phi(place(fill(n), "regular", 0.1), fill(n))) for n, p in ((5, 59), (6, 23), (9, 113))
    }
    for n, p in ((7, 59), (12, 13), (40, 83)):
        width = fill(n, rng.uniform(0.2, 2, n))
        phi = place(width, "jittered", 0.3, rng)
        found[f"{n} jittered"] = p, Rule(phi, 2 * phi + rng.normal(0, 0.1, n), width)
    return found


@pytest.mark.parametrize("name", rules())
def test_the_playground_computes_what_the_study_computes(visit: Callable[..., Visit], name: str) -> None:
    p, rule = rules()[name]
    given = json.dumps({key: values.tolist() for key, values in rule._asdict().items()})
    found = visit().of(
        f"(rule => ({{...addition({p}, rule), ...boundsOf(rule), error: largestError({p}, rule),"
        f" sums: summed('relu', anglesOf({p}), rule)}}))({given})"
    )
    theta = np.pi * np.arange(2 * p) / p
    sums = trained_sum("relu", theta, rule)
    scores = scores_of(p, rule)
    expected = {
        "accuracy": scores.accuracy,
        "margin": scores.smallest_margin,
        "phase": np.abs(np.angle(sums * np.exp(2j * theta))).max(),
        "box": box_bound(rule),
        "folded": folded_bound(rule),
        "angle": angle_bound(rule),
        "total": total_bound(rule),
        "error": largest_error("abs", theta, rule),
    }
    assert np.allclose(np.array(found.pop("sums")) @ [1, 1j], sums, rtol=0, atol=1e-9)
    assert found == pytest.approx(expected, rel=0, abs=1e-9)


def test_angles_and_widths_are_moved_and_a_trained_network_is_loaded(visit: Callable[..., Visit]) -> None:
    at, piece = unfolded(visit, "figure-quadrature-sums")

    def numbers() -> list[str]:
        found: list[str] = piece.locator("tbody td:nth-child(2)").all_text_contents()
        return found

    equal = numbers()
    assert equal[0] == "100.0 %"
    piece.locator(".handle").first.focus()
    for _ in range(10):
        at.page.keyboard.press("ArrowRight")
    turned = numbers()
    assert turned[0] != "100.0 %"
    at.page.keyboard.press("ArrowUp")
    assert numbers() != turned
    assert piece.locator(".handle").first.get_attribute("aria-valuetext") != "0.0 degrees, width 72.0 degrees"
    piece.locator("button").click()
    assert numbers() == equal
    dot = piece.locator(".handle").nth(1)
    dot.scroll_into_view_if_needed()
    box = dot.bounding_box()
    at.page.mouse.move(box["x"] + box["width"] / 2, box["y"] + box["height"] / 2)
    at.page.mouse.down()
    at.page.mouse.move(box["x"] + 40, box["y"] + 40)
    at.page.mouse.up()
    assert numbers() != equal
    for slider in piece.locator("form input[type=range]").all():
        before = piece.locator(".beside").inner_html()
        slider.focus()
        at.page.keyboard.press("ArrowRight")
        assert piece.locator(".beside").inner_html() != before
    piece.locator("select").nth(1).select_option("199")
    assert "39,601" in piece.locator("tbody").inner_text()
    for option in piece.locator("select").first.locator("option").all_text_contents()[1:]:
        before = piece.locator(".plot svg").inner_html()
        piece.locator("select").first.select_option(option)
        assert piece.locator(".plot svg").inner_html() != before
        assert piece.locator("form input[type=range]").first.is_disabled()
    assert at.complaints == []


def test_without_scripts_no_piece_is_offered(visit: Callable[..., Visit]) -> None:
    at = visit(java_script_enabled=False)
    assert at.page.locator("details.explore").count() >= 2
    assert not any(one.is_visible() for one in at.page.locator("details.explore").all())


@pytest.mark.parametrize("width", [360, 1280])
def test_unfolded_pieces_scroll_nothing_sideways_and_have_no_tiny_text(visit: Callable[..., Visit], width: int) -> None:
    at = visit(width, fragment="#pieces")
    at.of("document.querySelectorAll('details.explore').forEach(one => one.open = true)")
    at.page.wait_for_function("[...document.querySelectorAll('.explore')].every(one => one.querySelector('.plot svg'))")
    assert at.of("document.documentElement.scrollWidth") <= width
    sizes = at.of(
        "[...document.querySelectorAll('.explore svg text')].map(one =>"
        " parseFloat(getComputedStyle(one).fontSize) * one.getScreenCTM().a)"
    )
    assert len(sizes) > 10
    assert min(sizes) >= 9


@pytest.mark.parametrize("scheme", ["light", "dark"])
def test_axe_finds_nothing_in_unfolded_pieces(visit: Callable[..., Visit], scheme: str) -> None:
    axe = pytest.importorskip("axe_playwright_python", reason="needs `pip install axe-playwright-python`")
    at = visit(fragment="#axe-pieces", color_scheme=scheme)
    at.of("document.querySelectorAll('details.explore').forEach(one => one.open = true)")
    at.page.wait_for_function("[...document.querySelectorAll('.explore')].every(one => one.querySelector('.plot svg'))")
    at.page.add_script_tag(path=f"{axe.__path__[0]}/axe.min.js")
    found = at.of("axe.run('.explore', {resultTypes: ['violations']}).then(found => found.violations)")
    assert [(one["id"], one["nodes"][0]["html"][:200]) for one in found] == []
