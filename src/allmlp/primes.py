"""Primes above 2: what the modulus of study 003 must be, for every frequency to add modulo it."""

from pydantic import AfterValidator


def is_odd_prime(number: int) -> bool:
    """Is it a prime above 2?"""
    return number > 2 and number % 2 == 1 and all(number % d for d in range(3, int(number**0.5) + 1, 2))


def odd_primes(limit: int) -> list[int]:
    """The primes above 2, up to `limit`."""
    return [number for number in range(3, limit + 1, 2) if is_odd_prime(number)]


def _checked(number: int) -> int:
    if not is_odd_prime(number):
        raise ValueError(f"{number} is not a prime above 2, and addition is modulo such a prime")
    return number


MustBeOddPrime = AfterValidator(_checked)  # of a setting, in Annotated[int, MustBeOddPrime]
