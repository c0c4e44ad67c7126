"""Serialise values to JSON: camelCase names, UTC times as `2026-11-20T15:04:05.123Z`."""

from datetime import UTC, datetime
from functools import cache
from typing import Any, NamedTuple, TypeVar

import msgspec
from msgspec import inspect as types

T = TypeVar("T")

# Not a recursive type, because msgspec cannot decode into one.
Json = None | bool | int | float | str | list[object] | dict[str, object]

_WITHOUT_TIMES = (
    types.RawType,
    types.NoneType,
    types.BoolType,
    types.IntType,
    types.FloatType,
    types.StrType,
    types.EnumType,
    types.LiteralType,
)


class Struct(msgspec.Struct, frozen=True, kw_only=True, rename="camel"):
    """Base class of all values that are sent, printed or stored as JSON.

    Classes of which a run creates thousands and which hold nothing but plain values have `gc=False`: the garbage
    collector need not visit them, as they cannot be part of a reference cycle.
    """


def format_iso(time: datetime) -> str:
    """Return the time in UTC with milliseconds and a `Z`."""
    # msgspec writes six digits or none, and is five times as fast as isoformat: a page of drafts has dozens of times.
    text = msgspec.to_builtins(time.astimezone(UTC))
    # Cut off, not rounded: a rounded time could be later than the clock, and an event before its cause.
    seconds, milliseconds = text[:19], text[19:23] if time.microsecond else ".000"
    return f"{seconds}{milliseconds}Z"


def to_json_value(value: object) -> Json:
    """Return `value` as JSON-compatible builtins, with times as strings."""
    return _times(msgspec.to_builtins(value, builtin_types=(datetime,)))


def encode_json(value: object) -> bytes:
    """Return `value` as JSON, as `to_json` does.

    Structs without times are left to msgspec: a page of drafts takes a tenth of the time of a walk over all its values.
    """
    return msgspec.json.encode(_with_times_as_text(value))


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


def _with_times_as_text(value: object) -> object:
    if isinstance(value, datetime):
        return format_iso(value)
    if isinstance(value, msgspec.Struct):
        return _struct_with_times_as_text(value)
    if isinstance(value, dict):
        return {key: _with_times_as_text(inner) for key, inner in value.items()}
    if isinstance(value, list | tuple):
        return [_with_times_as_text(inner) for inner in value]
    return value


def _struct_with_times_as_text(value: msgspec.Struct) -> object:
    encoding = _encoding(type(value))
    if encoding is None:
        return value
    if encoding.struct is None:
        return to_json_value(value)
    fields = list(msgspec.structs.astuple(value))
    for index in encoding.with_times:
        field = fields[index]
        if field is not None:
            fields[index] = format_iso(field) if isinstance(field, datetime) else _with_times_as_text(field)
    return encoding.struct(*fields)


class _Encoding(NamedTuple):
    """The way to encode a struct that may hold times."""

    struct: type[msgspec.Struct] | None
    """Has the same fields under their JSON names, and takes texts for times. None if all values must be walked."""
    with_times: tuple[int, ...]
    """Indexes of the fields whose values may hold times."""


@cache
def _encoding(struct: type[msgspec.Struct]) -> _Encoding | None:
    """Return the encoding of a struct; None if msgspec can encode it, as it holds no times."""
    info = types.type_info(struct)
    assert isinstance(info, types.StructType)
    with_times = tuple(index for index, field in enumerate(info.fields) if _may_hold_times(field.type, (struct,)))
    if not with_times:
        return None
    config = struct.__struct_config__
    # The copy without types would lose defaults, order and tag, so the values are walked instead.
    if config.omit_defaults or config.array_like or config.tag is not None:
        return _Encoding(None, with_times)
    return _Encoding(untyped_struct(struct), with_times)


def untyped_struct(struct: type[msgspec.Struct]) -> type[msgspec.Struct]:
    """Return a struct with the same fields in the same order, under their JSON names, that takes any values."""
    fields = msgspec.structs.fields(struct)
    names = {field.name: field.encode_name for field in fields}
    return msgspec.defstruct(struct.__name__, [(field.name, Any) for field in fields], rename=names, gc=False)


def _may_hold_times(kind: types.Type, outer: tuple[Any, ...]) -> bool:
    """Return False for a type whose values contain no times. `outer` are the structs that contain it."""
    match kind:
        case types.Metadata(type=inner):
            return _may_hold_times(inner, outer)
        case types.UnionType(types=members):
            return any(_may_hold_times(member, outer) for member in members)
        case types.VarTupleType(item_type=inner) | types.ListType(item_type=inner):
            return _may_hold_times(inner, outer)
        case types.DictType(value_type=inner):
            return _may_hold_times(inner, outer)
        case types.StructType(cls=struct, fields=fields):
            # A value may be of a subclass, which has more fields; a struct that contains itself is walked.
            is_open = struct in outer or bool(struct.__subclasses__())
            return is_open or any(_may_hold_times(field.type, (*outer, struct)) for field in fields)
    return not isinstance(kind, _WITHOUT_TIMES)
