"""Validate values from outside against the interface's rules, naming the invalid field.

`FieldReader` reads the fields of a request one by one, so that a single error names every invalid field.
"""

import re
from collections.abc import Iterator, Mapping, Sequence
from datetime import UTC, datetime, timedelta
from enum import StrEnum
from functools import cache
from typing import Annotated, TypeVar
from urllib.parse import urlsplit

import msgspec

from copydesk.errors import FieldError, InvalidError
from copydesk.model.serialization import format_iso
from copydesk.type_problems import describe_type_problem, list_choices

E = TypeVar("E", bound=StrEnum)
S = TypeVar("S", bound=str)
T = TypeVar("T")

MAX_TIME_AHEAD = timedelta(days=3653)
"""Ten years. A later time is taken for a typing error."""
MAX_URL_LENGTH = 2_000
MAX_ID_LENGTH = 100
# A list may have thousands of invalid entries, and each error is shown to the user.
MAX_PROBLEMS = 100
"""Problems named in one error."""
_MAX_NAME_LENGTH = 50  # of a name that the client made up, in a message
_NOT_IN_ADDRESS = re.compile(r"[\x00-\x20\x7f-\x9f\u2028\u2029\\]")
CONTROL_CHARACTERS = re.compile(r"[\x00-\x1f\x7f-\x9f\u2028\u2029]")
"""Characters not allowed in a text on one line."""
CONTROL_EXCEPT_BREAKS = re.compile(r"[\x00-\x08\x0b\x0c\x0e-\x1f\x7f-\x9f]")
"""Characters not allowed in a text of several lines, unless the text is stored exactly as received."""

# Types of request fields: their limits are those of the readers below, and part of the interface's description.
Id = Annotated[str, msgspec.Meta(min_length=1, max_length=MAX_ID_LENGTH, pattern=r"\S")]
WebAddress = Annotated[str, msgspec.Meta(min_length=1, max_length=MAX_URL_LENGTH, extra_json_schema={"format": "uri"})]


