"""The ways that an experiment tries out, as people write them: `none=0`, `two=2`."""

from collections.abc import Sequence
from string import ascii_lowercase

import msgspec

from copydesk.errors import FieldError, InvalidError
from copydesk.model.experiment import Variant
from copydesk.model.wire import Json

PARAMETERS = (
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
"""Those that some writer knows; the offline one can follow the first four. Any other name is possible, too."""


def variants_read(ways: Sequence[str], parameter: str) -> tuple[Variant, ...]:
    """Each way as a variant, with a letter as its id; InvalidError for one that cannot be read or is there twice."""
    read: list[Variant] = []
    for place, way in enumerate(ways):
        label, equals, value = way.partition("=")
        label = label.strip()
        if not equals:
            raise InvalidError(FieldError("variants", f"{way!r} is not like none=0"))
        if any(each.label == label for each in read):
            raise InvalidError(FieldError("variants", f"{label!r} is there already"))
        config = {parameter.strip(): value_read(value.strip())}
        read.append(Variant(id=ascii_lowercase[place % 26], label=label, config=config))
    return tuple(read)


def value_read(text: str) -> Json:
    """A number, true, false or null; anything else is words."""
    try:
        value: Json = msgspec.json.decode(text)
    except msgspec.DecodeError:
        return text
    return text if isinstance(value, dict | list) else value


def value_written(value: object) -> str:
    """A value as it would be read again; null is said in words."""
    if value is None:
        return "as always"
    return value if isinstance(value, str) else msgspec.json.encode(value).decode()
