"""Tests that a console which is used for hours keeps its memory. `make prove` runs them at full length."""

import ctypes
import functools
import gc
from importlib.metadata import version
from itertools import cycle, islice
from pathlib import Path
from typing import NamedTuple

import pytest
from textual._styles_cache import StylesCache

from console_driver import ConsoleDriver, FakeDesk, open_console
from copydesk.tui.terminal.private_api import TEXTUAL_WITH_LEAK
from delayed_responses import wait_until
from sampling import EXHAUSTIVE, sample_size

PALETTES, KEYS = sample_size(100), 3000
KEY_CYCLE = ("j", "j", "k", "question_mark", "escape", "j", "k", "G", "g", "slash", "escape", "tab")
BATCH = 12
"""Keys pressed in a row; they wait for each other."""
WARM_UP = 15
"""Palettes, or batches of keys, until caches are filled and the memory in use is steady."""
MAX_NEW_STYLE_CACHES = 40
"""Style caches more than after the warm-up: those of the palettes that are being closed."""
MAX_NEW_OBJECTS = 15_000
"""Objects more than after the warm-up. With the leak, 25 palettes leave 47,000."""
MAX_NEW_CACHED = 500
"""Entries more in all caches that have no maximum size."""
MAX_NEW_MEMORY = 16 * 2**20
"""Bytes more. With the leak, 100 palettes leave 28 MB; without it, what is free between objects in use varies."""


@pytest.fixture
def caches() -> list[functools._lru_cache_wrapper]:
    """Return the caches of all modules. Freeze everything else that is there, so that only the console is measured."""
    gc.unfreeze()
    found = [each for each in gc.get_objects() if isinstance(each, functools._lru_cache_wrapper)]
    gc.freeze()
    return found


class Usage(NamedTuple):
    """Objects and memory that the process holds."""

    objects: int
    style_caches: int
    cached: int
    memory: int


def measure(caches: list[functools._lru_cache_wrapper]) -> Usage:
    """Return what is held after a full collection."""
    gc.collect()
    ctypes.CDLL(None).malloc_trim(0)
    objects = gc.get_objects()
    resident_pages = int(Path("/proc/self/statm").read_text(encoding="ascii").split()[1])
    return Usage(
        objects=len(objects),
        style_caches=sum(isinstance(found, StylesCache) for found in objects),
        cached=sum(found.cache_info().currsize for found in caches if found.cache_info().maxsize is None),
        memory=resident_pages * 4096,
    )


async def open_palettes(ui: ConsoleDriver, count: int) -> None:
    for _ in range(count):
        await ui.press("colon", "escape")


async def press_keys(ui: ConsoleDriver, count: int) -> None:
    keys = cycle(KEY_CYCLE)
    for _ in range(0, count, BATCH):
        for key in islice(keys, BATCH):
            ui.app.simulate_key(key)
        await ui.wait()


def is_bounded(before: Usage, after: Usage) -> bool:
    return (
        after.style_caches - before.style_caches <= MAX_NEW_STYLE_CACHES
        and after.objects - before.objects <= MAX_NEW_OBJECTS
        and after.cached - before.cached <= MAX_NEW_CACHED
        and after.memory - before.memory <= MAX_NEW_MEMORY
    )


async def test_palettes_leave_nothing_behind(caches: list[functools._lru_cache_wrapper]) -> None:
    async with open_console(FakeDesk(60)) as ui:
        await open_palettes(ui, WARM_UP)
        before = measure(caches)
        await open_palettes(ui, PALETTES)
        # On a busy machine the widgets of closed palettes are removed later than the next one opens.
        await wait_until(lambda: is_bounded(before, measure(caches)), ui.wait)


@pytest.mark.skipif(not EXHAUSTIVE, reason="a proof of its own: make prove")
async def test_keys_leave_nothing_behind(caches: list[functools._lru_cache_wrapper]) -> None:
    async with open_console(FakeDesk(60)) as ui:
        await press_keys(ui, WARM_UP * BATCH)
        before = measure(caches)
        await press_keys(ui, KEYS)
        await wait_until(lambda: is_bounded(before, measure(caches)), ui.wait)


def test_installed_textual_is_the_one_with_the_leak() -> None:
    """After an upgrade: look whether `release_closed_widgets` is still needed, and for which release."""
    assert version("textual") == TEXTUAL_WITH_LEAK
