"""The rules of claims.yaml as tests: measurements of study 003 -> findings, a file for each group of claims."""

from allmlp.studies.quadrature.verdicts.bounds import bound_cost, moment_bound
from allmlp.studies.quadrature.verdicts.certificate import certificate_cost, whole_network_certificate
from allmlp.studies.quadrature.verdicts.hand_coded import angle_spacing, hand_coded_law
from allmlp.studies.quadrature.verdicts.integrals import angle_and_quadrature_terms, closed_forms, error_table
from allmlp.studies.quadrature.verdicts.logits import coefficients, identity_spectrum, regressions
from allmlp.studies.quadrature.verdicts.neurons import phase_relation, single_frequency
from allmlp.studies.quadrature.verdicts.printed import half_integral
from allmlp.studies.quadrature.verdicts.scan import weight_decay
from allmlp.studies.quadrature.verdicts.sums import covered, proportional, rectangles

__all__ = [
    "angle_and_quadrature_terms",
    "angle_spacing",
    "bound_cost",
    "certificate_cost",
    "closed_forms",
    "coefficients",
    "covered",
    "error_table",
    "half_integral",
    "hand_coded_law",
    "identity_spectrum",
    "moment_bound",
    "phase_relation",
    "proportional",
    "rectangles",
    "regressions",
    "single_frequency",
    "weight_decay",
    "whole_network_certificate",
]
