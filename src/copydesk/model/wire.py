"""Values as JSON: camelCase names, UTC times as `2026-11-20T15:04:05.123Z`."""

from datetime import UTC, datetime
from typing import TypeVar

import msgspec

T = TypeVar("T")

# Not the recursive union that JSON is: msgspec cannot decode into one.
Json = None | bool | int | float | str | list[object] | dict[str, object]


class Struct(msgspec.Struct, frozen=True, kw_only=True, rename="camel"):
    """The base of everything that is sent or printed."""


def iso(moment: datetime) -> str:
    """`moment` in UTC with milliseconds and a `Z`."""
    return moment.astimezone(UTC).isoformat(timespec="milliseconds").replace("+00:00", "Z")


def to_wire(value: object) -> Json:
    """`value` as what the JSON module knows, with times in our form."""
    return _times(msgspec.to_builtins(value, builtin_types=(datetime,)))


def to_json(value: object, *, indent: int = 0) -> str:
    """`value` as JSON text; `indent` spaces where it is for people."""
    raw = msgspec.json.encode(to_wire(value))
    return (msgspec.json.format(raw, indent=indent) if indent else raw).decode()


def _times(value: object) -> Json:
    if isinstance(value, datetime):
        return iso(value)
    if isinstance(value, dict):
        return {str(key): _times(inner) for key, inner in value.items()}
    if isinstance(value, list | tuple):
        return [_times(inner) for inner in value]
    assert value is None or isinstance(value, str | int | float | bool), type(value)
    return value
