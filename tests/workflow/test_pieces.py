"""The pieces of the report that a reader steers, in a real browser: every control works, by keyboard too."""

import json
from collections.abc import Callable, Iterator
from dataclasses import fields, is_dataclass
from typing import Any

import numpy as np
import pytest
import torch

from allmlp import models
from allmlp.models.angles import fill, place
from allmlp.models.rows import Rows
from allmlp.studies.language.neurons import transform_neurons
from allmlp.studies.mixers.measures.costs import MODELS, bytes_by_depth
from allmlp.studies.quadrature.bounds import angle_bound, box_bound, folded_bound, total_bound
from allmlp.studies.quadrature.errors import largest_error, trained_sum
from allmlp.studies.quadrature.frequencies import Rule, two_phi
from allmlp.studies.quadrature.hand_coded import score_phases
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
    row = piece.locator("tbody tr", has_text=piece.locator(".chips label").first.inner_text().strip()).first
    assert row.locator("td").first.inner_text() != "outside its curve", (
        "the mark begins where all chosen curves have a value"
    )
    seeds = int(row.locator("td").nth(1).inner_text())
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
    assert f"{longest['steps'][-1]:,} steps" in piece.locator("thead").inner_text()
    assert f"{sum(ends) / len(ends):.3f}" in shown
    at.page.keyboard.press("Home")
    assert piece.locator("tbody td").all_text_contents() != shown


def test_the_mark_starts_at_one_budget_that_all_texts_reach(visit: Callable[..., Visit]) -> None:
    _, piece = unfolded(visit, "figure-mixers-learning_curves")
    heads = set()
    for at_text in range(piece.locator("select").first.locator("option").count()):
        piece.locator("select").first.select_option(index=at_text)
        heads.add(piece.locator("thead").inner_text())
        assert "outside its curve" not in piece.locator("tbody").inner_text()
    assert len(heads) == 1


def test_a_readers_own_losses_are_drawn_beside_ours_and_leave_nothing_behind(visit: Callable[..., Visit]) -> None:
    at, piece = unfolded(visit, "figure-mixers-learning_curves")
    piece.locator("details summary").last.click()
    before, asked = piece.locator(".plot path.mean").count(), len(at.requests)
    area, said = piece.locator("textarea"), piece.locator("form output")
    area.fill("wall;loss;step\n1;5,5;100\n1;5.5;100\n2;4.5;300\n3;nan;400\n")
    assert piece.locator(".plot path.mean").count() == before + 1
    assert said.inner_text().startswith("2 points drawn as “yours”")
    assert "2 lines left out" in said.inner_text()
    piece.locator("form input[type=range]").focus()
    row = piece.locator("tbody tr", has_text="yours")
    assert row.locator("td").nth(2).inner_text() == "4.500 after 300 steps"
    axis = piece.locator("select").nth(2)
    axis.select_option("tokens")
    assert row.count() == 0
    piece.locator("form input[type=number]").fill("512")
    assert "153,600 tokens" in row.inner_text()
    piece.locator("select").first.select_option(index=1)
    assert row.count() == 1
    piece.locator("input[type=file]").set_input_files(
        {"name": "mine.tsv", "mimeType": "text/plain", "buffer": b"step\tloss\n10\t3.25\n20\t3.125\n"}
    )
    row.get_by_text("3.125").wait_for()
    piece.get_by_text("take it out").click()
    row.wait_for(state="detached")
    assert piece.locator(".plot path.mean").count() > 0
    assert len(at.requests) == asked
    assert at.complaints == []


def test_families_ordered_by_operations_have_them_beside_their_names(visit: Callable[..., Visit]) -> None:
    at = visit()
    panel = at.page.locator("#skills figure", has_text="stories").first
    names = panel.locator("g text").all_text_contents()
    at.page.locator("#skills select").select_option("operations")
    assert "operations per token" in panel.inner_text()
    texts = panel.locator("g text").all_text_contents()
    assert len(texts) == 2 * len(names)
    assert all(text[0].isdigit() for text in texts[1::2])
    assert panel.locator("circle title").first.text_content()
    assert at.complaints == []


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
    scores = score_phases(p, rule)
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


