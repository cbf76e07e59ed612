"""The rules of claims.yaml as tests: measurements of study 004 -> findings, a file for each group of claims."""

from allmlp.studies.triangular.verdicts.forms import causal_without_bias, parameter_count
from allmlp.studies.triangular.verdicts.texts import fine_tuning, milestones
from allmlp.studies.triangular.verdicts.variants import (
    averaging_mask,
    discount,
    head_start,
    reshape_costs,
    second_triangle,
    sine,
)

__all__ = [
    "averaging_mask",
    "causal_without_bias",
    "discount",
    "fine_tuning",
    "head_start",
    "milestones",
    "parameter_count",
    "reshape_costs",
    "second_triangle",
    "sine",
]
