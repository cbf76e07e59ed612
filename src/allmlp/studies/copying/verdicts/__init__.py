"""The rules of claims.yaml as tests: measurements of study 002 -> findings, a file for each group of claims."""

from allmlp.studies.copying.verdicts.ablations import activations, phase_change, stability
from allmlp.studies.copying.verdicts.forms import linear_time, stable_forms
from allmlp.studies.copying.verdicts.images import digits_end_alike, heat_in_the_centre, images_end_alike
from allmlp.studies.copying.verdicts.strings import iterations_to_99, operations_to_99, similar_curves
from allmlp.studies.copying.verdicts.sweeps import faster_somewhere, sizes_and_sweeps
from allmlp.studies.copying.verdicts.text import text_convergence, text_of_stories

__all__ = [
    "activations",
    "digits_end_alike",
    "faster_somewhere",
    "heat_in_the_centre",
    "images_end_alike",
    "iterations_to_99",
    "linear_time",
    "operations_to_99",
    "phase_change",
    "similar_curves",
    "sizes_and_sweeps",
    "stability",
    "stable_forms",
    "text_convergence",
    "text_of_stories",
]
