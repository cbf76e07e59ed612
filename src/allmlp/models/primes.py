"""Primes above 2. The modulus of study 003 must be one, so that every frequency can add modulo it."""


def is_odd_prime(number: int) -> bool:
    """Is it a prime above 2?"""
    return number > 2 and number % 2 == 1 and all(number % d for d in range(3, int(number**0.5) + 1, 2))


def odd_primes(limit: int) -> list[int]:
    """The primes above 2, up to `limit`."""
    return [number for number in range(3, limit + 1, 2) if is_odd_prime(number)]
