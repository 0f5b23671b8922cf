"""Functions that the benchmark runs. They are not in the main program, because every worker would have to import it."""

from __future__ import annotations


def small(number: int) -> int:
    """A function of about a tenth of a millisecond."""
    total = 0
    for step in range(2000):
        total += (number * step) % 7
    return total
