"""The rules of claims.yaml as tests: measurements of study 003 -> findings, a file for each group of claims."""

from allmlp.studies.quadrature.verdicts.integrals import angle_and_quadrature_terms, closed_forms, error_table
from allmlp.studies.quadrature.verdicts.neurons import phase_relation, single_frequency

__all__ = ["angle_and_quadrature_terms", "closed_forms", "error_table", "phase_relation", "single_frequency"]
