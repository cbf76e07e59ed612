"""Twelve bad values at every key of every study: each is planned, or refused in one short message with its place."""

from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest

from allmlp.common import yaml_file
from allmlp.common.errors import UserError
from allmlp.common.yaml_file import LocatedYaml, Place
from allmlp.plan import merge, params
from allmlp.plan.params import Params
from allmlp.plan.plan import Plan
from allmlp.spec import catalogue
from tests.conftest import PROJECT

BAD = {
    "not a number": ".nan", "no end": "-.inf", "a date": "2024-01-01", "negative": "-1", "zero": "0", "huge": "1e300",
    "long": f"'{'x' * 5000}'", "nothing": "null", "lists": "[[1], 2]", "keys": "{a: {b: 1}}", "true": "true",
    "a number as text": "'1'",
}  # fmt: skip
WITH_RUNS = [name for name in catalogue.STUDIES if catalogue.has_runs(name)]
SCALE = "smoke"
LONG = 250  # characters of a line, of which a key's full name may have 70


@pytest.fixture(scope="module")
def base() -> Params:
    return params.load(PROJECT / "params.yaml", committed=True)


def keys(node: Any, place: Place = ()) -> Iterator[Place]:
    """Every place below the root of settings."""
    if place:
        yield place
    if isinstance(node, dict):
        for key, value in node.items():
            yield from keys(value, (*place, key))


def settings(study: str) -> LocatedYaml:
    """A study's settings as committed, at the smallest scale."""
    files = [yaml_file.read(PROJECT / "params.yaml")]
    return next(found for scale, found in merge.study_scales(PROJECT, study, SCALE, files) if scale == SCALE)


def overlay(folder: Path, study: str, place: Place, text: str) -> LocatedYaml:
    """A user's file with one value, at its line 3 or below."""
    indented = [f"{'  ' * depth}{key}:" for depth, key in enumerate(("studies", study, *place))]
    file = folder / "my.yaml"
    file.write_text("\n".join(["# mine", *indented]) + f" {text}\n")
    return yaml_file.read(file)


def plan(base: Params, study: str, located: LocatedYaml) -> None:
    """What `allmlp plan` does with these settings."""
    place = ("studies", study)
    model = catalogue.module(study, "runs").Settings
    checked = params.validate(model, yaml_file.lookup(located.value, place), located, place)
    params._check_corpora(checked, base.corpora, located, place)
    key = (study, SCALE)
    Plan(Params(SCALE, None, (), base.corpora, {key: checked}, files={key: located}), PROJECT)._make_runs(study, SCALE)


@pytest.mark.parametrize("study", WITH_RUNS)
def test_no_bad_value_ends_in_a_traceback_or_a_long_message(study: str, base: Params, tmp_path: Path) -> None:
    committed, refused = settings(study), 0
    for place in keys(yaml_file.lookup(committed.value, ("studies", study))):
        for name, text in BAD.items():
            try:
                plan(base, study, yaml_file.merge(committed, overlay(tmp_path, study, place, text)))
            except UserError as error:
                refused += 1
                for line in str(error).splitlines():
                    assert line.startswith(("my.yaml:", "config/")), (place, name, line)
                    assert len(line) <= LONG, (place, name, line)
    assert refused > 50


def test_a_wrong_hyperparameter_is_found_in_its_file(base: Params, tmp_path: Path) -> None:
    place = ("hyperparameters", "masked-mixer", "n_heads")
    found = yaml_file.merge(settings("crossover"), overlay(tmp_path, "crossover", place, "0"))
    with pytest.raises(UserError, match=r"^my\.yaml:6: crossover: n_heads=0: it must be a whole number above 0$"):
        plan(base, "crossover", found)
