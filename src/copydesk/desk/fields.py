"""Validate values from outside against the interface's rules, naming the field."""

from typing import TypeVar

import msgspec

from copydesk.errors import FieldError, InvalidError
from copydesk.model.asked import unfit_in, unstorable_in

T = TypeVar("T")


def convert(field: str, value: object, kind: type[T]) -> T:
    """Return `value` converted to `target`. Raise InvalidError naming `field`, or the path below it, and the rule."""
    try:
        return msgspec.convert(value, kind)
    except msgspec.ValidationError as error:
        # msgspec words it "Expected `int`, got `str` - at `$.a[0]`": the path belongs to the field, not the message.
        problem, _, where = str(error).partition(" - at `$")
        path = where.rstrip("`").lstrip(".")
        raise InvalidError(
            FieldError(f"{field}.{path}" if path else field, problem[:1].lower() + problem[1:])
        ) from None


def text_of(field: str, value: object, least: int, most: int) -> str:
    """Return `value` as one line of `min_length` to `max_length` characters, stripped of surrounding spaces.

    Raise InvalidError naming `field`.
    """
    text = convert(field, value, str).strip()
    if not least <= len(text) <= most:
        raise InvalidError(FieldError(field, f"takes {least} to {most} characters, not {len(text)}"))
    if problem := unstorable_in(text) or unfit_in(text):
        raise InvalidError(FieldError(field, problem))
    return text
