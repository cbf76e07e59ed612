"""A pytest plugin for mutation runs: hypothesis draws the same few examples, and leaves a failure as large as it is.

What is loaded before a mutant is tried is left out of the collection of garbage, which would be most of the time.
"""

import gc

from hypothesis import Phase, settings

PHASES = (Phase.explicit, Phase.generate)
settings.register_profile("mutants", derandomize=True, database=None, max_examples=25, deadline=None, phases=PHASES)


def pytest_configure() -> None:
    """After conftest.py, which loads another profile."""
    settings.load_profile("mutants")


def pytest_collection_finish() -> None:
    """After all tests are imported."""
    gc.freeze()
