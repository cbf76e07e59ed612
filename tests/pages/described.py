"""What a field of a pydantic model takes, in words."""

import types
from collections.abc import Iterator
from pathlib import Path
from types import NoneType
from typing import Annotated, Any, Literal, Union, get_args, get_origin

from pydantic import BaseModel
from pydantic.fields import FieldInfo

from tests.pages.markdown import cell, code, table

WORDS = {int: "whole number", float: "number", str: "text", bool: "true or false", dict: "mapping", list: "list"}
WORDS |= {Path: "path", Any: "anything", NoneType: "null"}
BOUNDS = {"gt": "above {}", "ge": "from {}", "lt": "below {}", "le": "to {}"}
LENGTHS = {"min_length": "{} or more", "max_length": "{} at most"}
SHORTEST = 1  # a text or list that may not be empty: too common to be worth words


def keys(model: type[BaseModel]) -> str:
    """A table of a model's keys."""
    rows = [_row(field.alias or name, field) for name, field in model.model_fields.items()]
    return table(["key", "value", "default", "meaning"], rows) + "\n"


def _row(name: str, field: FieldInfo) -> list[str]:
    default = "required" if field.is_required() else _default(field.get_default(call_default_factory=True))
    return [code(name), in_words(field.annotation, field.metadata), default, cell(field.description or "")]


def _default(value: Any) -> str:
    if isinstance(value, BaseModel):
        return "its defaults"
    if isinstance(value, str):
        return code(" ".join(value.split()))
    return code("null" if value is None else str(value).lower() if isinstance(value, bool) else value)


def in_words(annotation: Any, metadata: Any = ()) -> str:
    """A type with its bounds, as Markdown; a block of keys is a link to its own table.

    >>> from annotated_types import MinLen
    >>> in_words(Annotated[list[int], MinLen(2)] | None)
    'list of whole numbers (2 or more) or null'
    """
    origin, of = get_origin(annotation), get_args(annotation)
    if origin is Annotated:
        return in_words(of[0], [*metadata, *of[1:]])
    if origin in (Union, types.UnionType):
        return " or ".join(in_words(one, () if one is NoneType else metadata) for one in of)
    bounds = _bounds([one for field in metadata for one in getattr(field, "metadata", [field])])
    return " ".join([_word(annotation, origin, of), *bounds])


def _word(annotation: Any, origin: Any, of: tuple[Any, ...]) -> str:
    if origin is Literal:
        return " or ".join(code(one) for one in of)
    if origin in (list, tuple):
        return f"list of {_several(in_words(of[0]))}"
    if origin is dict:
        return f"names, each with {in_words(of[1])}"
    if isinstance(annotation, type) and issubclass(annotation, BaseModel):
        return f"[keys of {annotation.__name__}](#{label(annotation)})"
    return WORDS.get(annotation, getattr(annotation, "__name__", str(annotation)))


def _several(words: str) -> str:
    """The plural, where a word of WORDS begins it."""
    found = next((one for one in ("whole number", "number", "text", "path", "list") if words.startswith(one)), "")
    return f"{found}s{words.removeprefix(found)}" if found else words


def _bounds(metadata: Any) -> Iterator[str]:
    found = [(name, getattr(one, name)) for one in metadata for name in (*BOUNDS, *LENGTHS) if hasattr(one, name)]
    yield from (BOUNDS[name].format(value) for name, value in found if name in BOUNDS)
    lengths = {name: value for name, value in found if name in LENGTHS}
    if lengths.get("min_length") == lengths.get("max_length") is not None:
        yield f"({lengths['min_length']})"
    elif said := [LENGTHS[name].format(value) for name, value in lengths.items() if value not in (None, SHORTEST)]:
        yield f"({', '.join(said)})"


def label(model: type[BaseModel]) -> str:
    """The place of a model's table on the page."""
    return f"{model.__module__}.{model.__name__}".removeprefix("allmlp.").replace(".", "-").replace("_", "-").lower()


def blocks(annotation: Any) -> Iterator[type[BaseModel]]:
    """The models in a type, outermost first."""
    if isinstance(annotation, type) and issubclass(annotation, BaseModel):
        yield annotation
    for part in get_args(annotation):
        yield from blocks(part)


def reached(model: type[BaseModel]) -> Iterator[type[BaseModel]]:
    """The models that a model's keys hold, directly or not, each once and in the order of the keys."""
    waiting = [one for field in model.model_fields.values() for one in blocks(field.annotation)]
    seen: list[type[BaseModel]] = []
    while waiting:
        found = waiting.pop(0)
        if found not in seen:
            seen.append(found)
            waiting = [one for field in found.model_fields.values() for one in blocks(field.annotation)] + waiting
    return iter(seen)
