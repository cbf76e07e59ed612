"""The findings that the first screen gives of a study: sentences of about.yaml with the numbers behind a verdict.

    - {claim: 001-own-1, part: b, says: "At equal time the mixer is {0:nats ahead of|nats behind} a Llama.",
       judges: the mixer is ahead, open: ...}

`judges`: the statement that the verdict is on, which the sentence may support or not. `at`: where on the course of
the trainings the numbers are read, if that is not their end; `{margin_key}` in it is the value of the claim's margin.
`{0}` is the first number of the claim's rule, or of its part's, `{least}` the smallest of several. A form with two
wordings says the number's size and the first wording from zero on, the second below: the sentence is true whatever is
measured. Without a number the sentence `open` stands in its place.

>>> "{0:nats ahead of|nats behind} it, {1:percent}, {2:exp2} times".format(*map(RoundedNumber, (-0.735, 0.922, 3.31)))
'0.73 nats behind it, 92 %, 9.9 times'
"""

import math
from collections.abc import Mapping, Sequence
from string import Formatter
from typing import Any

from scipy.special import stdtrit  # as in scipy.stats, which is slow to import

from allmlp.common.errors import UserError
from allmlp.common.paths import CLAIMS
from allmlp.common.schema import suggest_nearest
from allmlp.judging import claims_json
from allmlp.judging.compared_runs import EVERY
from allmlp.judging.needs import letter
from allmlp.judging.statistics import FEWEST_SEEDS
from allmlp.report import badges, first_screen
from allmlp.spec import catalogue
from allmlp.spec.labels import amount

FORMS = {"": float, "exp": math.exp, "exp2": lambda value: 2.0**value}
MOST_NUMBERS = 20  # that a sentence may name, of one claim


class RoundedNumber(float):
    """A number in a sentence: to two digits, or in one of the forms above. `exp`, `exp2`: of a logarithm."""

    def __format__(self, form: str) -> str:
        if "|" in form:
            positive, negative = form.split("|")
            return f"{_format_number(abs(self))} {positive if self >= 0 else negative}"
        if form == "percent":
            return f"{100 * self:.0f} %"
        if form not in FORMS:
            raise ValueError(f"no form '{form}'. There are: percent, {', '.join(filter(None, FORMS))}, and more|less")
        return _format_number(FORMS[form](self))


def _format_number(value: float) -> str:
    return f"{value:.2g}" if abs(value) < 100 else f"{value:,.0f}"


def check(study: str) -> None:
    """UserError for a finding of a study's about.yaml that names a claim, a part or a form that there is not."""
    claims = {row["id"]: row for of in catalogue.STUDIES for row in catalogue.ledger(of)}
    judged = {entry["id"]: entry for entry in claims_json.read()["claims"]} if CLAIMS.is_file() else {}
    where = f"src/allmlp/studies/{study}/about.yaml, headlines"
    for said in catalogue.read_about(study)["headlines"]:
        claim, part = said["claim"], said.get("part")
        if claim not in claims:
            raise UserError(f"{where}: there is no claim {claim}. {suggest_nearest(claim, claims, 'There are')}")
        letters = [letter(one["name"]) for one in judged.get(claim, {}).get("parts", ())]
        if part and letters and part not in letters:
            raise UserError(f"{where}: {claim} has no part {part}. Its parts are {', '.join(letters)}.")
        try:
            said["says"].format(*MOST_NUMBERS * [RoundedNumber(1.0)], least=RoundedNumber(1.0))
            said.get("at", "").format(**claims[claim]["margin"])
        except (ValueError, LookupError) as error:
            raise UserError(f"{where}, {claim}: a number in braces cannot be filled in: {error}.") from None


def study_headlines(
    study: str, entries: Mapping[str, Mapping[str, Any]], corpora: Mapping[str, Any]
) -> list[dict[str, Any]]:
    """The findings of a study: text, interval, budget, verdict of the claim or of its part, and what `rule` says.

    entries: claim -> entry; corpora: those of results/selected.json.
    """
    return [_finding(one, entries[one["claim"]], corpora) for one in catalogue.read_about(study)["headlines"]]


