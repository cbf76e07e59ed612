"""A pytest plugin for mutation runs: hypothesis draws the same few examples, and leaves a failure as large as it is."""

from hypothesis import Phase, settings

PHASES = (Phase.explicit, Phase.generate)
settings.register_profile("mutants", derandomize=True, max_examples=25, deadline=None, phases=PHASES)
settings.load_profile("mutants")
