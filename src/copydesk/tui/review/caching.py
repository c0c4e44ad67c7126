"""A size-limited cache in a plain dict."""

from typing import TypeVar

Key = TypeVar("Key")
Value = TypeVar("Value")


def lru_put(cache: dict[Key, Value], key: Key, value: Value, max_size: int) -> None:
    """Store a value as the newest of at most `max_size` entries; the oldest is dropped."""
    cache.pop(key, None)
    cache[key] = value
    if len(cache) > max_size:
        del cache[next(iter(cache))]
