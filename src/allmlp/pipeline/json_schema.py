"""A JSON schema of params.yaml, config/ and files laid over them, from the models that check them: for editors.

    workflow/schemas/config.schema.json    `allmlp check --fix` writes it

A file holds some of the keys, so none is required; what two keys allow together is the models' own check. A null in a
file takes back what an earlier one has set.
"""

import json
from pathlib import Path
from typing import Any

from pydantic import BaseModel
from pydantic.json_schema import models_json_schema

from allmlp.common.schema import NAME, SCALES
from allmlp.data.corpora.sources import OF_TEXT, SOURCES, TEXT
from allmlp.data.corpora.spec import CorpusSpec
from allmlp.plan.params import Top
from allmlp.spec import catalogue

FILE = Path("workflow/schemas/config.schema.json")
DIALECT = "http://json-schema.org/draft-07/schema#"  # what editors and Snakemake read
ABOUT = "Parameters of allmlp: params.yaml, config/ and files laid over them. Made by `allmlp schema`."


def build_schema() -> dict[str, Any]:
    """The schema."""
    settings = {
        study: catalogue.module(study, "runs").Settings for study in catalogue.STUDIES if catalogue.has_runs(study)
    }
    models: list[type[BaseModel]] = [Top, CorpusSpec, *SOURCES.values(), *settings.values()]
    found, shared = models_json_schema([(model, "validation") for model in models])
    parts = {name: _drop_required(part) for name, part in _draft_7(shared["$defs"]).items()}
    refs = {model: _draft_7(found[model, "validation"]) for model in models}
    name_of = {model: ref["$ref"].rsplit("/", 1)[1] for model, ref in refs.items()}
    top, spec = parts.pop(name_of[Top]), parts.pop(name_of[CorpusSpec])
    for kind, model in SOURCES.items():  # a corpus has the keys of its source and, for text, those of its tokenizer
        if kind in TEXT:
            parts[name_of[model]]["properties"] |= {key: spec["properties"][key] for key in OF_TEXT}
    corpus = {"anyOf": [refs[model] for model in SOURCES.values()]}
    for model in settings.values():  # in a file of the user's own
        parts[name_of[model]]["properties"]["scales"] = {
            "type": "object",
            "properties": {scale: {"anyOf": [refs[model], {"type": "null"}]} for scale in SCALES},
            "additionalProperties": False,
        }
    top["properties"]["corpora"] = {
        "type": "object",
        "propertyNames": {"pattern": f"^{NAME.pattern}$"},
        "additionalProperties": corpus,
    }
    top["properties"]["studies"] = {
        "type": "object",
        "properties": {study: refs[model] for study, model in settings.items()},
        "additionalProperties": False,
    }
    return {
        "$schema": DIALECT,
        **top,
        "title": "allmlp",
        "description": ABOUT,
        "definitions": dict(sorted(parts.items())),
    }


def _draft_7(value: Any) -> Any:
    """References as draft 7 writes them."""
    return json.loads(json.dumps(value).replace("#/$defs/", "#/definitions/"))


LEFT_OUT = ("required", "default", "title", "discriminator")  # the last two only repeat names


def _drop_required(part: Any) -> Any:
    """Without required keys; where one of several forms is asked for, some keys may fit several."""
    if isinstance(part, list):
        return [_drop_required(one) for one in part]
    if not isinstance(part, dict):
        return part
    found = {"anyOf" if key == "oneOf" else key: value for key, value in part.items() if key not in LEFT_OUT}
    return {
        key: {name: _drop_required(one) for name, one in value.items()}
        if key == "properties"
        else _drop_required(value)
        for key, value in found.items()
    }


def text() -> str:
    """The schema as the file has it."""
    return json.dumps(build_schema(), indent=1, ensure_ascii=False) + "\n"
