"""Assert how a function's cost grows: a large input is measured against a small one on the same machine.

A limit in seconds would depend on the machine and on what else it runs. Proportional growth holds everywhere.
"""

import gc
import math
import sys
from collections.abc import Callable
from functools import cached_property
from time import process_time
from typing import Any, Generic, TypeVar

T = TypeVar("T")

FACTOR = 8
"""Size of the large input in units of the small one."""
TOLERANCE = 3
"""Accepted excess over the expected ratio. Quadratic cost would exceed it by a factor of eight."""
_ROUNDS = 8
_MIN_DURATION = 0.01
"""Seconds. Shorter runs are repeated until they take this long: the clock of a virtual machine may advance in jumps."""


def assert_linear(make_input: Callable[[int], T], run: Callable[[T], object], size: int) -> None:
    """Assert that `run(make_input(size))` costs at most TOLERANCE times its linear share of `size // FACTOR`.

    `make_input` returns an input of about that size and is not measured.
    """
    _assert_at_most(FACTOR * TOLERANCE, _Work(make_input, run, size // FACTOR), _Work(make_input, run, size))


def assert_bounded(make_input: Callable[[int], T], run: Callable[[T], object], size: int) -> None:
    """Assert that `run(make_input(size))` costs at most TOLERANCE times as much as for `size // FACTOR`."""
    _assert_at_most(TOLERANCE, _Work(make_input, run, size // FACTOR), _Work(make_input, run, size))


def _assert_at_most(ratio: float, small: "_Work[T]", large: "_Work[T]") -> None:
    """Measure both sizes alternately and compare the best times: one undisturbed round is enough."""
    best_large = math.inf
    repeats, best_small = small.count_repeats()
    for _ in range(_ROUNDS):
        # Twice at least before the first comparison: one disturbed run would let any large one pass.
        # On a virtual machine the clock may advance in jumps; a run between two of them was not measured.
        best_small = min(best_small, small.measure(repeats) or math.inf)
        best_large = min(best_large, large.measure(max(1, repeats // FACTOR)) or math.inf)
        if best_large <= ratio * best_small:
            return
    factor, seconds = best_large / best_small, f"{best_large:.2g} s instead of {best_small:.2g}"
    raise AssertionError(f"{FACTOR} times as much took {factor:.0f} times as long: {seconds}")


class _Work(Generic[T]):
    """A function on inputs of one size, each run on a new input and without caches."""

    def __init__(self, make: Callable[[int], T], do: Callable[[T], object], size: int) -> None:
        self._make, self._do, self._size = make, do, size

    def count_repeats(self) -> tuple[int, float]:
        """Return the repetitions needed for a measurable time, and the seconds per run.

        Runs once beforehand, for what is loaded only once.
        """
        self._do(self._make(self._size))
        repeats = 1
        while (seconds := self.measure(repeats) * repeats) < _MIN_DURATION:
            repeats *= 2 if seconds > _MIN_DURATION / 10 else 8
        return repeats, seconds / repeats

    def measure(self, repeats: int) -> float:
        """Return the seconds of process time per run.

        The garbage collector is off: it would visit other tests' objects.
        """
        inputs = [self._make(self._size) for _ in range(repeats)]
        caches = self._caches
        gc_enabled = gc.isenabled()
        gc.disable()
        try:
            started = process_time()
            for value in inputs:
                for cache in caches:
                    cache.cache_clear()
                self._do(value)
            return (process_time() - started) / repeats
        finally:
            if gc_enabled:
                gc.enable()

    @cached_property
    def _caches(self) -> list[Any]:
        """The caches of Copydesk's functions; a second run would otherwise cost nothing."""
        modules = [module for name, module in sys.modules.items() if name.partition(".")[0] == "copydesk"]
        return [member for module in modules for member in vars(module).values() if hasattr(member, "cache_clear")]
