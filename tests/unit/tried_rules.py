"""How rules on text and structure are tried on what they describe and on noise: see test_truth_and_noise.py."""

import json
import lzma
import re
from functools import cache
from pathlib import Path
from types import SimpleNamespace
from typing import NamedTuple

import numpy as np
import pytest

from allmlp.judging.statistics import Finding
from allmlp.spec import catalogue
from allmlp.studies.triangular.text_overlap import SEARCHED

SEEDS = range(6)
CLAIMS = {row["id"]: row for study in catalogue.STUDIES for row in catalogue.ledger(study) if row.get("describes")}
NUMBER = re.compile(r"-?\d+(\.\d+)?(e-?\d+)?")  # the first one after "mean", or at all, is a part's value


def tried(finding: Finding, parts: list[str]) -> dict[str, tuple[str, str]]:
    """part -> the number in its text, as printed there, and its verdict."""
    named = finding.parts or [SimpleNamespace(name="all", verdict=finding.verdict, text=finding.text)]
    found = {part.name[1:2] if part.name.startswith("(") else "all": part for part in named}
    after = {name: found[name].text.split("mean ", 1)[-1] for name in parts}
    return {name: (NUMBER.search(text)[0], found[name].verdict) for name, text in after.items()}


def assert_as_in_ledger(claim: str, truth: Finding, noise: Finding) -> None:
    """The ledger's numbers are these, the truth is reproduced, and noise is not, where the ledger does not say so."""
    row = CLAIMS[claim]
    for name, finding, kind in (("truth", truth, True), ("noise", noise, False)):
        found = tried(finding, list(row[name]))
        for part, (value, verdict) in found.items():
            assert float(value) == pytest.approx(row[name][part]["value"], rel=0.01, abs=1e-3), (name, part)
            assert (verdict == "reproduced") == row[name][part].get("passes", kind), (name, part)


class Novels(NamedTuple):
    """Text that a model reads and text that it does not, in passages."""

    read: list[str]
    held_out: list[str]


@cache
def passages(path: Path, length: int = 8000, every: int = 20) -> Novels:
    """Passages of novels: one in `every` is held out, and the others, in random order, as many as measures search."""
    with lzma.open(path, "rt", encoding="utf-8", newline="") as lines:
        texts = [json.loads(line)["text"] for line in lines]
    cut = [text[at : at + length] for text in texts for at in range(0, len(text) - length, length)]
    order = np.random.default_rng(0).permutation(len(cut))
    held_out, read = np.split(order, [len(cut) // every])
    return Novels([cut[place] for place in read[: SEARCHED // length]], [cut[place] for place in held_out])
