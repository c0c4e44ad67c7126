"""What the user asks for, read field by field, so that one error names every field that breaks a rule."""

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
"""Ten years: a time beyond that is a slip of the finger."""
LONGEST_ADDRESS = 2_000
MOST_PROBLEMS = 100
"""So many are named at once; nobody reads more."""
_SHOWN = 50
_UNFIT = re.compile(r"[\x00-\x20\x7f-\x9f\u2028\u2029\\]")
CONTROL = re.compile(r"[\x00-\x1f\x7f-\x9f\u2028\u2029]")
"""What no text on one line holds."""
CONTROL_BUT_BREAKS = re.compile(r"[\x00-\x08\x0b\x0c\x0e-\x1f\x7f-\x9f]")
"""What no text of several lines holds, unless it is kept just as it came."""


class Asked:
    """The fields of one thing asked for, by their names on the wire.

    Each method reads one field. One that was not given, or is null, reads as None or empty; so does one that breaks
    its rule, which is remembered for `refuse`.
    """

    def __init__(
        self, kind: type[msgspec.Struct], given: object, *, within: str = "", problems: list[FieldError] | None = None
    ) -> None:
        self._within = within
        self._problems = [] if problems is None else problems
        if isinstance(given, msgspec.Struct):
            given = msgspec.to_builtins(given, builtin_types=(datetime,))
        if not isinstance(given, Mapping):
            self._problems.append(FieldError(within.rstrip(".") or "body", "takes an object with named fields"))
            given = {}
        known = _names_of(kind)
        for name in given:
            if name not in known:
                self.problem(str(name)[:_SHOWN].encode("utf-8", "backslashreplace").decode(), "is no known field")
        self._given = {name: value for name, value in given.items() if value is not None}

    def problem(self, name: str, message: str) -> None:
        """Remember that a field breaks a rule."""
        self._problems.append(FieldError(self._within + name, message))

    def is_wrong(self, name: str) -> bool:
        """Whether the field is known by now to break a rule."""
        return any(problem.field == self._within + name for problem in self._problems)

    def refuse(self) -> None:
        """Raise InvalidError with all that was found wrong, if anything was."""
        if self._problems:
            raise InvalidError(*self._problems[:MOST_PROBLEMS])

    def has(self, name: str) -> bool:
        """Whether the field was given, right or wrong."""
        return name in self._given

    def need(self, *names: str) -> None:
        """Each of these fields must be given."""
        for name in names:
            if not self.has(name):
                self.problem(name, "is missing")

    def text(self, name: str, most: int, *, least: int = 1) -> str | None:
        """A text of `least` to `most` characters, without the spaces around it, which do not count."""
        return self._text(name, self._given[name], most, least) if self.has(name) else None

    def line(self, name: str, most: int) -> str | None:
        """As `text`, on one line: without control characters."""
        return self._text(name, self._given[name], most, 1, CONTROL) if self.has(name) else None

    def lines(self, name: str, most: int) -> str | None:
        """As `text`, empty or of any number of lines: without other control characters."""
        return self._text(name, self._given[name], most, 0, CONTROL_BUT_BREAKS) if self.has(name) else None

    def texts(
        self, name: str, most: int, longest: int, *, least: int = 0, unfit: re.Pattern[str] = CONTROL
    ) -> tuple[str, ...]:
        """Texts of at most `longest` characters, trimmed; the same one twice counts once, the order is kept.

        `least` and `most` are for the entries as given. None of them holds a character that is `unfit`.
        """
        read = [self._text(where, value, longest, 1, unfit) for where, value in self._entries(name, least, most)]
        return tuple(dict.fromkeys(text for text in read if text is not None))

    def choice(self, name: str, kind: type[E], among: tuple[E, ...] = ()) -> E | None:
        """One of an enumeration's values, or of those `among` them that fit here."""
        return self._choice(name, self._given[name], among or tuple(kind)) if self.has(name) else None

    def choices(self, name: str, kind: type[E], most: int) -> tuple[E, ...]:
        """One to `most` of an enumeration's values, none of them twice."""
        found: list[E] = []
        for where, value in self._entries(name, 1, most):
            choice = self._choice(where, value, tuple(kind))
            if choice in found:
                self.problem(where, f"{choice} is there already")
            elif choice is not None:
                found.append(choice)
        return tuple(found)

    def flag(self, name: str) -> bool:
        """True or false; false where it was not given."""
        value = self._given.get(name, False)
        if not isinstance(value, bool):
            self.problem(name, "takes true or false")
        return value is True

    def number(self, name: str, least: int, most: int) -> int | None:
        """A whole number of `least` to `most`."""
        value = self._given.get(name)
        if value is None:
            return None
        if type(value) is int and least <= value <= most:
            return value
        self.problem(name, f"takes a whole number of {least} to {most:,}")
        return None

    def moment(self, name: str, now: datetime) -> datetime | None:
        """A time after `now`, with an offset as it comes and in UTC as it is returned."""
        if not self.has(name):
            return None
        try:
            found = msgspec.convert(self._given[name], datetime)
        except msgspec.ValidationError:
            self.problem(name, "takes a time like 2026-11-20T15:04:05Z")
            return None
        if wrong := wrong_with_time(found, now):
            self.problem(name, wrong)
            return None
        return found.astimezone(UTC)

    def address(self, name: str, own: re.Pattern[str] | None = None) -> str | None:
        """The address of something on the web: http or https, with a host and without credentials.

        Or one of ours, which is what the whole of `own` matches.
        """
        found = self.text(name, LONGEST_ADDRESS)
        if found is not None and own is not None and own.fullmatch(found):
            return found
        wrong = found is not None and _wrong_with(found)
        if wrong:
            self.problem(name, wrong)
            return None
        return found

    def objects(self, name: str, kind: type[msgspec.Struct], most: int, *, least: int = 0) -> list["Asked"]:
        """The fields of each of a list's objects, whose problems are remembered here."""
        entries = self._entries(name, least, most)
        return [
            Asked(kind, value, within=f"{self._within}{where}.", problems=self._problems) for where, value in entries
        ]

    def by_choice(self, name: str, keys: type[E], kind: type[msgspec.Struct]) -> dict[E, "Asked"]:
        """Of an object whose names are an enumeration's values the fields of each, problems remembered here."""
        found: dict[E, Asked] = {}
        for key, value in self.mapping(name).items():
            where = f"{name}.{str(key)[:_SHOWN].encode('ascii', 'backslashreplace').decode()}"
            choice = self._choice(where, key, tuple(keys))
            if choice is not None and value is not None:
                found[choice] = Asked(kind, value, within=f"{self._within}{where}.", problems=self._problems)
        return found

    def mapping(self, name: str) -> dict[str, object]:
        """An object with whatever is in it."""
        value = self._given.get(name, {})
        if isinstance(value, Mapping):
            return dict(value)
        self.problem(name, "takes an object with named fields")
        return {}

    def _entries(self, name: str, least: int, most: int) -> Iterator[tuple[str, object]]:
        """Each entry of a list with the name that says where it stands; none of a list of another length."""
        if not self.has(name):
            return
        values = self._given[name]
        if not isinstance(values, list | tuple):
            self.problem(name, "takes a list")
        elif not least <= len(values) <= most:
            self.problem(name, f"takes {f'{least} to' if least else 'at most'} {most} entries, not {len(values):,}")
        else:
            yield from ((f"{name}[{place}]", value) for place, value in enumerate(values))

    def _text(
        self, name: str, value: object, most: int, least: int, unfit: re.Pattern[str] | None = None
    ) -> str | None:
        if not isinstance(value, str):
            self.problem(name, "takes a text")
            return None
        text = value.strip()
        if not least <= len(text) <= most:
            room = f"{least} to {most:,}" if least else f"at most {most:,}"
            self.problem(name, f"takes {room} characters, not {len(text):,}")
        elif wrong := unstorable_in(text) or unfit_in(text, unfit):
            self.problem(name, wrong)
        else:
            return text
        return None

    def _choice(self, name: str, value: object, among: tuple[E, ...]) -> E | None:
        if value in among:
            return among[among.index(value)]
        self.problem(name, f"takes one of {', '.join(among)}")
        return None