def test_neurons_are_chosen_by_click_by_arrow_keys_and_by_name(visit: Callable[..., Visit]) -> None:
    at, piece = unfolded(visit, "figure-language-energy_map")
    plot, detail = piece.locator(".plot"), piece.locator(".detail")
    assert detail.locator(".heat").count() == 2
    for key in ("ArrowRight", "ArrowDown", "ArrowLeft", "ArrowUp"):
        seen = set()
        plot.focus()
        for _ in range(3):
            at.page.keyboard.press(key)
            seen.add(plot.get_attribute("aria-valuetext"))
        assert len(seen) > 1
    dots = piece.locator("circle.neuron")
    names = {dots.nth(n).locator("title").text_content() for n in range(dots.count())}
    dots.last.click(force=True)
    assert plot.get_attribute("aria-valuetext") in names
    text, seed, moment, neuron = (piece.locator("select").nth(n) for n in range(4))
    for select in (moment, seed, text):
        for option in select.locator("option").all_text_contents()[1:]:
            before = piece.locator(".plot svg").inner_html()
            select.select_option(option)
            assert piece.locator(".plot svg").inner_html() != before
    text.select_option(index=0)
    without = next(one for one in neuron.locator("option").all() if "," not in one.text_content())
    neuron.select_option(without.get_attribute("value"))
    assert "No weight map" in detail.inner_text()
    with_words = next(one for one in neuron.locator("option").all() if "keywords" in one.text_content())
    neuron.select_option(with_words.get_attribute("value"))
    assert detail.locator("tbody").count() == 2
    assert at.complaints == []


def test_the_map_of_a_neuron_is_that_of_the_chosen_moment(visit: Callable[..., Visit]) -> None:
    """Neuron 0 has maps of all moments, neuron 1 of the end alone, neuron 2 none."""
    weights = [[[100 * row + 10 * moment - 200 for _ in range(3)] for row in range(4)] for moment in range(3)]
    found = {
        "0": {"class": "n-gram", "weights": weights, "largest": [0.1, 0.2, 0.3]},
        "1": {"class": "other", "weights": [None, None, weights[2]], "largest": [None, None, None]},
    }
    shares = [[0.1, 0.5, 0.9, None]] * 3  # of neuron 3 nothing was measured
    run = {"seed": 0, "window": shares, "constant": shares, "maps": found, "keywords": {}}
    text = {"text": "made up", "context": 4, "steps": [0, 5, 10], "runs": [run]}
    at = visit(fresh=True)
    data = json.dumps({"colours": {"n-gram": "#0072B2", "other": "#555555"}, "recent": 3, "texts": [text]})
    at.of("document.querySelector('main').prepend(made('div', { id: 'made' }))")
    at.of(f"neurons(document.getElementById('made'), {data})")
    piece, captions = at.page.locator("#made"), at.page.locator("#made .heat figcaption")
    moment, neuron = piece.locator("select").nth(2), piece.locator("select").nth(3)
    assert [option.strip() for option in neuron.locator("option").all_text_contents()] == [
        "0, n-gram, map",
        "1, other, map",
        "2",
    ]
    drawn = set()
    for name, largest in (("start", "0.1"), ("half", "0.2"), ("end", "0.3")):
        moment.select_option(name)
        assert captions.first.text_content().endswith(f"{name} of training, largest {largest}")
        drawn.add(piece.locator(".heat svg").first.inner_html())
    assert len(drawn) == 3
    neuron.select_option("1")
    at_end = piece.locator(".heat svg").first.inner_html()
    assert "none was measured" not in piece.inner_text()
    moment.select_option("start")
    assert "at the start none was measured" in piece.inner_text()
    assert captions.first.text_content().endswith("end of training")
    assert piece.locator(".heat svg").first.inner_html() == at_end
    neuron.select_option("2")
    assert piece.locator(".heat").count() == 0
    assert at.complaints == []


def test_the_page_turns_weights_into_the_frequencies_of_the_study(visit: Callable[..., Visit]) -> None:
    weights_TD = np.random.default_rng(0).normal(size=(15, 4))
    found = visit().of(f"frequencies({json.dumps(weights_TD.tolist())})")
    assert np.allclose(found, transform_neurons(weights_TD[None])[0], rtol=0, atol=1e-9)


