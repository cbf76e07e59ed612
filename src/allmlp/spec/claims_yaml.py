"""The form of a study's claims.yaml, errata.yaml, inventory.yaml and paper_sizes.yaml, strictly checked.

Errors name file, line and the nearest key.
"""

import re
from collections.abc import Callable, Mapping
from dataclasses import dataclass, replace
from typing import Annotated, Any, Literal, Self

from pydantic import BeforeValidator, Field, ValidationInfo, field_validator, model_validator
from pydantic_core import PydanticCustomError

from allmlp.common import yaml_file
from allmlp.common.schema import Scale, StrictModel, refuse_unknown_names, validate


@dataclass(frozen=True)
class KnownNames:
    """What the claims of a study may name. `number`: with which its ids begin, such as 004."""

    number: str
    measures: tuple[str, ...] = ()
    verdicts: tuple[str, ...] = ()
    errata: tuple[str, ...] = ()
    exhibits: tuple[str, ...] = ()
    claims: tuple[str, ...] = ()


def _known_names(info: ValidationInfo) -> KnownNames:
    known: KnownNames = info.context  # type: ignore[assignment]
    return known


def _form(words: str, right: Callable[[Any], bool]) -> BeforeValidator:
    """Refuse what is not `right`; `words` say what is."""

    def refuse(value: Any) -> Any:
        if not right(value):
            raise PydanticCustomError("form", "must be {words}", {"words": words})
        return value

    return BeforeValidator(refuse)


def _numbers(key: str) -> Callable[[Any], bool]:
    """Is it a mapping of numbers, with texts as keys that match `key`?"""

    def right(value: Any) -> bool:
        if not isinstance(value, dict) or not all(isinstance(name, str) and re.fullmatch(key, name) for name in value):
            return False
        return all(isinstance(one, int | float) and not isinstance(one, bool) for one in value.values())

    return right


def _are_texts(value: Any) -> bool:
    return isinstance(value, list) and all(isinstance(one, str) for one in value)


Text = Annotated[str, _form("a text", lambda value: isinstance(value, str) and value.strip() != "")]
Names = Annotated[list[str], _form("a list of names, such as [one, another]", _are_texts)]
Numbers = Annotated[dict[str, float], _form("numbers with names, such as {loss_nats: 0.02}, or {}", _numbers(".+"))]
Effect = Annotated[
    dict[str, float],
    _form(
        "a number per part, such as {a: 0.25, b: 0.8}, or {all: 0.25} for a claim without parts", _numbers("[a-z]|all")
    ),
]
Seeds = Annotated[
    int,
    _form(
        "a whole number from 1 on. A statistic over seeds is undecided below 5; exact results need 1",
        lambda value: isinstance(value, int) and not isinstance(value, bool) and value > 0,
    ),
]


def _are_models(value: Any) -> bool:
    return _are_texts(value) or (
        isinstance(value, dict) and all(re.fullmatch("[a-z]", str(key)) and _are_texts(of) for key, of in value.items())
    )


Models = Annotated[
    list[str] | dict[str, list[str]],
    _form("a list of models, such as [flat base, llama-4 base], or one for each letter of a part", _are_models),
]

Positive = Annotated[
    float,
    _form(
        "a number above 0",
        lambda value: isinstance(value, int | float) and not isinstance(value, bool) and value > 0,
    ),
]


class PartNeeds(StrictModel):
    """What a part needs where it differs from its claim."""

    scale: Scale | None = None
    seeds: Seeds | None = None


class RuleTrial(StrictModel):
    """The number of a rule on something that is known, and what that is.

    `passes`: is it "reproduced" by the rule? Said only where the rule is wrong about it: a truth that fails, or noise
    that passes. Such a rule waits for a better one.
    """

    value: float
    of: Text
    passes: bool | None = None


OfParts = Annotated[
    dict[str, RuleTrial],
    _form(
        "a value and `of` per part, such as {a: {value: 0.9, of: held-out text}}, or `all` for a claim without parts",
        lambda value: isinstance(value, dict) and all(re.fullmatch("[a-z]|all", str(name)) for name in value),
    ),
]


class Needs(StrictModel):
    """The smallest scale and the number of seeds that decide a claim. `parts`: letter -> what differs."""

    scale: Scale
    seeds: Seeds
    parts: dict[str, PartNeeds] = Field(default={})


