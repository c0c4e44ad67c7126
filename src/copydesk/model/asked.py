"""Read and validate the fields of a request one by one, so that a single error names every invalid field."""

import re
from collections.abc import Iterator, Mapping
from datetime import UTC, datetime, timedelta
from enum import StrEnum
from functools import cache
from typing import TypeVar
from urllib.parse import urlsplit

import msgspec

from copydesk.errors import FieldError, InvalidError
from copydesk.model.wire import iso

E = TypeVar("E", bound=StrEnum)

FURTHEST = timedelta(days=3653)
"""Ten years. A later time is taken for a typing error."""
LONGEST_ADDRESS = 2_000
MOST_PROBLEMS = 100
"""Problems named in one error."""
_MAX_NAME_LENGTH = 50  # of a name that the client made up, in a message
_NOT_IN_ADDRESS = re.compile(r"[\x00-\x20\x7f-\x9f\u2028\u2029\\]")
CONTROL = re.compile(r"[\x00-\x1f\x7f-\x9f\u2028\u2029]")
"""Characters not allowed in a text on one line."""
CONTROL_BUT_BREAKS = re.compile(r"[\x00-\x08\x0b\x0c\x0e-\x1f\x7f-\x9f]")
"""Characters not allowed in a text of several lines, unless the text is stored exactly as received."""


class Asked:
    """The fields of one request, by their names on the wire.

    Each method reads one field. A field that is missing or null reads as None or empty. So does an invalid one, whose
    problem is recorded; `raise_if_invalid` raises them all.
    """

    def __init__(
        self, kind: type[msgspec.Struct], given: object, *, within: str = "", problems: list[FieldError] | None = None
    ) -> None:
        self._prefix = within
        self._problems = [] if problems is None else problems
        if isinstance(given, msgspec.Struct):
            # Both ways in are read alike: from Python code comes the struct itself, from JSON an object.
            given = msgspec.to_builtins(given, builtin_types=(datetime,))
        if not isinstance(given, Mapping):
            self._problems.append(FieldError(within.rstrip(".") or "body", "takes an object with named fields"))
            given = {}
        field_names = _wire_names(kind)
        for name in given:
            if name not in field_names:
                self.problem(
                    str(name)[:_MAX_NAME_LENGTH].encode("utf-8", "backslashreplace").decode(), "is no known field"
                )
        self._fields = {name: value for name, value in given.items() if value is not None}

    def problem(self, name: str, message: str) -> None:
        """Record that the field is invalid; `message` continues the field's name."""
        self._problems.append(FieldError(self._prefix + name, message))

    def is_wrong(self, name: str) -> bool:
        """Return True if a problem of the field has been recorded."""
        return any(problem.field == self._prefix + name for problem in self._problems)

    def refuse(self) -> None:
        """Raise InvalidError with the recorded problems, if there are any."""
        if self._problems:
            raise InvalidError(*self._problems[:MOST_PROBLEMS])

    def has(self, name: str) -> bool:
        """Return True if the field was given, valid or not."""
        return name in self._fields

    def need(self, *names: str) -> None:
        """Record a problem for each of these fields that was not given."""
        for name in names:
            if not self.has(name):
                self.problem(name, "is missing")

    def text(self, name: str, most: int, *, least: int = 1) -> str | None:
        """Return a text of `min_length` to `max_length` characters, not counting surrounding white space, which is
        removed.
        """
        return self._text(name, self._fields[name], most, least) if self.has(name) else None

    def line(self, name: str, most: int) -> str | None:
        """Return a text of at most `max_length` characters without line breaks and other control characters."""
        return self._text(name, self._fields[name], most, 1, CONTROL) if self.has(name) else None

    def lines(self, name: str, most: int) -> str | None:
        """Return a text of at most `max_length` characters, which may be empty and have line breaks."""
        return self._text(name, self._fields[name], most, 0, CONTROL_BUT_BREAKS) if self.has(name) else None

    def texts(
        self, name: str, most: int, longest: int, *, least: int = 0, unfit: re.Pattern[str] = CONTROL
    ) -> tuple[str, ...]:
        """Return distinct texts of at most `max_length` characters each, stripped, in the order given.

        `min_count` and `max_count` bound the number of entries before duplicates are removed. `forbidden` matches
        characters that are not allowed.
        """
        valid = [self._text(entry, value, longest, 1, unfit) for entry, value in self._entries(name, least, most)]
        return tuple(dict.fromkeys(text for text in valid if text is not None))

    def choice(self, name: str, kind: type[E], among: tuple[E, ...] = ()) -> E | None:
        """Return a member of the enumeration `kind`; one of `allowed` if that is not empty."""
        return self._choice(name, self._fields[name], among or tuple(kind)) if self.has(name) else None

    def choices(self, name: str, kind: type[E], most: int) -> tuple[E, ...]:
        """Return one to `max_count` distinct members of the enumeration."""
        chosen: list[E] = []
        for entry, value in self._entries(name, 1, most):
            choice = self._choice(entry, value, tuple(kind))
            if choice in chosen:
                self.problem(entry, f"{choice} is there already")
            elif choice is not None:
                chosen.append(choice)
        return tuple(chosen)

    def flag(self, name: str) -> bool:
        """Return the boolean; False if it was not given."""
        value = self._fields.get(name, False)
        if not isinstance(value, bool):
            self.problem(name, "takes true or false")
        return value is True

    def number(self, name: str, least: int, most: int) -> int | None:
        """Return a whole number of `minimum` to `maximum`."""
        value = self._fields.get(name)
        if value is None:
            return None
        # Not isinstance: True is an int.
        if type(value) is int and least <= value <= most:
            return value
        self.problem(name, f"takes a whole number of {least} to {most:,}")
        return None

    def moment(self, name: str, now: datetime) -> datetime | None:
        """Return a time after `now`, in UTC. The input needs an offset."""
        if not self.has(name):
            return None
        try:
            time = msgspec.convert(self._fields[name], datetime)
        except msgspec.ValidationError:
            self.problem(name, "takes a time like 2026-11-20T15:04:05Z")
            return None
        if problem := wrong_with_time(time, now):
            self.problem(name, problem)
            return None
        return time.astimezone(UTC)

    def address(self, name: str, own: re.Pattern[str] | None = None) -> str | None:
        """Return a web address: http or https, with a host and without credentials.

        Also allowed is an address of our own that the pattern `internal` matches completely.
        """
        url = self.text(name, LONGEST_ADDRESS)
        if url is not None and own is not None and own.fullmatch(url):
            return url
        problem = url is not None and _address_problem(url)
        if problem:
            self.problem(name, problem)
            return None
        return url

    def objects(self, name: str, kind: type[msgspec.Struct], most: int, *, least: int = 0) -> list["Asked"]:
        """Return a reader for each object of a list; their problems are recorded here."""
        entries = self._entries(name, least, most)
        return [
            Asked(kind, value, within=f"{self._prefix}{entry}.", problems=self._problems) for entry, value in entries
        ]

    def by_choice(self, name: str, keys: type[E], kind: type[msgspec.Struct]) -> dict[E, "Asked"]:
        """Return a reader for each value of an object keyed by an enumeration; their problems are recorded here."""
        readers: dict[E, Asked] = {}
        for key, value in self.mapping(name).items():
            entry = f"{name}.{str(key)[:_MAX_NAME_LENGTH].encode('ascii', 'backslashreplace').decode()}"
            choice = self._choice(entry, key, tuple(keys))
            if choice is not None and value is not None:
                readers[choice] = Asked(kind, value, within=f"{self._prefix}{entry}.", problems=self._problems)
        return readers

    def mapping(self, name: str) -> dict[str, object]:
        """Return an object with arbitrary content; {} if it was not given."""
        value = self._fields.get(name, {})
        if isinstance(value, Mapping):
            return dict(value)
        self.problem(name, "takes an object with named fields")
        return {}

    def _entries(self, name: str, min_count: int, max_count: int) -> Iterator[tuple[str, object]]:
        """Yield each entry of a list with its name, such as `tags[2]`; nothing if the list's length is invalid."""
        if not self.has(name):
            return
        values = self._fields[name]
        if not isinstance(values, list | tuple):
            self.problem(name, "takes a list")
        elif not min_count <= len(values) <= max_count:
            self.problem(
                name, f"takes {f'{min_count} to' if min_count else 'at most'} {max_count} entries, not {len(values):,}"
            )
        else:
            yield from ((f"{name}[{index}]", value) for index, value in enumerate(values))

    def _text(
        self, name: str, value: object, max_length: int, min_length: int, forbidden: re.Pattern[str] | None = None
    ) -> str | None:
        if not isinstance(value, str):
            self.problem(name, "takes a text")
            return None
        text = value.strip()
        if not min_length <= len(text) <= max_length:
            bounds = f"{min_length} to {max_length:,}" if min_length else f"at most {max_length:,}"
            self.problem(name, f"takes {bounds} characters, not {len(text):,}")
        elif problem := unstorable_in(text) or unfit_in(text, forbidden):
            self.problem(name, problem)
        else:
            return text
        return None

    def _choice(self, name: str, value: object, allowed: tuple[E, ...]) -> E | None:
        if value in allowed:
            return allowed[allowed.index(value)]
        self.problem(name, f"takes one of {', '.join(allowed)}")
        return None