def _finding(said: Mapping[str, str], entry: Mapping[str, Any], corpora: Mapping[str, Any]) -> dict[str, Any]:
    judged = next((part for part in entry.get("parts", ()) if letter(part["name"]) == said.get("part")), entry)
    basis = entry.get("rests", {}).get(judged.get("name", ""), {}).get("of", ())
    numbers = [RoundedNumber(math.nan if one["mean"] is None else one["mean"]) for one in basis]
    try:
        known = bool(numbers) and all(map(math.isfinite, numbers))
        text = said["says"].format(*numbers, least=min(numbers)) if known else said["open"]
    except IndexError:  # fewer numbers than the sentence names: nothing was measured
        text = said["open"]
    badge = badges.words({**judged, "reach": entry.get("reach")})
    bounds = interval(said["says"], basis) if text != said["open"] else ""
    at = _read_at(said["claim"], said["at"]) if "at" in said else ""
    spans = entry.get("budgets") or {}
    span = spans.get(said.get("part", EVERY), spans.get(EVERY))
    found = {"text": text, "interval": bounds, "verdict": badge, "budget": budget(span, corpora, at)}
    return {**found, "judges": said["judges"], **rule(entry, said.get("part"))}


def _read_at(claim: str, at: str) -> str:
    (margin,) = (row["margin"] for row in catalogue.ledger(catalogue.claim_study(claim)) if row["id"] == claim)
    return at.format(**{key: amount(value) for key, value in margin.items()})


def rule(entry: Mapping[str, Any], part: str | None = None) -> dict[str, Any]:
    """By which rule: claim, `part`; is it the project's `own`, was it made when results were known (`late`)?"""
    late = entry["verdict"] not in badges.UNTESTED and badges.is_late(entry)
    return {"claim": entry["id"], "part": part, "own": catalogue.is_project_claim(entry["id"]), "late": late}


def interval(says: str, basis: Sequence[Mapping[str, Any]]) -> str:
    """The 95 % t interval of a sentence's one number, in the form that the sentence gives it; empty without a spread,
    and where the sentence names several numbers or the first of several.

    >>> interval("{0:lower|higher}", [{"mean": -1.0, "spread": 1.0, "n": 5}])
    '-0.24 to 2.2'
    """
    named = {name: form or "" for _, name, form, _ in Formatter().parse(says) if name}
    if set(named) != {"least"} and not (set(named) == {"0"} and len(basis) == 1):
        return ""
    of, (form,) = min(basis, key=lambda one: float(one["mean"])), named.values()
    if not of["spread"] or of["n"] < FEWEST_SEEDS:
        return ""
    half = float(stdtrit(of["n"] - 1, 0.975)) * of["spread"] / math.sqrt(of["n"])
    mean, form = (abs(of["mean"]), "") if "|" in form else (of["mean"], form)  # two wordings say a size
    low, high = (format(RoundedNumber(end), form) for end in (mean - half, mean + half))
    return f"{low} to {high}" if low != high else ""


def budget(span: Mapping[str, Any] | None, corpora: Mapping[str, Any], at: str = "") -> str:
    """The text and the length of the trainings that are compared: a finding holds for these. Empty without trainings.

    span: of `compared_runs.budgets`. at: where on their course the numbers are read, if not at the end.
    """
    if not span:
        return ""
    named = [name for name in first_screen.texts(span["corpora"] or [""], corpora) if name != first_screen.NO_TEXT]
    on = f"on {' and '.join(named)}, " if named else ""
    steps = " to ".join(f"{number:,}" for number in dict.fromkeys(span["steps"]))
    if at:
        return f"{on}{at}; the trainings took {steps} steps"
    operations = " to ".join(dict.fromkeys(f"{number:.1e}" for number in span["operations"] or ()))
    return f"{on}after {steps} steps" + (f", {operations} operations a run" if operations else "")
