"""The JSON schema of the parameters: what is committed fits it, a misspelt key does not, and editors find it."""

import copy
import json
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest
import yaml
from jsonschema import Draft7Validator

from allmlp.common import yaml_file
from allmlp.pipeline import json_schema
from tests.conftest import PARAMETERS, PROJECT

NAMED = ("corpora", "models", "variants", "comparisons", "budgets", "families", "ladders", "hyperparameters")
Place = tuple[str | int, ...]


@pytest.fixture(scope="module")
def validator() -> Draft7Validator:
    made = json_schema.build_schema()
    Draft7Validator.check_schema(made)
    return Draft7Validator(made)


def files(root: Path) -> list[Path]:
    return [root / "params.yaml", *sorted((root / "config").rglob("*.yaml"))]


def keys(value: Any, place: Place = ()) -> Iterator[Place]:
    """The places of all keys of a file."""
    if isinstance(value, dict):
        yield from ((*place, key) for key in value)
    for key, one in value.items() if isinstance(value, dict) else enumerate(value) if isinstance(value, list) else ():
        yield from keys(one, (*place, key))


def misspelt(content: Any, place: Place) -> Any:
    """The content with another key at a place."""
    changed = copy.deepcopy(content)
    node = changed
    for key in place[:-1]:
        node = node[key]
    node[f"{place[-1]}x"] = node.pop(place[-1])
    return changed


@pytest.mark.parametrize("root", [PROJECT, PARAMETERS])
def test_every_committed_file_fits(root: Path, validator: Draft7Validator) -> None:
    for file in files(root):
        wrong = [
            f"{'.'.join(map(str, e.path))}: {e.message}" for e in validator.iter_errors(yaml_file.read(file).value)
        ]
        assert not wrong, file


def test_a_misspelt_key_does_not_wherever_it_stands(validator: Draft7Validator) -> None:
    tried = 0
    for file in files(PARAMETERS):
        content = yaml_file.read(file).value
        for place in keys(content):
            if not set(NAMED) & set(place[:-1]):  # names that the user chooses, and what is theirs
                tried += 1
                assert not validator.is_valid(misspelt(content, place)), (file, place)
    assert tried > 200


@pytest.mark.parametrize(
    "content",
    [
        {"studies": {"mixers": {"models": {"flat": {"hyperparametres": {}}}}}},
        {"studies": {"copying": {"text": {"models": {"transformer": {"hyperparametres": {}}}}}}},
        {"studies": {"quadrature": {"scales": {"long": {"stesp": 3}}}}},
        {"studies": {"quadrature": {"scales": {"lnog": {"steps": 3}}}}},
        {"corpora": {"mine": {"source": "local", "pahts": ["a.txt"]}}},
        {"corpora": {"mine": {"source": "stories", "documents": 3, "tokenizer": {"kind": "bytes", "vocabulry": 3}}}},
        {"corpora": {"digits": {"source": "digits", "tokenizer": {"kind": "bytes"}}}},
        {"studies": {"quadrature": {"steps": 0}}},
        {"scale": "huge"},
    ],
)
def test_what_the_models_refuse_in_one_key_does_not_fit(content: Any, validator: Draft7Validator) -> None:
    assert not validator.is_valid(content)


def test_a_file_of_the_users_own_holds_only_what_differs(validator: Draft7Validator) -> None:
    assert validator.is_valid(
        {"studies": {"quadrature": {"steps": 3, "scales": {"long": {"seeds": [7]}, "gpu": None}}}}
    )
    assert validator.is_valid({"corpora": {"stories": {"tokenizer": {"vocabulary": 512}}}})


def test_editors_find_the_committed_schema() -> None:
    assert (PROJECT / json_schema.FILE).is_file(), "test_check.py holds that it is that of the models"
    first = (PROJECT / "params.yaml").read_text(encoding="utf-8").splitlines()[0]
    assert first == f"# yaml-language-server: $schema={json_schema.FILE}"
    settings = json.loads((PROJECT / ".vscode/settings.json").read_text(encoding="utf-8"))
    assert settings["yaml.schemas"] == {str(json_schema.FILE): ["params.yaml", "config/**/*.yaml"]}


STUDIES = ("language", "mixers", "copying", "quadrature", "triangular", "crossover")  # the project's own


def test_the_catalog_reads_what_it_expects() -> None:
    said = yaml.safe_load((PROJECT / ".snakemake-workflow-catalog.yml").read_text(encoding="utf-8"))["usage"]
    assert set(said) == {"mandatory-flags", "software-stack-deployment", "report"}
    assert not any(said["software-stack-deployment"].values()), "no rule has an environment of its own"
    about = (PROJECT / "config/README.md").read_text(encoding="utf-8")
    assert all(f"`{study}`" in about for study in STUDIES)
