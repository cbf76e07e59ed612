"""Overlays in the project: each is a plan that needs no text to be read, of runs on the text that it names."""

from pathlib import Path

import pytest

from allmlp.plan.plan import load_plan

PROJECT = Path(__file__).parents[2]
STUDIES = {
    "classics": "triangular",
    "english": "language",
    "tinystories": "mixers",
    "tinystories-long": "crossover",
}
OVERLAYS = sorted(PROJECT.glob("config/recorded/*.yaml"))


def test_every_overlay_is_known_here() -> None:
    assert {overlay.stem for overlay in OVERLAYS} == set(STUDIES)


@pytest.mark.usefixtures("published")
@pytest.mark.parametrize("overlay", OVERLAYS, ids=lambda overlay: overlay.stem)
def test_an_overlay_trains_its_study_on_its_own_text(overlay: Path) -> None:
    plan = load_plan([overlay], {})
    runs = [run for run in plan.runs if run.study == STUDIES[overlay.stem]]
    assert plan.scale == ("long" if overlay.stem.endswith("-long") else "workstation")
    corpora = {run.corpus for run in runs if run.corpus}
    assert corpora
    assert not any(corpus.startswith("stories") for corpus in corpora)