@cache
def _names_of(kind: type[msgspec.Struct]) -> frozenset[str]:
    return frozenset(field.encode_name for field in msgspec.structs.fields(kind))


def unstorable_in(text: str) -> str:
    """Why no database or platform takes `text`; empty where nothing is wrong.

    In a draft other control characters are data: they are kept as they came, and shown for what they are.
    """
    if "\x00" in text:
        return "holds a NUL character"
    if not text.isascii() and re.search("[\ud800-\udfff]", text):
        return "holds bytes that are no UTF-8"
    return ""


def unfit_in(text: str, unfit: re.Pattern[str] | None = CONTROL) -> str:
    """Which character that is `unfit` the text holds; empty where it holds none."""
    found = unfit.search(text) if unfit else None
    return f"holds a control character (U+{ord(found[0]):04X})" if found else ""


def wrong_with_time(at: datetime, now: datetime) -> str:
    """Why nothing can be scheduled for `at`; empty where it can. One that is right has a place in UTC, too."""
    if at.utcoffset() is None:
        return "needs an offset from UTC, as in 2026-11-30T14:30:00+01:00 or with a Z"
    if at <= now:
        return f"is not in the future: it is {iso(now)} now"
    # The years 1 and 9999 have hours that have no UTC: they are compared as they are.
    return "is more than ten years ahead" if at > now + FURTHEST else ""


def _wrong_with(address: str) -> str:
    try:
        parts = urlsplit(address)
        host, _ = parts.hostname, parts.port
    except ValueError:
        return "is not a web address"
    if parts.scheme not in {"http", "https"} or not host:
        return "takes a web address that starts with https:// or http://"
    if _UNFIT.search(address):
        return "has a space or a control character in it"
    if parts.username is not None or parts.password is not None:
        return "holds a user name or a password; leave out what stands before the @"
    return ""
