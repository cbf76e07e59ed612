"""The pydantic base of everything that a user writes: unknown keys are refused, with the nearest valid one."""

import difflib
from typing import Any

from pydantic import BaseModel, ConfigDict, model_validator
from pydantic_core import PydanticCustomError


class Strict(BaseModel):
    """A frozen model that refuses unknown keys and does not turn one type into another."""

    model_config = ConfigDict(extra="forbid", frozen=True, strict=True, protected_namespaces=())

    @model_validator(mode="before")
    @classmethod
    def _refuse_unknown_keys(cls, data: Any) -> Any:
        if isinstance(data, dict):
            for key in data.keys() - cls.model_fields.keys():
                near = difflib.get_close_matches(str(key), cls.model_fields, n=1)
                advice = f"Did you mean {near[0]!r}?" if near else f"Valid keys: {', '.join(cls.model_fields)}."
                raise PydanticCustomError(
                    "unknown_key", "unknown key '{key}'. {advice}", {"key": str(key), "advice": advice}
                )
        return data
