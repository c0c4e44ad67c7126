"""What work costs as its input grows: large measured beside small, so that no machine is too slow for a test.

A bound in seconds says as much about the machine as about the code, and something else may run beside the test. That
something takes no more than in proportion to its length holds on every machine.
"""

import gc
import math
from collections.abc import Callable
from time import process_time
from typing import TypeVar

T = TypeVar("T")

FACTOR = 8
"""How much larger the large input is than the small one."""
TOLERANCE = 3
"""How many times worse than in proportion is still put up with: a square would be eight times worse."""
_ROUNDS = 8
_MEASURABLE = 0.004
"""Seconds: shorter work is repeated until it takes as long."""


def assert_in_proportion(make: Callable[[int], T], do: Callable[[T], object], size: int) -> None:
    """`do(make(size))` costs no more, within TOLERANCE, than in proportion to `do(make(size // FACTOR))`.

    `make` gives an input of about that size, and is not measured; `do` must do its work anew each time.
    """
    _assert_at_most(FACTOR * TOLERANCE, make, do, size)


def assert_no_dearer(make: Callable[[int], T], do: Callable[[T], object], size: int) -> None:
    """`do(make(size))` costs no more, within TOLERANCE, than `do(make(size // FACTOR))`: as where there is a limit."""
    _assert_at_most(TOLERANCE, make, do, size)


def _assert_at_most(ratio: float, make: Callable[[int], T], do: Callable[[T], object], size: int) -> None:
    """Both sizes are measured by turns, and the best of each counts: one round that nothing disturbs is enough."""
    small, large = make(size // FACTOR), make(size)
    best_small = best_large = math.inf
    times = _times(do, small)
    for _ in range(_ROUNDS):
        best_small = min(best_small, _taken(do, small, times))
        best_large = min(best_large, _taken(do, large, max(1, times // FACTOR)))
        if best_large <= ratio * best_small:
            return
    share, seconds = best_large / best_small, f"{best_large:.2g} s instead of {best_small:.2g}"
    raise AssertionError(f"{FACTOR} times as much took {share:.0f} times as long: {seconds}")


def _times(do: Callable[[T], object], given: T) -> int:
    """How often it must be done to be measurable. It is done once before, for what is loaded or made only once."""
    do(given)
    times = 1
    while (taken := _taken(do, given, times) * times) < _MEASURABLE:
        times *= 2 if taken > _MEASURABLE / 10 else 8
    return times


def _taken(do: Callable[[T], object], given: T, times: int) -> float:
    """Seconds of this process' time for doing it once, without the collecting of what other tests have left."""
    collects = gc.isenabled()
    gc.disable()
    try:
        began = process_time()
        for _ in range(times):
            do(given)
        return (process_time() - began) / times
    finally:
        if collects:
            gc.enable()
