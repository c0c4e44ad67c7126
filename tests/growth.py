"""What work costs as its input grows: large measured beside small, so that no machine is too slow for a test.

A bound in seconds says as much about the machine as about the code, and something else may run beside the test. That
something takes no more than in proportion to its length holds on every machine.
"""

import gc
import math
import sys
from collections.abc import Callable
from time import process_time
from typing import Any, Generic, TypeVar

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

    `make` gives an input of about that size, and is not measured.
    """
    _assert_at_most(FACTOR * TOLERANCE, _Work(make, do, size // FACTOR), _Work(make, do, size))


def assert_no_dearer(make: Callable[[int], T], do: Callable[[T], object], size: int) -> None:
    """`do(make(size))` costs no more, within TOLERANCE, than `do(make(size // FACTOR))`: as where there is a limit."""
    _assert_at_most(TOLERANCE, _Work(make, do, size // FACTOR), _Work(make, do, size))


def _assert_at_most(ratio: float, small: "_Work[T]", large: "_Work[T]") -> None:
    """Both sizes are measured by turns, and the best of each counts: one round that nothing disturbs is enough."""
    best_small = best_large = math.inf
    times = small.measurable()
    for _ in range(_ROUNDS):
        best_small = min(best_small, small.taken(times))
        best_large = min(best_large, large.taken(max(1, times // FACTOR)))
        if best_large <= ratio * best_small:
            return
    share, seconds = best_large / best_small, f"{best_large:.2g} s instead of {best_small:.2g}"
    raise AssertionError(f"{FACTOR} times as much took {share:.0f} times as long: {seconds}")


class _Work(Generic[T]):
    """What is done, on one size: each time on an input of its own, with nothing kept of the time before."""

    def __init__(self, make: Callable[[int], T], do: Callable[[T], object], size: int) -> None:
        self._make, self._do, self._size = make, do, size

    def measurable(self) -> int:
        """How often it must be done to be measurable. It is done once before, for what is loaded only once."""
        self._do(self._make(self._size))
        times = 1
        while (taken := self.taken(times) * times) < _MEASURABLE:
            times *= 2 if taken > _MEASURABLE / 10 else 8
        return times

    def taken(self, times: int) -> float:
        """Seconds of this process' time for doing it once, without the collecting of what other tests have left."""
        inputs = [self._make(self._size) for _ in range(times)]
        kept = _caches()
        collects = gc.isenabled()
        gc.disable()
        try:
            began = process_time()
            for given in inputs:
                for cache in kept:
                    cache.cache_clear()
                self._do(given)
            return (process_time() - began) / times
        finally:
            if collects:
                gc.enable()


def _caches() -> list[Any]:
    """The caches of Copydesk's functions: what was done before would cost nothing the second time."""
    modules = [module for name, module in sys.modules.items() if name.partition(".")[0] == "copydesk"]
    return [each for module in modules for each in vars(module).values() if hasattr(each, "cache_clear")]
