"""claim -> the function that derives its parts again: letter of the part ("" for a claim without parts) -> part."""

from collections.abc import Callable

from tests.numerics.second_opinion.numbers import Part
from tests.numerics.second_opinion.stored import Measured

Derived = Callable[[Measured], dict[str, Part]]
CLAIMS: dict[str, Derived] = {}
ONLY_AT: dict[str, str] = {}  # claim -> the one scale whose sizes its words name


def claim(*ids: str, scale: str = "") -> Callable[[Derived], Derived]:
    """Registers a function for the claims with these ids; `scale`: the one whose sizes their words name."""

    def register(function: Derived) -> Derived:
        for one in ids:
            assert one not in CLAIMS, one
            CLAIMS[one] = function
            ONLY_AT.update({one: scale} if scale else {})
        return function

    return register