class FieldReader:
    """The fields of one request, by their names on the wire.

    Each method reads one field. A field that is missing or null reads as None or empty. So does an invalid one, whose
    problem is recorded; `raise_if_invalid` raises them all.
    """

    def __init__(
        self, kind: type[msgspec.Struct], data: object, *, prefix: str = "", problems: list[FieldError] | None = None
    ) -> None:
        self._prefix = prefix
        self._problems = [] if problems is None else problems
        try:
            fields = wire_fields(data, name=prefix.rstrip(".") or "body")
        except InvalidError as error:
            self._problems.extend(error.errors)
            fields = {}
        field_names = wire_names(kind)
        # Unknown names are refused in requests from Python and of the command line, where they are typing errors. The
        # HTTP service drops them before: clients may send fields of later versions.
        for name in fields:
            if name not in field_names:
                self.add_problem(
                    str(name)[:_MAX_NAME_LENGTH].encode("utf-8", "backslashreplace").decode(), "unknown field"
                )
        # Null and missing are the same on the wire.
        self._fields = {name: value for name, value in fields.items() if value is not None}

    def add_problem(self, name: str, message: str) -> None:
        """Record that the field is invalid; `message` continues the field's name."""
        self._problems.append(FieldError(self._prefix + name, message))

    def has_problem(self, name: str) -> bool:
        """Return True if a problem of the field has been recorded."""
        return any(problem.field == self._prefix + name for problem in self._problems)

    def raise_if_invalid(self) -> None:
        """Raise InvalidError with the recorded problems, if there are any."""
        if self._problems:
            raise InvalidError(*self._problems[:MAX_PROBLEMS])

    def has(self, name: str) -> bool:
        """Return True if the field was given, valid or not."""
        return name in self._fields

    def require(self, *names: str) -> None:
        """Record a problem for each of these fields that was not given."""
        for name in names:
            if not self.has(name):
                self.add_problem(name, "is missing")

    def text(self, name: str, max_length: int, *, min_length: int = 1, strip: bool = True) -> str | None:
        """Return a text of `min_length` to `max_length` characters, after surrounding white space is removed.

        Without `strip` the text is returned, and counted, exactly as given.
        """
        return self._text(name, self._fields[name], max_length, min_length, strip=strip) if self.has(name) else None

    def line(self, name: str, max_length: int, *, min_length: int = 1) -> str | None:
        """Return a text of at most `max_length` characters without line breaks and other control characters."""
        return (
            self._text(name, self._fields[name], max_length, min_length, CONTROL_CHARACTERS) if self.has(name) else None
        )

    def lines(self, name: str, max_length: int) -> str | None:
        """Return a text of at most `max_length` characters, which may be empty and have line breaks."""
        return self._text(name, self._fields[name], max_length, 0, CONTROL_EXCEPT_BREAKS) if self.has(name) else None

    def texts(
        self,
        name: str,
        max_count: int,
        max_length: int,
        *,
        min_count: int = 0,
        forbidden: re.Pattern[str] = CONTROL_CHARACTERS,
    ) -> tuple[str, ...]:
        """Return distinct texts of at most `max_length` characters each, stripped, in the order given.

        `min_count` and `max_count` bound the number of entries before duplicates are removed. `forbidden` matches
        characters that are not allowed.
        """
        valid = [
            self._text(entry, value, max_length, 1, forbidden)
            for entry, value in self._entries(name, min_count, max_count)
        ]
        return tuple(dict.fromkeys(text for text in valid if text is not None))

    def choice(self, name: str, kind: type[E], allowed: tuple[E, ...] = ()) -> E | None:
        """Return a member of the enumeration `kind`; one of `allowed` if that is not empty."""
        return self._choice(name, self._fields[name], allowed or tuple(kind)) if self.has(name) else None

    def option(self, name: str, allowed: Sequence[str]) -> str | None:
        """Return one of the texts `allowed`."""
        return self._choice(name, self._fields[name], tuple(allowed)) if self.has(name) else None

    def choices(self, name: str, kind: type[E], max_count: int) -> tuple[E, ...]:
        """Return one to `max_count` distinct members of the enumeration."""
        chosen: list[E] = []
        for entry, value in self._entries(name, 1, max_count):
            choice = self._choice(entry, value, tuple(kind))
            if choice in chosen:
                self.add_problem(entry, f"{choice} is a duplicate")
            elif choice is not None:
                chosen.append(choice)
        return tuple(chosen)

    def flag(self, name: str) -> bool:
        """Return the boolean; False if it was not given."""
        value = self._fields.get(name, False)
        if not isinstance(value, bool):
            self.add_problem(name, "takes true or false")
        return value is True

    def number(self, name: str, minimum: int, maximum: int) -> int | None:
        """Return a whole number of `minimum` to `maximum`."""
        value = self._fields.get(name)
        if value is None:
            return None
        value = as_whole_number(value)
        # Not isinstance: True is an int.
        if type(value) is int and minimum <= value <= maximum:
            return value
        self.add_problem(name, f"takes a whole number from {minimum} to {maximum:,}")
        return None

    def future_time(self, name: str, now: datetime) -> datetime | None:
        """Return a time after `now`, in UTC. The input needs an offset."""
        if not self.has(name):
            return None
        try:
            time = msgspec.convert(self._fields[name], datetime)
        except msgspec.ValidationError:
            self.add_problem(name, "takes a time like 2026-11-20T15:04:05Z")
            return None
        if problem := scheduled_time_problem(time, now):
            self.add_problem(name, problem)
            return None
        return time.astimezone(UTC)

    def web_address(self, name: str, internal: re.Pattern[str] | None = None) -> str | None:
        """Return a web address: http or https, with a host and without credentials.

        Also allowed is an address of our own that the pattern `internal` matches completely.
        """
        url = self.text(name, MAX_URL_LENGTH)
        if url is not None and internal is not None and internal.fullmatch(url):
            return url
        problem = url is not None and web_address_problem(url)
        if problem:
            self.add_problem(name, problem)
            return None
        return url

    def nested(self, name: str, kind: type[msgspec.Struct]) -> "FieldReader | None":
        """Return a reader for an object, or None if it was not given; its problems are recorded here."""
        if not self.has(name):
            return None
        return FieldReader(kind, self._fields[name], prefix=f"{self._prefix}{name}.", problems=self._problems)

    def objects(
        self, name: str, kind: type[msgspec.Struct], max_count: int, *, min_count: int = 0
    ) -> list["FieldReader"]:
        """Return a reader for each object of a list; their problems are recorded here."""
        entries = self._entries(name, min_count, max_count)
        return [
            FieldReader(kind, value, prefix=f"{self._prefix}{entry}.", problems=self._problems)
            for entry, value in entries
        ]

    def objects_by_choice(self, name: str, keys: type[E], kind: type[msgspec.Struct]) -> dict[E, "FieldReader"]:
        """Return a reader for each value of an object keyed by an enumeration; their problems are recorded here."""
        readers: dict[E, FieldReader] = {}
        for key, value in self.mapping(name).items():
            entry = f"{name}.{str(key)[:_MAX_NAME_LENGTH].encode('ascii', 'backslashreplace').decode()}"
            choice = self._choice(entry, key, tuple(keys))
            if choice is not None and value is not None:
                readers[choice] = FieldReader(kind, value, prefix=f"{self._prefix}{entry}.", problems=self._problems)
        return readers

    def mapping(self, name: str) -> dict[str, object]:
        """Return an object with arbitrary content; {} if it was not given."""
        value = self._fields.get(name, {})
        if isinstance(value, Mapping):
            return dict(value)
        self.add_problem(name, "takes an object with named fields")
        return {}

    def _entries(self, name: str, min_count: int, max_count: int) -> Iterator[tuple[str, object]]:
        """Yield each entry of a list with its name, such as `tags[2]`; nothing if the list's length is invalid."""
        if not self.has(name):
            return
        values = self._fields[name]
        if not isinstance(values, list | tuple):
            self.add_problem(name, "takes a list")
        # The length alone is reported: a list of a million entries would name each of them.
        elif not min_count <= len(values) <= max_count:
            self.add_problem(
                name, f"takes {f'{min_count} to' if min_count else 'at most'} {max_count} entries, not {len(values):,}"
            )
        else:
            yield from ((f"{name}[{index}]", value) for index, value in enumerate(values))

    def _text(
        self,
        name: str,
        value: object,
        max_length: int,
        min_length: int,
        forbidden: re.Pattern[str] | None = None,
        *,
        strip: bool = True,
    ) -> str | None:
        if not isinstance(value, str):
            self.add_problem(name, "takes text")
            return None
        text = value.strip() if strip else value
        if not min_length <= len(text) <= max_length:
            bounds = f"{min_length} to {max_length:,}" if min_length else f"at most {max_length:,}"
            self.add_problem(name, f"takes {bounds} characters, not {len(text):,}")
        elif problem := storage_problem(text) or control_character_problem(text, forbidden):
            self.add_problem(name, problem)
        else:
            return text
        return None

    def _choice(self, name: str, value: object, allowed: tuple[S, ...]) -> S | None:
        if value in allowed:
            # The member itself, not the equal plain string that came in.
            return allowed[allowed.index(value)]
        self.add_problem(name, f"takes one of {', '.join(allowed)}")
        return None


