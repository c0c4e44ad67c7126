"""Ids: UUIDv7, so that they sort by creation time and need no round trip to the database."""

import random
import secrets
import threading
from collections.abc import Callable
from datetime import UTC, datetime, timedelta
from typing import Final

from copydesk.errors import ClockError

_EPOCH = datetime(1970, 1, 1, tzinfo=UTC)
_MILLISECOND = timedelta(milliseconds=1)
_COUNTER_BITS = 74
_LIMIT = 1 << _COUNTER_BITS


class IdGenerator:
    """Generates strictly increasing ids, even when the clock goes back.

    RFC 9562, section 6.2, method 2: the 74 bits beside the timestamp start at random in each new millisecond and grow
    by a random step within it. When the clock goes back, the last millisecond is kept. Thread-safe.

    The start is cryptographically random. The steps only keep ids apart and come from `random`: asking the system for
    each would release the GIL, and the thread that stores the items of a feed would have to wait for it again.
    """

    def __init__(
        self, random_bits: Callable[[int], int] = secrets.randbits, steps: Callable[[int], int] = random.getrandbits
    ) -> None:
        self._random_bits = random_bits
        self._steps = steps
        self._lock = threading.Lock()
        self._last_millisecond = -1
        self._counter = 0

    def __call__(self, now: datetime) -> str:
        """Return the next id in canonical text form. Raise ValueError if `now` is naive, ClockError before 1970."""
        millisecond = _milliseconds(now)
        with self._lock:
            self._advance(millisecond)
            return _canonical(self._last_millisecond, self._counter)

    def _advance(self, millisecond: int) -> None:
        if millisecond > self._last_millisecond:
            self._last_millisecond = millisecond
            # The top bit stays clear, so that the steps within a millisecond have room.
            self._counter = self._random_bits(_COUNTER_BITS - 1)
            return
        self._counter += 1 + self._steps(32)
        if self._counter >= _LIMIT:
            # Counter exhausted: borrow the next millisecond, as the RFC allows.
            self._last_millisecond += 1
            self._counter = self._random_bits(_COUNTER_BITS - 1)


new_id: Final = IdGenerator()
"""`new_id(now)` returns the next id of this process."""


def creation_time(id: str) -> datetime:
    """Return the creation time of `id` in UTC, to the millisecond. Raise ValueError if it is not a UUIDv7."""
    digits = id.replace("-", "")
    if len(id) != 36 or len(digits) != 32 or digits[12] != "7":
        raise ValueError(f"not an id: {id!r}")
    return _EPOCH + int(digits[:12], 16) * _MILLISECOND


def min_id(instant: datetime) -> str:
    """Return the smallest id that can be created at `instant` or later.

    Rows with a smaller id are older, to the millisecond. No id is from before 1970.
    """
    return _canonical(_milliseconds(max(instant, _EPOCH)), 0)


def _milliseconds(now: datetime) -> int:
    if now.utcoffset() is None:
        raise ValueError(f"a time without an offset makes no id: {now!r}")
    milliseconds = (now - _EPOCH) // _MILLISECOND
    # UUIDv7 has no sign: an earlier time would wrap around and sort last.
    if milliseconds < 0:
        raise ClockError(
            f"The clock says {now:%Y-%m-%d %H:%M}, which is before 1970; nothing changed.", hint="Set the clock."
        )
    return milliseconds


def _canonical(milliseconds: int, counter: int) -> str:
    high, low = counter >> 62, counter & ((1 << 62) - 1)
    # Bit layout of RFC 9562: 48 bits of time, version 7, 12 bits, variant 0b10, 62 bits.
    digits = f"{milliseconds << 80 | 0x7 << 76 | high << 64 | 0b10 << 62 | low:032x}"
    return f"{digits[:8]}-{digits[8:12]}-{digits[12:16]}-{digits[16:20]}-{digits[20:]}"
