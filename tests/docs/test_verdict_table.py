"""README's small table of verdicts is that of results/claims.json. To renew it, copy what the failure prints."""

import json

from allmlp import studies
from allmlp.report import claims
from allmlp.report.render import VERDICTS
from tests.conftest import PROJECT
from tests.docs.quoted import assert_quoted

HEADS = {kind: "needs more" if kind == "not testable at this scale" else kind for kind in VERDICTS}


def expected() -> str:
    """A row per paper, and one for the claims that this project adds: how many end with each verdict."""
    entries = json.loads((PROJECT / "results/claims.json").read_text(encoding="utf-8"))["claims"]
    titles = {study: f"{number} {studies.about(study)['paper']}" for study, number in studies.STUDIES.items()}
    rows: dict[str, list] = {title: [] for study, title in titles.items() if study != "crossover"} | {"own claims": []}
    for entry in entries:
        rows["own claims" if studies.is_own(entry["id"]) else titles[entry["study"]]].append(entry)
    lines = [f"| claims of | {' | '.join(HEADS.values())} |", f"| --- |{' ---: |' * len(HEADS)}"]
    counts = {name: claims.counts(of) for name, of in rows.items()}
    lines += [f"| {name} | {' | '.join(str(of[kind] or '') for kind in HEADS)} |" for name, of in counts.items()]
    return "\n".join(lines)


def test_the_table_is_that_of_the_claims() -> None:
    assert_quoted("README.md", "verdicts", expected())
