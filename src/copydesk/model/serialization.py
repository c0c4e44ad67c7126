"""Serialise values to JSON: camelCase names, UTC times as `2026-11-20T15:04:05.123Z`."""

from datetime import UTC, datetime
from typing import TypeVar

import msgspec

T = TypeVar("T")

# Not a recursive type, because msgspec cannot decode into one.
Json = None | bool | int | float | str | list[object] | dict[str, object]


class Struct(msgspec.Struct, frozen=True, kw_only=True, rename="camel"):
    """Base class of all values that are sent, printed or stored as JSON.

    Classes of which a run creates thousands and which hold nothing but plain values have `gc=False`: the garbage
    collector need not visit them, as they cannot be part of a reference cycle.
    """


def format_iso(time: datetime) -> str:
    """Return the time in UTC with milliseconds and a `Z`."""
    return time.astimezone(UTC).isoformat(timespec="milliseconds").replace("+00:00", "Z")


def to_json_value(value: object) -> Json:
    """Return `value` as JSON-compatible builtins, with times as strings."""
    return _times(msgspec.to_builtins(value, builtin_types=(datetime,)))


def to_json(value: object, *, indent: int = 0) -> str:
    """Return `value` as JSON text, indented by `indent` spaces if not 0."""
    raw = msgspec.json.encode(to_json_value(value))
    return (msgspec.json.format(raw, indent=indent) if indent else raw).decode()


def _times(value: object) -> Json:
    if isinstance(value, datetime):
        return format_iso(value)
    if isinstance(value, dict):
        return {str(key): _times(inner) for key, inner in value.items()}
    if isinstance(value, list | tuple):
        return [_times(inner) for inner in value]
    # to_builtins returns nothing else; the assertion is for the type checker.
    assert value is None or isinstance(value, str | int | float | bool), type(value)
    return value
