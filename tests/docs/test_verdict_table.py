"""README's small table of verdicts is that of results/claims.json. To renew it, copy what the failure prints."""

import json
from collections import Counter

from allmlp import studies
from tests.conftest import PROJECT
from tests.docs.quoted import assert_quoted

KINDS = ("reproduced", "partly", "contradicted", "undecided", "not testable at this scale", "not run")
HEADS = ("reproduced", "partly", "contradicted", "undecided", "needs more", "not run")


def expected() -> str:
    """A row per paper, and one for the claims that this project adds: how many end with each verdict."""
    claims = json.loads((PROJECT / "results/claims.json").read_text(encoding="utf-8"))["claims"]
    titles = {study: f"{number} {studies.about(study)['paper']}" for study, number in studies.STUDIES.items()}
    rows = {titles[study]: Counter() for study in studies.STUDIES if study != "crossover"} | {"own claims": Counter()}
    for claim in claims:
        rows["own claims" if studies.is_own(claim["id"]) else titles[claim["study"]]][claim["verdict"]] += 1
    lines = [f"| claims of | {' | '.join(HEADS)} |", f"| --- |{' ---: |' * len(HEADS)}"]
    lines += [f"| {name} | {' | '.join(str(counts[kind] or '') for kind in KINDS)} |" for name, counts in rows.items()]
    return "\n".join(lines)


def test_the_table_is_that_of_the_claims() -> None:
    assert_quoted("README.md", "verdicts", expected())