def as_whole_number(value: object) -> object:
    """Return a float without fraction as an int: JSON knows one kind of number, and some writers send 1.0 for 1."""
    return int(value) if isinstance(value, float) and value.is_integer() else value


def _with_whole_numbers(value: object) -> object:
    """Return `value` with `as_whole_number` applied to everything in it."""
    if isinstance(value, Mapping):
        return {name: _with_whole_numbers(inner) for name, inner in value.items()}
    if isinstance(value, list | tuple):
        return [_with_whole_numbers(inner) for inner in value]
    return as_whole_number(value)


def wire_fields(request: object, *, name: str = "body") -> Mapping[str, object]:
    """Return the fields of a request by their names on the wire.

    Both ways in are read alike: from Python code comes a struct, from JSON an object. Raise InvalidError for anything
    else, naming it `name`.
    """
    if isinstance(request, msgspec.Struct):
        # Not msgspec.to_builtins: it raises TypeError for a value that it cannot serialize.
        values = {field.encode_name: getattr(request, field.name) for field in msgspec.structs.fields(request)}
        return {field: value for field, value in values.items() if value is not msgspec.UNSET}
    if isinstance(request, Mapping):
        return request
    raise InvalidError(FieldError(name, "takes an object with named fields"))


@cache
def wire_names(kind: type[msgspec.Struct]) -> frozenset[str]:
    """Return the names on the wire of a struct's fields."""
    return frozenset(field.encode_name for field in msgspec.structs.fields(kind))


