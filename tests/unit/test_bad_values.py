"""Bad values at every key that the schema has: each is planned, or refused in one short message with its place.

Each place of a study gets as many of the twelve as TRIED allows, at least one: they are dealt in turn to the places of
one name, so that every name of which there are twelve gets all.
"""

import shutil
from collections import Counter
from collections.abc import Iterator
from functools import cache
from pathlib import Path
from typing import Any

import pytest

from allmlp.common import yaml_file
from allmlp.common.errors import UserError
from allmlp.common.schema import Scale
from allmlp.common.yaml_file import LocatedYaml, Place
from allmlp.data.corpora.sources import SOURCES
from allmlp.pipeline import json_schema
from allmlp.plan import merge, params
from allmlp.plan.context import Context
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
TRIED = 900  # about so many values a study
LONG = 200  # characters of a line, of which a key's full name may have 70


@pytest.fixture(scope="module")
def base() -> Params:
    return params.load(PROJECT / "params.yaml", committed=True)


@cache
def schema() -> dict[str, Any]:
    return json_schema.build_schema()


def keys(node: Any, place: Place = ()) -> Iterator[Place]:
    """Every place below the root of settings."""
    if place:
        yield place
    if isinstance(node, dict):
        for key, value in node.items():
            yield from keys(value, (*place, key))


def places(node: Any, values: list[Any], place: Place = (), above: tuple[str, ...] = ()) -> Iterator[Place]:
    """Every place below one of the schema. Names that users choose are those of committed `values`; of lists the first.

    `above`: the parts of the schema around it, which may hold themselves.
    """
    if "$ref" in node:
        part = node["$ref"].rsplit("/", 1)[1]
        if part not in above:
            yield from places(schema()["definitions"][part], values, place, (*above, part))
        return
    for form in node.get("anyOf", []):
        yield from places(form, values, place, above)
    blocks = [value for value in values if isinstance(value, dict)]
    below = dict(node.get("properties", {}))
    if more := node.get("additionalProperties"):
        below |= {name: {"additionalProperties": True} if more is True else more for block in blocks for name in block}
    for key, form in below.items():
        yield (*place, key)
        yield from places(form, [block[key] for block in blocks if key in block], (*place, key), above)
    if isinstance(node.get("items"), dict):
        items = [value[0] for value in values if isinstance(value, list) and value]
        yield (*place, 0)
        yield from places(node["items"], items, (*place, 0), above)


