"""A size-limited cache in a plain dict."""

from typing import TypeVar

Key = TypeVar("Key")
Value = TypeVar("Value")


def keep(kept: dict[Key, Value], key: Key, value: Value, most: int) -> None:
    """Store a value as the newest of at most `max_size` entries; the oldest is dropped."""
    kept.pop(key, None)
    kept[key] = value
    if len(kept) > most:
        del kept[next(iter(kept))]