def storage_problem(text: str) -> str:
    """Return why neither databases nor platforms accept `text`, or "" if they do.

    Other control characters in a draft are data: they are stored as received and displayed as code points.
    """
    if "\x00" in text:
        return "contains a NUL character"
    # Surrogates come from JSON escapes such as "\ud800". SQLite refuses them when the row is written, long after the
    # request was accepted.
    if not text.isascii() and re.search("[\ud800-\udfff]", text):
        return "is not valid UTF-8"
    return ""


def control_character_problem(text: str, forbidden: re.Pattern[str] | None = CONTROL_CHARACTERS) -> str:
    """Return a message naming the first forbidden character of `text`, or "" if there is none."""
    match = forbidden.search(text) if forbidden else None
    return f"contains a control character (U+{ord(match[0]):04X})" if match else ""


def scheduled_time_problem(at: datetime, now: datetime) -> str:
    """Return why `at` cannot be scheduled, or "" if it can. A valid time is certain to be representable in UTC."""
    if at.utcoffset() is None:
        return "needs a UTC offset, as in 2026-11-30T14:30:00+01:00 or 2026-11-30T13:30:00Z"
    if at <= now:
        return f"is in the past: it is {format_iso(now)} now"
    # Compare without converting to UTC, which overflows for the first and last hours of the calendar.
    return "is more than ten years in the future" if at > now + MAX_TIME_AHEAD else ""


def web_address_problem(address: str) -> str:
    """Return why `address` is no web address without credentials, or "" if it is one."""
    try:
        parts = urlsplit(address)
        # Reading `port` raises ValueError for an invalid one.
        host, _ = parts.hostname, parts.port
    except ValueError:
        return "is not a web address"
    # Also refuses `javascript:` and `file:`, which would become links in the console and on platforms.
    if parts.scheme not in {"http", "https"} or not host:
        return "must start with https:// or http://"
    if _NOT_IN_ADDRESS.search(address):
        return "contains a space or a control character"
    # Credentials in an address would be stored, displayed and posted.
    if parts.username is not None or parts.password is not None:
        return "contains a user name or password; remove the part before the @"
    return ""


def convert(field: str, value: object, target: type[T]) -> T:
    """Return `value` converted to `target`. Raise InvalidError naming `field`, or the path below it, and the rule."""
    try:
        try:
            return msgspec.convert(value, target)
        except msgspec.ValidationError as error:
            if "got `float`" not in str(error):
                raise
            # Only after a first attempt failed: rebuilding every value would double the time of the common case.
            return msgspec.convert(_with_whole_numbers(value), target)
    except msgspec.ValidationError as error:
        # msgspec words it "Expected `int`, got `str` - at `$.a[0]`": the path belongs to the field, not the message.
        problem, _, where = str(error).partition(" - at `$")
        # It does not name the key of a mapping: `$.weights[...]`.
        path = where.rstrip("`").lstrip(".").replace("[...]", "")
        choices = list_choices(target, path) if problem.startswith("Invalid enum value") else []
        message = f"takes one of {', '.join(choices)}" if choices else describe_type_problem(problem)
        raise InvalidError(FieldError(f"{field}.{path}".replace(".[", "[") if path else field, message)) from None


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
