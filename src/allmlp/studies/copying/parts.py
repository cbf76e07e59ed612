"""Which rows of a measurement belong together: the study's parts, and an ablation beside what it ablates."""

import pandas as pd

from allmlp.studies.parts import of_part
from allmlp.studies.rules import NotPlannedError

PUBLISHED = "published"  # the variant that is CausalRN as the paper has it


def variants(rows: pd.DataFrame, *names: str) -> pd.DataFrame:
    """The ablations `names` (none: all) and the published CausalRN, at the string length and seeds of the ablations."""
    ablations = of_part(rows, "ablation")
    if missing := set(names) - set(ablations["variant"]):
        raise NotPlannedError(f"needs the ablations {', '.join(sorted(missing))}, which are not planned")
    comparison = of_part(rows, "comparison")
    published = comparison[
        comparison["model"].eq("causal-rn")
        & comparison["string_length"].isin(ablations["string_length"])
        & comparison["seed"].isin(ablations["seed"])
    ]
    if set(published["seed"]) != set(ablations["seed"]):
        raise NotPlannedError("needs the published CausalRN at the length and seeds of the ablations")
    return pd.concat(
        [published, ablations[ablations["variant"].isin(names or ablations["variant"])]], ignore_index=True
    )


def with_operations(falls: pd.DataFrame, cost: pd.DataFrame) -> pd.DataFrame:
    """`falls` with the counted operations up to 99 %: iterations times what a step of the run costs."""
    by_run = cost.set_index("run")
    per_step = by_run["counted_flops"] / by_run["steps_done"]
    return falls.assign(operations=falls["iterations"] * falls["run"].map(per_step))


def sharpness(falls: pd.DataFrame) -> pd.Series:
    """As `convergence.sharpness`, of rows of the measure `falls`: steps of the fall over steps before it."""
    took = (falls["to_10_steps"] - falls["to_90_steps"]).where(falls["fell"], falls["budget"])
    return took / falls["to_90_steps"].clip(lower=1)
