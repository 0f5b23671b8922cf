"""Functions that the bench runs. They are no part of the main program, which every worker would have to import."""

from __future__ import annotations


def small(number: int) -> int:
    """A function of about a tenth of a millisecond."""
    total = 0
    for step in range(2000):
        total += (number * step) % 7
    return total
