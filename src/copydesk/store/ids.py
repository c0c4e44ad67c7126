"""Ids: UUIDv7, so that they sort by time of creation and need no round trip to the database."""

import random
import secrets
import threading
from collections.abc import Callable
from datetime import UTC, datetime, timedelta
from typing import Final

_EPOCH = datetime(1970, 1, 1, tzinfo=UTC)
_MILLISECOND = timedelta(milliseconds=1)
_COUNTER_BITS = 74
_LIMIT = 1 << _COUNTER_BITS


class Ids:
    """Makes ids that are strictly increasing, whatever the clock does.

    RFC 9562, section 6.2, method 2: the 74 bits beside the time start at random in each new millisecond and grow
    by a random step within it. When the clock goes back, the last millisecond is kept. Safe in several threads.

    The start comes from the system. The steps only keep ids apart, and the system is not asked for each: it lets other
    threads in, of which the one that stores a feed's items waits for its turn again.
    """

    def __init__(
        self, random_bits: Callable[[int], int] = secrets.randbits, steps: Callable[[int], int] = random.getrandbits
    ) -> None:
        self._random_bits = random_bits
        self._steps = steps
        self._lock = threading.Lock()
        self._moment = -1
        self._counter = 0

    def __call__(self, now: datetime) -> str:
        """The next id, in canonical text form; `now` is aware and not before 1970, else ValueError."""
        moment = _milliseconds(now)
        with self._lock:
            self._advance(moment)
            return _canonical(self._moment, self._counter)

    def _advance(self, moment: int) -> None:
        if moment > self._moment:
            self._moment = moment
            # The top bit is left free, so that the steps within a millisecond have room.
            self._counter = self._random_bits(_COUNTER_BITS - 1)
            return
        self._counter += 1 + self._steps(32)
        if self._counter >= _LIMIT:
            self._moment += 1
            self._counter = self._random_bits(_COUNTER_BITS - 1)


new_id: Final = Ids()
"""`new_id(now)` is this process's next id."""


def time_of(id: str) -> datetime:
    """When `id` was made, in UTC, to the millisecond; ValueError if it is no UUIDv7."""
    digits = id.replace("-", "")
    if len(id) != 36 or len(digits) != 32 or digits[12] != "7":
        raise ValueError(f"not an id: {id!r}")
    return _EPOCH + int(digits[:12], 16) * _MILLISECOND


def least_id(moment: datetime) -> str:
    """The least id that can be made at `moment` or later: what has one not below it is no older, to the millisecond."""
    return _canonical(_milliseconds(moment), 0)


def _milliseconds(now: datetime) -> int:
    if now.utcoffset() is None:
        raise ValueError(f"a time without an offset makes no id: {now!r}")
    moment = (now - _EPOCH) // _MILLISECOND
    if moment < 0:
        raise ValueError(f"a time before 1970 makes no id: {now!r}")
    return moment


def _canonical(moment: int, counter: int) -> str:
    high, low = counter >> 62, counter & ((1 << 62) - 1)
    digits = f"{moment << 80 | 0x7 << 76 | high << 64 | 0b10 << 62 | low:032x}"
    return f"{digits[:8]}-{digits[8:12]}-{digits[12:16]}-{digits[16:20]}-{digits[20:]}"