class Claim(StrictModel):
    """A claim with its rule. `test`: a function of the study's verdicts; null where no run measures the claim yet.

    `compares`: the models whose runs a verdict compares, so that none rests on a learning rate at an edge of its
    search. A model is given by words that are all among the labels of its runs. Empty: no verdict depends on a rate.
    `premise`: what must hold here before the rule says anything, with its numbers in `margin` or `paper`.
    A rule that `describes` text or structure has been applied to an example of that and to something that is not:
    `truth` and `noise`, one number per part that needs no trained model (tests/unit/test_truth_and_noise.py).
    `untried`: the other parts, and why there is no such number.
    """

    id: Text = Field(description="the paper's number, or its and `own`, and a number: 000-1, 000-own-1")
    claim: Text = Field(description="what the paper says, in a sentence")
    where: Text = Field(description="where: a figure, a table, a section")
    statistic: Text = Field(description="what is computed, from which runs, with which interval and test")
    reproduced_if: Text = Field(description="when the claim is reproduced; parts as (a), (b), ...")
    contradicted_if: Text = Field(description="when it is contradicted")
    margin: Numbers = Field(description="limits that the rule names, each with its unit in its name")
    reason: Text = Field(description="why this statistic and this margin")
    paper: Numbers = Field(description="numbers that the paper prints")
    measures: Names = Field(description="the measures that the statistic reads")
    needs: Needs = Field(description="the smallest scale and the number of seeds that decide")
    test: Text | None = Field(description="the function of the study's verdicts that judges; null where none can yet")
    errata: Names = Field(description="faults of the paper that bear on the claim")
    effect: Effect | None = Field(None, description="the size of the effect that the power is computed for, per part")
    runs: Names = Field(default=[], description="labels of the runs that it reads; all runs without any")
    compares: Models | None = Field(None, description="models whose learning rates must not be at an edge of a search")
    premise: Text | None = Field(None, description="what must hold here before the rule says anything")
    blind: bool = Field(True, description="was the rule written before any result was known?")
    seen: Text | None = Field(None, description="what was known, for a rule that is not blind")
    describes: Literal["text", "structure"] | None = Field(None, description="what it describes, if it describes one")
    truth: OfParts = Field(default={}, description="the number of the rule on what it describes, by part")
    noise: OfParts = Field(default={}, description="the number of it on noise")
    untried: dict[str, Text] = Field(default={}, description="parts without such numbers, and why")

    @field_validator("measures", "test", "errata")
    @classmethod
    def _there(cls, value: Any, info: ValidationInfo) -> Any:
        known = _known_names(info)
        what, names = {
            "measures": ("measure", known.measures),
            "test": ("verdict function", known.verdicts),
            "errata": ("erratum", known.errata),
        }[str(info.field_name)]
        refuse_unknown_names(what, [value] if isinstance(value, str) else value or (), names)
        return value

    @field_validator("id")
    @classmethod
    def _check_id(cls, value: str, info: ValidationInfo) -> str:
        return _refuse_other_id(value, f"{_known_names(info).number}-", "(own-)?")

    @model_validator(mode="after")
    def _check_trials(self) -> Self:
        if set(self.truth) != set(self.noise) or bool(self.describes) != bool(self.truth):
            raise PydanticCustomError("form", "needs truth and noise of the same parts, where it describes something")
        parts = set(re.findall(r"\(([a-z])\)", self.reproduced_if)) or {"all"}
        if self.describes and {*self.truth, *self.untried} != parts:
            raise PydanticCustomError(
                "form",
                "must have each of its parts, {parts}, in truth and noise or in untried",
                {"parts": ", ".join(sorted(parts))},
            )
        return self


class RepeatedClaim(StrictModel):
    """A claim on the number of another claim, `same_as`: it has that claim's rule and verdict, and counts with it."""

    id: Text = Field(description="an id of its own")
    claim: Text = Field(description="what the paper says")
    where: Text = Field(description="where")
    same_as: Text = Field(description="the claim with the same number")
    errata: Names = Field(description="faults of the paper that bear on it")

    @field_validator("same_as")
    @classmethod
    def _there(cls, value: str, info: ValidationInfo) -> str:
        refuse_unknown_names("claim with a rule of its own", [value], _known_names(info).claims)
        return value


