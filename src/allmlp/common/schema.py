"""The pydantic base class of all user settings: unknown keys are refused, with the nearest valid one."""

import difflib
import math
import re
from collections.abc import Iterable
from itertools import accumulate
from typing import Annotated, Any, Literal

from pydantic import AfterValidator, BaseModel, ConfigDict, ValidationError, model_validator
from pydantic_core import PydanticCustomError

from allmlp.common.errors import LONGEST, UserError, format_value
from allmlp.common.yaml_file import LocatedYaml, Place, lookup

Scale = Literal["smoke", "laptop", "workstation", "long", "gpu", "paper"]  # parameters and claims name them
NAME = re.compile(r"[a-z0-9][a-z0-9_.-]*")  # of corpora and states: they become names of files
OF_NAMES = "has only a-z, 0-9, _, . and -, and begins with a letter or digit"
SCALES: tuple[Scale, ...] = ("smoke", "laptop", "workstation", "long", "gpu", "paper")


def suggest_nearest(wrong: str, right: Iterable[str], listing: str) -> str:
    """The name that was perhaps meant; without one, all that there are, after `listing`."""
    names = list(right)
    near = difflib.get_close_matches(wrong, names, n=1)
    if near:
        return f"Did you mean {near[0]!r}?"
    short = names[: sum(1 for end in accumulate(len(name) + 2 for name in names) if end <= LONGEST)]
    left = len(names) - len(short)
    return f"{listing}: {', '.join(short)}{f' and {left} more' if left else ''}."


def refuse_unknown_keys(data: dict[Any, Any], valid: Iterable[str]) -> None:
    """Raise pydantic's error for the first key of `data` that is not valid."""
    names = list(valid)
    for key in map(str, data):
        if key not in names:
            advice = suggest_nearest(key, names, "Valid keys")
            raise PydanticCustomError("unknown_key", "unknown key '{key}'. {advice}", {"key": key, "advice": advice})


def refuse_unknown_names(what: str, found: Iterable[str], right: Iterable[str]) -> None:
    """The same for keys that are names, for example of architectures (`what`)."""
    names = list(right)
    for name in found:
        if name not in names:
            raise PydanticCustomError(
                "unknown_name",
                "no {what} '{key}'. {advice}",
                {"what": what, "key": name, "advice": suggest_nearest(name, names, "There are")},
            )


def _to_plain_values(value: Any) -> Any:
    """What JSON can say, for the digest of a run's settings."""
    if isinstance(value, list):
        return [_to_plain_values(item) for item in value]
    if isinstance(value, (bool, int, str, type(None))) or (isinstance(value, float) and math.isfinite(value)):
        return value
    raise ValueError("must be a number, a text, true, false, nothing, or a list of these")


Hyperparameters = dict[str, Annotated[Any, AfterValidator(_to_plain_values)]]


class StrictModel(BaseModel):
    """A frozen model that refuses unknown keys, infinities and NaN, and does not turn one type into another."""

    model_config = ConfigDict(extra="forbid", frozen=True, strict=True, allow_inf_nan=False, protected_namespaces=())

    @model_validator(mode="before")
    @classmethod
    def _refuse_unknown_keys(cls, data: Any) -> Any:
        if isinstance(data, dict):
            refuse_unknown_keys(data, [field.alias or name for name, field in cls.model_fields.items()])
        return data


def validate(model: type[BaseModel], value: Any, located: LocatedYaml, prefix: Place, context: Any = None) -> Any:
    """`value`, which stands at `prefix` of a file, as a model. UserError with a line for each thing that is wrong.

    `context`: what the model's validators ask for.
    """
    try:
        return model.model_validate(value, context=context)
    except ValidationError as error:
        raise UserError("\n".join(dict.fromkeys(_message(located, e, prefix) for e in error.errors()))) from None


def _message(located: LocatedYaml, error: Any, prefix: Place) -> str:
    """One line for one pydantic error: where, what was found, what is right."""
    place, node = _locate(located, error["loc"], prefix)
    owner = ".".join(map(str, place)) or "params"
    if error["type"] in ("unknown_key", "unknown_name"):
        key, advice = error["ctx"]["key"], error["ctx"]["advice"]
        wrong = "unknown key" if error["type"] == "unknown_key" else f"no {error['ctx']['what']}"
        return f"{located.where((*place, key))}: {wrong} {format_value(key)} in {owner}. {advice}"
    if error["type"] == "missing":
        return f"{located.where(place)}: {owner} lacks the key '{error['loc'][-1]}'"
    said = error["msg"]
    if error["type"] in ("model_type", "dict_type"):
        said = "a block of keys stands here"
    if error["type"] == "union_tag_invalid":
        tags = [tag.strip(" '") for tag in error["ctx"]["expected_tags"].split(",")]
        said = suggest_nearest(error["ctx"]["tag"], tags, "There are")
    said = said.removeprefix("Value error, ")  # pydantic's own
    said = f"{said[0].lower()}{said[1:]}"
    across = error["type"] == "value_error" and isinstance(node, dict)  # of several keys, which it names
    return f"{located.where(place)}: {owner}{'' if across else f' is {format_value(node)}'}: {said}"


def _locate(located: LocatedYaml, loc: Place, prefix: Place) -> tuple[Place, Any]:
    """The deepest place of pydantic's `loc` that is in the files, and its value."""
    if prefix[:1] == ("corpora",) and loc[:1] == ("source",) and len(loc) > 1:
        loc = loc[2:]  # a corpus's keys are beside `source:`; CorpusSpec gathers them
    place: Place = prefix
    node: Any = lookup(located.value, prefix)
    for key in loc:
        if (isinstance(node, dict) and key in node) or (
            isinstance(node, list) and isinstance(key, int) and key < len(node)
        ):
            place, node = (*place, key), lookup(node, (key,))
    return place, node
