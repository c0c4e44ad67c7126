"""Values from outside, checked against the interface's rules, with the field named."""

from typing import TypeVar

import msgspec

from copydesk.errors import FieldError, InvalidError
from copydesk.model.asked import unfit_in, unstorable_in

T = TypeVar("T")


def convert(field: str, value: object, kind: type[T]) -> T:
    """`value` as `kind`; InvalidError naming `field`, or what is below it, and the rule."""
    try:
        return msgspec.convert(value, kind)
    except msgspec.ValidationError as error:
        problem, _, where = str(error).partition(" - at `$")
        path = where.rstrip("`").lstrip(".")
        raise InvalidError(
            FieldError(f"{field}.{path}" if path else field, problem[:1].lower() + problem[1:])
        ) from None


def text_of(field: str, value: object, least: int, most: int) -> str:
    """`value` as a line of `least` to `most` characters, not counting spaces around it; InvalidError naming `field`."""
    text = convert(field, value, str).strip()
    if not least <= len(text) <= most:
        raise InvalidError(FieldError(field, f"takes {least} to {most} characters, not {len(text)}"))
    if wrong := unstorable_in(text) or unfit_in(text):
        raise InvalidError(FieldError(field, wrong))
    return text
