"""results/selected.json: what the last mile is given of each scale."""

import json
from pathlib import Path


def test_a_scale_that_nothing_was_trained_for_names_no_run(pipeline: Path) -> None:
    """Not even those that need no training, which it shares with the scale that was run."""
    found = json.loads((pipeline / "results/selected.json").read_text())["studies"]
    for study, scales in found.items():
        assert scales["smoke"]["measurements"], study
        begun = {name for name, content in scales.items() if content["runs"] or content["measurements"]}
        assert begun == {"smoke"}, study
        assert all(content["planned"] for content in scales.values())
