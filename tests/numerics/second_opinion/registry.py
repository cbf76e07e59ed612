"""claim -> the function that derives its parts again: letter of the part ("" for a claim without parts) -> part."""

from collections.abc import Callable

from tests.numerics.second_opinion.numbers import Part
from tests.numerics.second_opinion.stored import Measured

Derived = Callable[[Measured], dict[str, Part]]
CLAIMS: dict[str, Derived] = {}


def claim(*ids: str) -> Callable[[Derived], Derived]:
    """Registers a function for the claims with these ids."""

    def register(function: Derived) -> Derived:
        for one in ids:
            assert one not in CLAIMS, one
            CLAIMS[one] = function
        return function

    return register
