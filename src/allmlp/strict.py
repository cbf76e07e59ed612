"""The pydantic base class of all user settings: unknown keys are refused, with the nearest valid one."""

import difflib
from collections.abc import Iterable
from typing import Any

from pydantic import BaseModel, ConfigDict, model_validator
from pydantic_core import PydanticCustomError


def _advice(wrong: str, right: Iterable[str], listing: str) -> str:
    names = list(right)
    near = difflib.get_close_matches(wrong, names, n=1)
    return f"Did you mean {near[0]!r}?" if near else f"{listing}: {', '.join(names)}."


def refuse_unknown_keys(data: dict[Any, Any], valid: Iterable[str]) -> None:
    """Raise pydantic's error for the first key of `data` that is not valid."""
    names = list(valid)
    for key in map(str, data):
        if key not in names:
            advice = _advice(key, names, "Valid keys")
            raise PydanticCustomError("unknown_key", "unknown key '{key}'. {advice}", {"key": key, "advice": advice})


def refuse_unknown_names(what: str, found: Iterable[str], right: Iterable[str]) -> None:
    """The same for keys that are names, for example of architectures (`what`)."""
    names = list(right)
    for name in found:
        if name not in names:
            raise PydanticCustomError(
                "unknown_name",
                "no {what} '{key}'. {advice}",
                {"what": what, "key": name, "advice": _advice(name, names, "There are")},
            )


class Strict(BaseModel):
    """A frozen model that refuses unknown keys, infinities and NaN, and does not turn one type into another."""

    model_config = ConfigDict(extra="forbid", frozen=True, strict=True, allow_inf_nan=False, protected_namespaces=())

    @model_validator(mode="before")
    @classmethod
    def _refuse_unknown_keys(cls, data: Any) -> Any:
        if isinstance(data, dict):
            refuse_unknown_keys(data, [field.alias or name for name, field in cls.model_fields.items()])
        return data
