"""Rows of a measurement that belong together: the study's parts, and variations of one setting."""

import pandas as pd

from allmlp.judging.rules import NotPlannedError, part_rows
from allmlp.studies.language.names import CONTROL, CONTROLS, VARIATION

SETTINGS = ("corpus", "context", "d_mlp", "weight_decay", "embedding_std")  # settings that a variation may change


def select_variations(rows: pd.DataFrame, *settings: str) -> pd.DataFrame:
    """The variations that differ from their base in these settings only, the base among them."""
    found = part_rows(rows, VARIATION, CONTROL)
    for name in set(SETTINGS) - set(settings):
        found = found[found[name] == found[f"base_{name}"]]
    return found


def require_variations(rows: pd.DataFrame, *settings: str) -> pd.DataFrame:
    """As `select_variations`. NotPlannedError unless each of the settings has two values at least."""
    found = select_variations(rows, *settings)
    for name in settings:
        if found[name].nunique() < 2:
            raise NotPlannedError(f"needs several values of {name}, which are not planned")
    return found


def rows_by_corpus(rows: pd.DataFrame) -> dict[str, pd.DataFrame]:
    """The base's rows under "", and those on each planned control under the ending of its name."""
    found = select_variations(rows, "corpus")
    lines = {"": found[found["corpus"] == found["base_corpus"]]}
    lines |= {ending: found[found["corpus"] == found["base_corpus"] + f"-{ending}"] for ending in CONTROLS}
    return {ending: of_corpus for ending, of_corpus in lines.items() if len(of_corpus)}


def base_and_control(rows: pd.DataFrame, control: str) -> tuple[pd.DataFrame, pd.DataFrame]:
    """The base's rows, and those on `<corpus>-<control>`. NotPlannedError if either is not planned."""
    found = rows_by_corpus(rows)
    if {"", control} - set(found):
        raise NotPlannedError(f"needs runs on the study's corpus and on the same with {CONTROLS[control]}")
    return found[""], found[control]
