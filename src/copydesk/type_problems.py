"""Errors of msgspec about a value of the wrong type, in words."""

import re
from collections.abc import Sequence
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from msgspec import inspect

_TYPES = {
    "int": "a whole number",
    "float": "a number",
    "str": "text",
    "bool": "true or false",
    "array": "a list",
    "object": "an object",
    "null": "null",
    "datetime": "a time",
}
_LIMITS = {
    ">=": "of at least",
    "<=": "of at most",
    ">": "of more than",
    "<": "of less than",
    "of length >=": "of at least",
    "of length <=": "of at most",
}
_MISMATCH = re.compile(
    r"Expected `(?P<expected>[^`]+)`(?:, got `(?P<found>[^`]+)`| (?P<limit>[^\d]+) (?P<bound>-?[\d.]+))"
)
_UNITS = {"str": " characters", "array": " items"}


def describe_type_problem(problem: str) -> str:
    """Return what is wrong with a value, to follow its name: `takes a whole number of at least 0`.

    `problem` is the message of msgspec without the path of the value.
    """
    if " matching regex " in problem:
        return "is not valid"
    if choice := re.fullmatch("(?:Invalid enum value|Object contains unknown field) (.+)", problem):
        return f"does not take {choice[1]}"
    if field := re.fullmatch("Object missing required field (.+)", problem):
        return f"lacks {field[1]}"
    match = _MISMATCH.fullmatch(problem)
    if match is None or match["expected"].split(" | ")[0] not in _TYPES or (match["limit"] or ">=") not in _LIMITS:
        return problem[:1].lower() + problem[1:]
    kinds = [kind for kind in match["expected"].split(" | ") if kind != "null"] or ["null"]
    takes = f"takes {' or '.join(_TYPES.get(kind, kind) for kind in kinds)}"
    if match["found"]:
        return f"{takes}, not {_TYPES.get(match['found'], match['found'])}"
    bound = float(match["bound"])
    unit = _UNITS.get(kinds[0], "")
    return f"{takes} {_LIMITS[match['limit']]} {bound:g}{unit[:-1] if bound == 1 else unit}"


def list_choices(target: object, path: str) -> list[str]:
    """Return the texts that `target` takes at a path as msgspec names it, `config.types[0]`; none if it takes any."""
    from msgspec import inspect  # noqa: PLC0415 - only for an error

    def choices(kind: "inspect.Type", fields: Sequence[str]) -> list[str]:
        if isinstance(kind, inspect.UnionType):
            return [choice for part in kind.types for choice in choices(part, fields)]
        if isinstance(kind, inspect.CollectionType):
            return choices(kind.item_type, fields)
        if isinstance(kind, inspect.StructType) and fields:
            found = (field.type for field in kind.fields if field.encode_name == fields[0])
            return [choice for field in found for choice in choices(field, fields[1:])]
        return [str(member.value) for member in kind.cls] if isinstance(kind, inspect.EnumType) else []

    return choices(inspect.type_info(target), re.findall(r"[A-Za-z]\w*", path))