class Erratum(StrictModel):
    """What a paper prints, what is right, and how that was checked.

    `found`: what follows, in one line. `weight`: a `conclusion` does not follow or reads otherwise; a `number`, formula
    or setting is wrong; the paper leaves a `gap`, or has a slip.
    """

    id: Text
    weight: Literal["conclusion", "number", "gap"]
    found: Text
    printed: Text
    right: Text
    how: Text

    @field_validator("id")
    @classmethod
    def _check_id(cls, value: str, info: ValidationInfo) -> str:
        return _refuse_other_id(value, f"E{_known_names(info).number}-", "")


def _refuse_other_id(value: str, begin: str, own: str) -> str:
    if not re.fullmatch(f"{re.escape(begin)}{own}[0-9]+", value):
        words = f"must be {begin}1, {begin}2, ..." + (f" or, for a claim of this project, {begin}own-1" if own else "")
        raise PydanticCustomError("form", "{words}", {"words": words})
    return value


class PaperExhibit(StrictModel):
    """A figure or table of a paper, and what shows the same here. `why`: why there is none, or what differs."""

    of: Text
    shows: Text
    here: Names
    why: Text | None = None

    @field_validator("here")
    @classmethod
    def _there(cls, value: list[str], info: ValidationInfo) -> list[str]:
        refuse_unknown_names("figure or table", value, _known_names(info).exhibits)
        return value

    @model_validator(mode="after")
    def _check_reason(self) -> Self:
        if not self.here and not self.why:
            raise PydanticCustomError("form", "needs a figure or table in `here`, or the reason for none in `why`")
        return self


class PrintedNumber(StrictModel):
    """A number of a paper's: `where` it stands, or how it follows. `inferred`: the paper is silent."""

    value: Positive
    where: Text
    inferred: bool = False


class Size(StrictModel):
    """The largest model that a paper trained for a claim. What is missing is not known.

    `parameters`: all of them; `non_embedding_parameters`: those that a paper counts without embeddings. `tokens`: the
    targets that took part in the loss. `operations`: 6 times parameters times tokens unless the paper prints another.
    """

    parameters: PrintedNumber | None = None
    non_embedding_parameters: PrintedNumber | None = None
    tokens: PrintedNumber | None = None
    operations: PrintedNumber | None = None

    @model_validator(mode="after")
    def _check_counts(self) -> Self:
        if self.parameters and self.non_embedding_parameters:
            raise PydanticCustomError("form", "has parameters or non_embedding_parameters, not both")
        return self


About = Literal["training", "beginning", "formula", "code"]


class PaperSize(StrictModel):
    """What a claim is about, and the size at which its paper shows it.

    `about`: what `training` gives, only its `beginning`, a `formula`, or the `code` (counts, memory, speed).
    """

    id: Text
    about: About
    size: Size | None = None

    @field_validator("id")
    @classmethod
    def _check_id(cls, value: str, info: ValidationInfo) -> str:
        return _refuse_other_id(value, f"{_known_names(info).number}-", "")

    @model_validator(mode="after")
    def _check_size(self) -> Self:
        if (self.size is not None) != (self.about in ("training", "beginning")):
            raise PydanticCustomError("form", "has a size if it is about training or its beginning, and else none")
        return self


FORMS: Mapping[str, type[StrictModel]] = {
    "claims": Claim,
    "errata": Erratum,
    "inventory": PaperExhibit,
    "paper_sizes": PaperSize,
}


def read(kind: str, text: str, file: str, known: KnownNames) -> list[dict[str, Any]]:
    """The rows of a file of a kind of FORMS, as they stand there. UserError for the first wrong one."""
    located = yaml_file.records(text, file, "of" if kind == "inventory" else "id")
    rows: dict[str, dict[str, Any]] = located.value
    known = replace(known, claims=tuple(name for name, row in rows.items() if "same_as" not in row))
    for name, row in rows.items():
        validate(RepeatedClaim if "same_as" in row else FORMS[kind], row, located, (name,), known)
    return [{**rows[row["same_as"]], **row} if "same_as" in row else row for row in rows.values()]
