"""Idempotency keys, by which a created post is found again. All are derived from the delivery's seed.

A delivery keeps its seed through every attempt. The first seed is derived from the draft, the account and the due time,
so a database restored from a backup arrives at the same keys and does not post twice.
"""

from datetime import datetime
from uuid import UUID, uuid5

_B32 = "234567abcdefghijklmnopqrstuvwxyz"
_NAMES = UUID("6f1d0f0a-6a53-5f1e-9d0b-4a5e0c1f7b21")


def first_seed(draft_id: str, account: str, due: datetime) -> str:
    """Return the seed of a draft's first delivery to an account: a UUIDv7 with the millisecond of `due`."""
    number = uuid5(_NAMES, f"{draft_id}/{account}/{due.timestamp():.3f}").int
    millisecond = int(due.timestamp() * 1000) & (1 << 48) - 1
    # UUIDv7 (RFC 9562): 48 bits of time, the version, 12 bits, the variant, 62 bits.
    return str(UUID(int=millisecond << 80 | 7 << 76 | number & ((1 << 76) - 1) & ~(3 << 62) | 2 << 62))


def uuid_key(seed: str, index: int) -> str:
    """Return the key of step `index` as a UUID, for platforms that accept any text."""
    return str(uuid5(_NAMES, f"{seed}/{index}"))


def tid_key(seed: str, index: int) -> str:
    """Return the key of step `index` as a TID of the AT Protocol: 13 characters that sort by time.

    A TID has 53 bits of microseconds and 10 bits of clock id (atproto.com/specs/tid). The milliseconds are those of
    `seed`, a UUIDv7; its random bits give the microseconds within and the clock id. The keys of one seed sort by
    `index`, which must be below 100.
    """
    number = UUID(seed).int
    millisecond, random = number >> 80, number & (1 << 62) - 1
    # 900 + 99 places stay below 1000, so neighbouring milliseconds cannot overlap.
    micros = millisecond * 1000 + random % 900 + index
    value = micros << 10 | (random >> 20) & 0x3FF
    return "".join(_B32[value >> shift & 31] for shift in range(60, -1, -5))


def short_key(seed: str) -> str:
    """Return ten hexadecimal characters that make a page's URL unique."""
    return uuid5(_NAMES, seed).hex[:10]
