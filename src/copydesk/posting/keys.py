"""Keys that we choose, so that what was made under them is found again: all follow from the delivery's own id.

A delivery keeps its id through every attempt, and through a database that is restored from a backup.
"""

from uuid import UUID, uuid5

_B32 = "234567abcdefghijklmnopqrstuvwxyz"
_NAMES = UUID("6f1d0f0a-6a53-5f1e-9d0b-4a5e0c1f7b21")


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
