"""Keys that we choose, so that what was made under them is found again: all follow from the delivery's seed.

A delivery keeps its seed through every attempt. That of the first one follows from the draft, the account and the time
that it was due at, so that a database that is restored from a backup comes to the same one.
"""

from datetime import datetime
from uuid import UUID, uuid5

_B32 = "234567abcdefghijklmnopqrstuvwxyz"
_NAMES = UUID("6f1d0f0a-6a53-5f1e-9d0b-4a5e0c1f7b21")


def first_seed(draft_id: str, account: str, due: datetime) -> str:
    """The seed of a draft's first delivery to an account, as a UUIDv7 of the millisecond when it is due."""
    number = uuid5(_NAMES, f"{draft_id}/{account}/{due.timestamp():.3f}").int
    millisecond = int(due.timestamp() * 1000) & (1 << 48) - 1
    return str(UUID(int=millisecond << 80 | 7 << 76 | number & ((1 << 76) - 1) & ~(3 << 62) | 2 << 62))


def uuid_key(seed: str, place: int) -> str:
    """The key of a step, for platforms that take any text."""
    return str(uuid5(_NAMES, f"{seed}/{place}"))


def tid_key(seed: str, place: int) -> str:
    """The key of a step as the AT Protocol's TID: 13 characters that sort by time.

    53 bits of microseconds and 10 bits that tell clocks apart (atproto.com/specs/tid): the millisecond of `seed`, a
    UUIDv7, its first random bits for the microseconds within, and more of them for the clock. Those of one seed sort
    by their places, of which there are at most 100.
    """
    number = UUID(seed).int
    millisecond, random = number >> 80, number & (1 << 62) - 1
    micros = millisecond * 1000 + random % 900 + place
    value = micros << 10 | (random >> 20) & 0x3FF
    return "".join(_B32[value >> shift & 31] for shift in range(60, -1, -5))


def short_key(seed: str) -> str:
    """Ten characters for the end of an address of a page, so that no other page has it."""
    return uuid5(_NAMES, seed).hex[:10]
