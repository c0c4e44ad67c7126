"""Validate values from outside against the interface's rules, naming the field."""

from typing import TypeVar

import msgspec

from copydesk.errors import FieldError, InvalidError
from copydesk.model.asked import control_character_problem, storage_problem

T = TypeVar("T")


def convert(field: str, value: object, target: type[T]) -> T:
    """Return `value` converted to `target`. Raise InvalidError naming `field`, or the path below it, and the rule."""
    try:
        return msgspec.convert(value, target)
    except msgspec.ValidationError as error:
        # msgspec words it "Expected `int`, got `str` - at `$.a[0]`": the path belongs to the field, not the message.
        problem, _, where = str(error).partition(" - at `$")
        path = where.rstrip("`").lstrip(".")
        raise InvalidError(
            FieldError(f"{field}.{path}" if path else field, problem[:1].lower() + problem[1:])
        ) from None


def parse_line(field: str, value: object, min_length: int, max_length: int) -> str:
    """Return `value` as one line of `min_length` to `max_length` characters, stripped of surrounding spaces.

    Raise InvalidError naming `field`.
    """
    text = convert(field, value, str).strip()
    if not min_length <= len(text) <= max_length:
        raise InvalidError(FieldError(field, f"takes {min_length} to {max_length} characters, not {len(text)}"))
    if problem := storage_problem(text) or control_character_problem(text):
        raise InvalidError(FieldError(field, problem))
    return text