@cache
def _wire_names(kind: type[msgspec.Struct]) -> frozenset[str]:
    return frozenset(field.encode_name for field in msgspec.structs.fields(kind))


def unstorable_in(text: str) -> str:
    """Return why neither databases nor platforms accept `text`, or "" if they do.

    Other control characters in a draft are data: they are stored as received and displayed as code points.
    """
    if "\x00" in text:
        return "holds a NUL character"
    if not text.isascii() and re.search("[\ud800-\udfff]", text):
        return "holds bytes that are no UTF-8"
    return ""


def unfit_in(text: str, unfit: re.Pattern[str] | None = CONTROL) -> str:
    """Return a message naming the first forbidden character of `text`, or "" if there is none."""
    match = unfit.search(text) if unfit else None
    return f"holds a control character (U+{ord(match[0]):04X})" if match else ""


def wrong_with_time(at: datetime, now: datetime) -> str:
    """Return why `at` cannot be scheduled, or "" if it can. A valid time is certain to be representable in UTC."""
    if at.utcoffset() is None:
        return "needs an offset from UTC, as in 2026-11-30T14:30:00+01:00 or with a Z"
    if at <= now:
        return f"is not in the future: it is {iso(now)} now"
    # Compare without converting to UTC, which overflows for the first and last hours of the calendar.
    return "is more than ten years ahead" if at > now + FURTHEST else ""


def _address_problem(address: str) -> str:
    try:
        parts = urlsplit(address)
        # Reading `port` raises ValueError for an invalid one.
        host, _ = parts.hostname, parts.port
    except ValueError:
        return "is not a web address"
    if parts.scheme not in {"http", "https"} or not host:
        return "takes a web address that starts with https:// or http://"
    if _NOT_IN_ADDRESS.search(address):
        return "has a space or a control character in it"
    # Credentials in an address would be stored, displayed and posted.
    if parts.username is not None or parts.password is not None:
        return "holds a user name or a password; leave out what stands before the @"
    return ""
