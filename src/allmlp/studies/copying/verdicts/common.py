"""Common to the rules of study 002. The unit is the seed."""

from dataclasses import replace

import numpy as np
import pandas as pd

from allmlp.judging.rules import withhold_verdict
from allmlp.judging.statistics import Finding, judge_better


def paired_ratios(rows: pd.DataFrame, column: str, by: str, first: str, second: str) -> np.ndarray:
    """log2 of `column`, runs with `by` equal to `first` over runs with `second`: one number per seed.

    The mean over string lengths where there are several. A seed or length that only one of them has counts as NaN.
    """
    of_two = rows[rows[by].isin([first, second])]
    of_two = of_two.assign(log2=np.log2(of_two[column].clip(lower=1)))
    log2 = of_two.pivot(index=["seed", "string_length"], columns=by, values="log2")
    return (log2[first] - log2[second]).groupby("seed").agg(lambda ratios: ratios.mean(skipna=False)).to_numpy()


def judge_faster(
    rows: pd.DataFrame, fast: str, slow: str, margin: float, counted: str = "iterations", level: float = 0.95
) -> Finding:
    """Does `fast` reach 99 % with less of what is `counted` than `slow`? log2 ratios, mean over string lengths.

    A censored run counts with its budget and so looks faster than it is: a censored `slow` run cannot refute, a
    censored `fast` run cannot support.
    """
    differences = paired_ratios(rows, counted, "model", slow, fast)
    finding = judge_better(differences, margin, level=level, unit=f"log2 of the ratio of {counted}")
    of_two = rows[rows["model"].isin([fast, slow])]
    censored = {model: int((of_two["model"].eq(model) & ~of_two["reached"]).sum()) for model in (fast, slow)}
    counts = ", ".join(f"{model} {count}" for model, count in censored.items())
    text = f"{finding.text}; censored of {int(of_two['model'].eq(fast).sum())} runs each: {counts}"
    finding = withhold_verdict(
        replace(finding, text=text), "reproduced", f"{fast} is censored", when=censored[fast] > 0
    )
    return withhold_verdict(finding, "contradicted", f"{slow} is censored", when=censored[slow] > 0)
