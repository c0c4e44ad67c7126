"""Parse and format the variants of an experiment as typed by the user: `none=0`, `two=2`."""

from collections.abc import Sequence
from string import ascii_lowercase

import msgspec

from copydesk.errors import FieldError, InvalidError
from copydesk.model.experiment import Variant
from copydesk.model.wire import Json

WRITER_PARAMETERS = (
    "hashtags",
    "length",
    "emoji",
    "link",
    "hook",
    "tone",
    "style",
    "cta",
    "instructions",
    "writer",
    "temperature",
)
"""Parameters known to some writer; the offline writer follows the first four. Any other name is allowed, too."""


def parse_variants(definitions: Sequence[str], parameter: str) -> tuple[Variant, ...]:
    """Return the variants, with letters as ids. Raise InvalidError if one is malformed or has a duplicate label."""
    variants: list[Variant] = []
    for index, definition in enumerate(definitions):
        label, equals, value = definition.partition("=")
        label = label.strip()
        if not equals:
            raise InvalidError(FieldError("variants", f"{definition!r} is not like none=0"))
        if any(variant.label == label for variant in variants):
            raise InvalidError(FieldError("variants", f"{label!r} is there already"))
        config = {parameter.strip(): parse_variant_value(value.strip())}
        variants.append(Variant(id=ascii_lowercase[index % 26], label=label, config=config))
    return tuple(variants)


def parse_variant_value(text: str) -> Json:
    """Parse a number, true, false or null; anything else is a string."""
    try:
        value: Json = msgspec.json.decode(text)
    except msgspec.DecodeError:
        return text
    return text if isinstance(value, dict | list) else value


def format_variant_value(value: object) -> str:
    """Format a value so that `parse_value` reads it back; null becomes "as always"."""
    if value is None:
        return "as always"
    return value if isinstance(value, str) else msgspec.json.encode(value).decode()