@pytest.mark.parametrize("model", MODELS)
@pytest.mark.parametrize(
    ("width", "layers", "context", "vocabulary"), [(64, 1, 16, 512), (128, 3, 48, 96), (256, 2, 320, 64)]
)
def test_memory_is_counted_to_the_byte(
    visit: Callable[..., Visit], model: str, width: int, layers: int, context: int, vocabulary: int
) -> None:
    architecture, own = MODELS[model]
    sizes: dict[str, Any] = {"d_model": width, "vocabulary": vocabulary, "context": context, **own}
    expected = bytes_by_depth(architecture, [layers], **sizes)[layers]
    size = json.dumps({"d": width, "n": layers, "T": context, "V": vocabulary})
    found = visit().of(f"memoryOf({json.dumps(model)}, {size})")
    cache = found.pop("cache")
    assert found == {**expected._asdict(), "total": expected.total}
    assert cache == 4 * grown(models.build(architecture, n_blocks=layers, **sizes), context)


def grown(model: Any, tokens: int) -> int:
    """The numbers that a model keeps after generating so many tokens."""
    state = model.start(1)
    with torch.no_grad():
        for _ in range(tokens):
            _, state = model.step(torch.zeros(1, dtype=torch.int64), state)
    return sum(rows.length * rows.like.shape[:-2].numel() * rows.like.shape[-1] for rows in kept_rows(state))


def kept_rows(state: Any) -> Iterator[Rows]:
    if isinstance(state, Rows):
        yield state
    elif is_dataclass(state):
        yield from kept_rows([getattr(state, field.name) for field in fields(state)])
    elif isinstance(state, list | tuple):
        for one in state:
            yield from kept_rows(one)


def test_memory_is_shown_by_width_depth_context_and_model(visit: Callable[..., Visit]) -> None:
    at, piece = unfolded(visit, "figure-mixers-memory")
    assert piece.locator(".counted").count() > 5

    def seen() -> str:
        found: str = piece.locator(".plot svg").inner_html() + piece.locator("tbody").inner_text()
        return found

    for select in (piece.locator("select").nth(n) for n in range(2)):
        for option in select.locator("option").all_text_contents()[::3]:
            before, same = seen(), select.input_value() == option
            select.select_option(option)
            assert same or seen() != before
    before = seen()
    piece.locator("input[type=range]").focus()
    at.page.keyboard.press("ArrowLeft")
    assert seen() != before
    for check in piece.locator(".chips input").all():
        before = seen()
        check.uncheck()
        assert seen() != before
        check.check()
        assert seen() == before
    assert at.complaints == []


def test_without_scripts_no_piece_is_offered(visit: Callable[..., Visit]) -> None:
    at = visit(java_script_enabled=False)
    assert at.page.locator("details.explore").count() >= 2
    assert not any(one.is_visible() for one in at.page.locator("details.explore").all())


def unfold(at: Visit) -> None:
    """Unfold every piece, and wait until each is built."""
    at.of("document.querySelectorAll('details.explore').forEach(one => one.open = true)")
    built = "one.querySelector('.piece .plot svg, .piece table')"
    at.page.wait_for_function(f"[...document.querySelectorAll('.explore')].every(one => {built})")


@pytest.mark.parametrize("width", [360, 1280])
def test_unfolded_pieces_scroll_nothing_sideways_and_have_no_tiny_text(visit: Callable[..., Visit], width: int) -> None:
    at = visit(width, fragment="#pieces")
    unfold(at)
    at.lay_out_rows()
    assert at.of("document.documentElement.scrollWidth") <= width
    sizes = at.of(
        "[...document.querySelectorAll('.explore svg text')].map(one =>"
        " parseFloat(getComputedStyle(one).fontSize) * one.getScreenCTM().a)"
    )
    assert len(sizes) > 10
    assert min(sizes) >= 9


@pytest.mark.parametrize("scheme", ["light", "dark"])
def test_axe_finds_nothing_in_unfolded_pieces(visit: Callable[..., Visit], scheme: str) -> None:
    at = visit(fragment="#axe-pieces", color_scheme=scheme)
    unfold(at)
    found = at.violations("'.explore'")
    assert [(one["id"], one["nodes"][0]["html"][:200]) for one in found] == []
