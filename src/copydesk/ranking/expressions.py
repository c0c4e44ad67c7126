"""The user's /regular expressions/: none may take for ever, and a good one has time on the slowest machine."""

from collections.abc import Iterator
from time import process_time

import regex

from copydesk.errors import FieldError, InvalidError

_USUAL = 0.05
"""Seconds on one text that an expression may always take: a good one takes less than a thousandth of one."""
_LONGEST = 1.0
"""Seconds on one text at most. On a slow machine, or while other threads are busy, it is far from what is usual."""
_PATIENCE = 3.0
"""Seconds beyond the usual ones for all texts together, so that a slow expression cannot hold up a whole run."""
_MAX_LENGTH = 500
_PROBE_LENGTH = 1000


class TooSlowError(Exception):
    """An expression that did not come to an end in time; it is its message."""


class Expression:
    """An expression, looked for in one text after the other by one thread at a time.

    regex counts the processor time of the whole process, other threads' too. That is why an expression may take
    _LONGEST on a text; only what has used up its patience has no more than the usual time.
    """

    __slots__ = ("_left", "_pattern")

    def __init__(self, pattern: "regex.Pattern[str]") -> None:
        self._pattern = pattern
        self._left = _PATIENCE

    def __str__(self) -> str:
        return f"/{self._pattern.pattern}/"

    def found_in(self, text: str) -> bool:
        """Whether it is in the text. Raises TooSlowError where that is not known in time."""
        began = process_time()
        try:
            return self._pattern.search(text, timeout=min(_LONGEST, _USUAL + self._left)) is not None
        except TimeoutError:
            raise TooSlowError(str(self)) from None
        finally:
            self._left = max(0.0, self._left - max(0.0, process_time() - began - _USUAL))


def is_expression(term: str) -> bool:
    """Whether a term of the user's is no word but an expression."""
    return len(term) > 2 and term.startswith("/") and term.endswith("/")


def compiled(term: str, field: str) -> Expression:
    """The expression of a term, tried on texts that are known to be hard.

    Raises InvalidError, naming `field`, for one that is none or that takes too long.
    """
    pattern = _pattern(term, field)
    expression = Expression(pattern)
    try:
        for probe in _probes(term):
            expression.found_in(probe)
    except TooSlowError:
        hint = "Nested repetitions such as (a+)+ are what makes an expression slow."
        raise InvalidError(FieldError(field, f"{term} takes too long on some texts"), hint=hint) from None
    return Expression(pattern)


def _pattern(term: str, field: str) -> "regex.Pattern[str]":
    if len(term) > _MAX_LENGTH:
        raise InvalidError(FieldError(field, f"an expression has at most {_MAX_LENGTH} characters"))
    try:
        return regex.compile(term[1:-1], regex.IGNORECASE)
    except (regex.error, OverflowError, RecursionError) as error:
        raise InvalidError(FieldError(field, f"{term} is no regular expression: {error}")) from None


def _probes(term: str) -> Iterator[str]:
    """Texts on which an expression that can take for ever usually does: one of its letters again and again."""
    for letter in sorted({"a", "0", " ", *filter(str.isalnum, term[1:-1])})[:20]:
        yield letter * _PROBE_LENGTH + "\x00"
