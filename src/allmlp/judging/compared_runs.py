"""The trainings that each part of a claim compares: on which texts, after how many steps and operations it holds."""

from collections.abc import Iterable, Mapping
from typing import Any

from allmlp.judging.evidence import Evidence
from allmlp.judging.rates import compared_models, is_of_model

EVERY = ""  # in place of a part's letter: all trainings of the claim


def budgets(claim: Mapping[str, Any], found: Evidence) -> dict[str, dict[str, Any]]:
    """Letter of a part -> corpora, and the least and the most steps and counted operations of what it compares.

    A part compares the models that `compares` of claims.yaml names for it; EVERY has all trainings behind the claim.
    A part without trainings is left out; operations that are not measured are None.
    """
    runs = {run: found.content["runs"][run] for run in found.trainings(claim["measures"])}
    parts = {
        letter: [run for run, about in runs.items() if any(is_of_model(model, about["labels"]) for model in models)]
        for letter, models in compared_models(claim).items()
    }
    parts = {EVERY: list(runs), **{letter: of for letter, of in parts.items() if of}}
    return {letter: _span(of, found) for letter, of in parts.items() if of}


def compared_trainings(claim: Mapping[str, Any], found: Evidence, letters: Iterable[str]) -> list[str]:
    """The trainings that a verdict is about: of the models that `compares` names for these parts ("" for a claim
    without any), or all behind the claim's measures if it names none for them.

    A part without names, beside one with them, compares no trainings: it is about the code, a time or a leak.
    """
    runs, named = found.trainings(claim["measures"]), compared_models(claim)
    models = {model for letter in letters for model in named.get(letter, named.get(EVERY)) or ()}
    some = [run for run in runs if any(is_of_model(model, found.content["runs"][run]["labels"]) for model in models)]
    return some or runs


def _span(runs: list[str], found: Evidence) -> dict[str, Any]:
    about = [found.content["runs"][run] for run in runs]
    cost = found.table("cost")
    operations = cost.loc[cost["run"].isin(runs), "counted_flops"] if len(cost) else cost
    return {
        "corpora": found.corpora_of(runs),
        "steps": [min(of["steps"] for of in about), max(of["steps"] for of in about)],
        "operations": [float(f"{end:.3g}") for end in (operations.min(), operations.max())]
        if len(operations)
        else None,
    }