def deal(found: list[Place]) -> Iterator[tuple[Place, str, str]]:
    """Each place with the values that it gets."""
    each, dealt, values = min(len(BAD), max(1, TRIED // len(found))), Counter[str](), [*BAD.items()]
    for place in found:
        key = ".".join(map(str, place[-2:] if place[-1] == 0 else place[-1:]))
        for _ in range(each):
            yield (place, *values[dealt[key] % len(BAD)])
            dealt[key] += 1


@cache
def settings(study: str) -> dict[Scale, LocatedYaml]:
    """A study's settings as committed, at each scale."""
    files = [yaml_file.read(PROJECT / "params.yaml")]
    return dict(merge.study_scales(PROJECT, study, "smoke", files))


def depth(node: Any, place: Place) -> int:
    """How many keys of a place are there."""
    for found, key in enumerate(place):
        if not (key in node if isinstance(node, dict) else isinstance(node, list) and key == 0 and node):
            return found
        node = node[key]
    return len(place)


def overlay(folder: Path, place: Place, text: str) -> Path:
    """A user's file with one value, at its line 3 or below; the items of a list stand in one line."""
    file, keys = folder / "my.yaml", place[: place.index(0)] if 0 in place else place
    for key in reversed(place[len(keys) :]):
        text = f"[{text}]" if key == 0 else f"{{{key}: {text}}}"
    indented = [f"{'  ' * depth}{key}:" for depth, key in enumerate(keys)]
    file.write_text("\n".join(["# mine", *indented]) + f" {text}\n")
    return file


def plan(base: Params, study: str, scale: Scale, located: LocatedYaml) -> None:
    """What `allmlp plan` does with these settings."""
    place = ("studies", study)
    model = catalogue.module(study, "runs").Settings
    checked = params.validate(model, yaml_file.lookup(located.value, place), located, place)
    params._check_corpora(checked, base.corpora, located, place)
    params._refuse_replaced_rates(checked, located, place, [])
    key = (study, scale)
    Plan(Params(scale, None, (), base.corpora, {key: checked}, files={key: located}), PROJECT).planned.of(study, scale)


def check(error: UserError, place: Place, name: str) -> None:
    """Each line has a place of a file, and is short."""
    for line in str(error).splitlines():
        assert line.startswith(("my.yaml:", "config/", "params.yaml:")), (place, name, line)
        assert len(line) <= LONG, (place, name, line)


@pytest.mark.parametrize("study", WITH_RUNS)
def test_no_bad_value_ends_in_a_traceback_or_a_long_message(study: str, base: Params, tmp_path: Path) -> None:
    values = {scale: located.value["studies"][study] for scale, located in settings(study).items()}
    node, refused = schema()["properties"]["studies"]["properties"][study], 0
    found = [
        place for place in dict.fromkeys(places(node, [*values.values()])) if place[0] != "scales"
    ]  # the same again
    assert {place for value in values.values() for place in keys(value)} <= {*found}
    tried = list(deal(found))
    for place, name, text in tried:
        scale = max(values, key=lambda scale: depth(values[scale], place))  # the smallest of those that set it
        over = yaml_file.read(overlay(tmp_path, ("studies", study, *place), text))
        try:
            plan(base, study, scale, yaml_file.merge(settings(study)[scale], over))
        except UserError as error:
            refused += 1
            check(error, place, name)
    assert refused > 0.5 * len(tried)


def test_no_bad_value_of_a_corpus_or_of_a_file_ends_in_a_traceback(tmp_path: Path) -> None:
    (tmp_path / "config").mkdir()
    shutil.copy2(PROJECT / "config/corpora.yaml", tmp_path / "config")
    (tmp_path / "params.yaml").write_text("scale: smoke\n")
    known = yaml_file.read(PROJECT / "config/corpora.yaml").value["corpora"]
    forms = schema()["properties"]["corpora"]["additionalProperties"]["anyOf"]
    found: list[Place] = [("corpora", "stories"), *((key,) for key in schema()["properties"])]
    found += [
        ("studies", "quadrature"),
        ("studies", "quadrature", "scales"),
        ("studies", "quadrature", "scales", "smoke"),
    ]
    for of in known.values():  # their files are there
        named = [of.get(key) or [] for key in ("files", "test_files")]
        for file in [file for one in named for file in ([one] if isinstance(one, str) else one)]:
            (tmp_path / file).parent.mkdir(parents=True, exist_ok=True)
            (tmp_path / file).touch()
    for kind, form in zip(SOURCES, forms, strict=True):
        name = next(name for name, of in known.items() if of["source"] == kind)
        found += [("corpora", name, *place) for place in dict.fromkeys(places(form, [known[name]]))]
    refused = 0
    for place in found:
        for name, text in BAD.items():
            over = overlay(tmp_path, place, text)
            try:
                given = params.load(tmp_path / "params.yaml", [over])
                Plan(given, tmp_path).recorded_files()
                if place[0] == "corpora" and place[1] in given.corpora:
                    Context(given, tmp_path, "cpu").tokens(str(place[1]))
            except UserError as error:
                refused += 1
                check(UserError(str(error).replace(str(tmp_path), "")), place, name)  # users choose where a clone lies
    assert refused > 300


@pytest.mark.parametrize(
    ("place", "text", "why"),
    [
        (("retrieval", "comparisons", "embedders", "pairs"), "[my-pairs]", "no corpus 'my-pairs'. Did you mean"),
        (("models", "flat", "longer"), "1e300", "studies.mixers.models.flat.longer is 1e+300: input should be less"),
        (
            ("models", "flat", "architecture"),
            "masked-mixr",
            "no architecture 'masked-mixr' in studies.mixers.models.flat",
        ),
        (("representation", "models"), "[flat, flatt]", "mixers: models='flatt': no model of that name"),
    ],
    ids=lambda found: ".".join(found) if isinstance(found, tuple) else "",
)
def test_what_a_study_reads_by_name_or_lists_is_checked(
    place: Place, text: str, why: str, base: Params, tmp_path: Path
) -> None:
    over = yaml_file.read(overlay(tmp_path, ("studies", "mixers", *place), text))
    with pytest.raises(UserError) as refused:
        plan(base, "mixers", "workstation", yaml_file.merge(settings("mixers")["workstation"], over))
    assert str(refused.value).startswith("my.yaml:")
    assert why in str(refused.value)


def test_a_wrong_hyperparameter_is_found_in_its_file(base: Params, tmp_path: Path) -> None:
    place = ("studies", "crossover", "hyperparameters", "masked-mixer", "n_heads")
    found = yaml_file.merge(settings("crossover")["smoke"], yaml_file.read(overlay(tmp_path, place, "0")))
    with pytest.raises(UserError, match=r"^my\.yaml:6: crossover: n_heads=0: it must be a whole number above 0$"):
        plan(base, "crossover", "smoke", found)
