"""The rules of claims.yaml as tests: measurements of study 000 -> findings, a file for each group of claims."""

from allmlp.studies.language.verdicts.classes import class_shares, dct_sparse_rise, dct_sparse_share, l1_l2_bimodality
from allmlp.studies.language.verdicts.constructed import sorts_rightly
from allmlp.studies.language.verdicts.context import context_parameters
from allmlp.studies.language.verdicts.dct import (
    matched_perplexity,
    more_weights,
    neuron_identities,
    operations_and_weights,
)
from allmlp.studies.language.verdicts.energies import (
    few_frequencies,
    from_few_rows_to_few_frequencies,
    inverse_in_frequency,
    look_like_their_class,
)
from allmlp.studies.language.verdicts.keywords import coherent_keywords
from allmlp.studies.language.verdicts.samples import samples_known_and_in_context
from allmlp.studies.language.verdicts.scaling import (
    best_losses,
    bump,
    depth_and_width,
    equal_operations,
    size_exponents,
    what_counts_as_size,
)
from allmlp.studies.language.verdicts.variations import (
    hardly_dependent,
    wear_and_start,
    without_long_range,
    without_order,
)

__all__ = [
    "best_losses",
    "bump",
    "class_shares",
    "coherent_keywords",
    "context_parameters",
    "dct_sparse_rise",
    "dct_sparse_share",
    "depth_and_width",
    "equal_operations",
    "few_frequencies",
    "from_few_rows_to_few_frequencies",
    "hardly_dependent",
    "inverse_in_frequency",
    "l1_l2_bimodality",
    "look_like_their_class",
    "matched_perplexity",
    "more_weights",
    "neuron_identities",
    "operations_and_weights",
    "samples_known_and_in_context",
    "size_exponents",
    "sorts_rightly",
    "wear_and_start",
    "what_counts_as_size",
    "without_long_range",
    "without_order",
]
