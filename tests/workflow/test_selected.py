"""results/selected.json: what the last mile is given of each scale."""

import contextlib
from pathlib import Path

from allmlp.judging import origins, selection


def test_a_scale_that_nothing_was_trained_for_names_no_run(pipeline: Path) -> None:
    """Not even those that need no training, which it shares with the scale that was run."""
    with contextlib.chdir(pipeline):
        found = selection.read()["studies"]
    for study, scales in found.items():
        assert scales["smoke"]["measurements"], study
        begun = {name for name, content in scales.items() if content["runs"] or content["measurements"]}
        assert begun == {"smoke"}, study
        assert all(content["planned"] for content in scales.values())


def test_every_run_made_from_a_clean_tree_has_a_known_origin(pipeline: Path) -> None:
    with contextlib.chdir(pipeline):
        found = origins.report_origins(selection.read())
    assert found.known == found.runs > 0
