"""The rules of claims.yaml as tests: measurements of study 001 -> findings, a file for each group of claims."""

from allmlp.studies.mixers.verdicts.completions import coherent_completions
from allmlp.studies.mixers.verdicts.embedders import (
    autoencoder_embeds_no_better,
    gap_widens,
    mean_embeds_better,
    mixer_embeds_better,
    shared_words,
    training_embeds,
    transformer_teaches_nothing,
    untrained_embeds_nothing,
)
from allmlp.studies.mixers.verdicts.expansion import (
    expanded_at_equal_samples,
    expanded_mixer,
    flat_against_expanded,
    llama_of_half_the_width,
    speed,
)
from allmlp.studies.mixers.verdicts.formulae import (
    dimensions,
    fused_memory,
    hidden_units,
    masking,
    mixer_memory,
    transformer_memory,
)
from allmlp.studies.mixers.verdicts.own_training import (
    added_to_a_flat_mixer,
    overfitting,
    unit_decides,
    where_a_document_begins,
)
from allmlp.studies.mixers.verdicts.readers import (
    bidirectional_transformer_fails,
    distances_are_poor,
    information_is_there,
    tournament_grows,
)
from allmlp.studies.mixers.verdicts.representation import input_is_there, input_recovered, others_recovered
from allmlp.studies.mixers.verdicts.sizes import best_llama, flat_against_llama, width_against_depth
from allmlp.studies.mixers.verdicts.transformers import early_gpt, heads, three_settings
from allmlp.studies.mixers.verdicts.variants import hybrids, kernel, parallel, positions, two_heads

__all__ = [
    "added_to_a_flat_mixer",
    "autoencoder_embeds_no_better",
    "best_llama",
    "bidirectional_transformer_fails",
    "coherent_completions",
    "dimensions",
    "distances_are_poor",
    "early_gpt",
    "expanded_at_equal_samples",
    "expanded_mixer",
    "flat_against_expanded",
    "flat_against_llama",
    "fused_memory",
    "gap_widens",
    "heads",
    "hidden_units",
    "hybrids",
    "information_is_there",
    "input_is_there",
    "input_recovered",
    "kernel",
    "llama_of_half_the_width",
    "masking",
    "mean_embeds_better",
    "mixer_embeds_better",
    "mixer_memory",
    "others_recovered",
    "overfitting",
    "parallel",
    "positions",
    "shared_words",
    "speed",
    "three_settings",
    "tournament_grows",
    "training_embeds",
    "transformer_memory",
    "transformer_teaches_nothing",
    "two_heads",
    "unit_decides",
    "untrained_embeds_nothing",
    "where_a_document_begins",
    "width_against_depth",
]
