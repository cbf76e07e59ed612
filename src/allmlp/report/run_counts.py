"""How many runs there are: the one count that every page, README and `allmlp` alone ask.

A run of a scale counts as measured if results/selected.json has a measurement of it. A run that two scales share is
counted in each, and once in a sum over scales.
"""

from collections.abc import Iterable
from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    import pandas as pd

Studies = dict[str, dict[str, Any]]  # study -> scale or recorded overlay -> content, as in `selection.read`


def measured_runs(studies: Studies, scale: str = "", study: str = "") -> set[str]:
    """The measured runs; of all scales and studies where none is named."""
    return {
        run
        for name, scales in studies.items()
        for at, content in scales.items()
        if study in ("", name) and scale in ("", at)
        for runs in content["measurements"].values()
        for run in runs
    }


def missing_runs(studies: Studies, scale: str) -> set[str]:
    """The planned runs of a scale that lack a measurement."""
    return {
        run
        for scales in studies.values()
        if scale in scales
        for measure, runs in scales[scale]["planned"].items()
        for run in runs
        if run not in scales[scale]["measurements"].get(measure, {})
    }


def hours(rows: "pd.DataFrame", runs: Iterable[str]) -> float:
    """Hours of training that these runs took, by the rows of results/tables/runs.csv; unknown ones count as none."""
    import pandas as pd

    own = rows[rows["run"].isin(set(runs))].drop_duplicates("run") if len(rows) else rows
    return float(pd.to_numeric(own["seconds"], errors="coerce").sum() / 3600) if len(own) else 0.0


def levelled_shares(rows: "pd.DataFrame") -> dict[str, float]:
    """study -> the share of its compared trainings that have levelled off, by the rows of results/tables/runs.csv.

    A training that two scales share counts once, and one of which it is not known counts as not levelled.
    """
    trained = rows[rows["levelled"] != ""].drop_duplicates("run") if len(rows) else rows
    of_studies = trained.groupby("study", sort=False)["levelled"] if len(trained) else ()
    return {str(study): round(float((words == "levelled").mean()), 4) for study, words in of_studies}
