"""Parse search queries: `ferry "new line" harb* -strike`.

All words must occur. Words in quotation marks must be adjacent, a trailing star matches any ending, a leading minus
excludes. Everything else is plain text and never reaches the database as syntax.
"""

import re
import unicodedata
from typing import Final

from msgspec.structs import replace

from copydesk.errors import FieldError, InvalidError
from copydesk.model.serialization import Struct
from copydesk.model.validation import storage_problem

MAX_QUERY_LENGTH: Final = 500
MAX_QUERY_WORDS: Final = 32
MIN_PREFIX_LENGTH: Final = 2
"""Characters required before a star: a single one would match a large part of the index."""

_TERM = re.compile(r'(?P<minus>-?)(?:"(?P<phrase>[^"]*)"|(?P<word>[^\s"]+))(?P<star>\*?)')
_FIELD = "query"


class Term(Struct, frozen=True):
    """Adjacent words to search for."""

    text: str
    """As typed, without operators. The database folds it in the same way as the indexed text."""
    tokens: tuple[str, ...]
    """Folded here, for matching outside the database."""
    is_prefix: bool = False
    """True if the last word is a prefix."""
    excluded: bool = False


class Query(Struct, frozen=True):
    """The terms of a search; at least one of them is not excluded."""

    terms: tuple[Term, ...]


def parse_query(text: object, *, incomplete: bool = False) -> Query:
    """Parse the query. With `incomplete`, the last word is a prefix, unless it is quoted or excluded.

    Use `incomplete` while the query is being typed. Raise InvalidError (`query`) if `text` is not a string or has no
    word to search for, for more than MAX_QUERY_LENGTH characters or MAX_QUERY_WORDS words, and for a prefix of fewer
    than MIN_PREFIX_LENGTH characters.
    """
    if not isinstance(text, str):
        raise _invalid("takes a text")
    if len(text) > MAX_QUERY_LENGTH:
        raise _invalid(f"takes at most {MAX_QUERY_LENGTH} characters, not {len(text):,}")
    if problem := storage_problem(text):
        raise _invalid(problem)
    # Drop terms without letters and digits, such as a lone dash.
    terms = tuple(term for match in _TERM.finditer(text) if (term := _term(match)).tokens)
    if all(term.excluded for term in terms):
        raise _invalid("needs a search word" + (" besides the excluded ones" if terms else ""))
    if sum(len(term.tokens) for term in terms) > MAX_QUERY_WORDS:
        raise _invalid(f"takes at most {MAX_QUERY_WORDS} words")
    for term in terms:
        if term.is_prefix and len(term.tokens[-1]) < MIN_PREFIX_LENGTH:
            raise _invalid(f"takes at least {MIN_PREFIX_LENGTH} characters before a star")
    if incomplete and not text.rstrip().endswith('"'):
        terms = (*terms[:-1], _as_prefix(terms[-1]))
    return Query(terms=terms)


def tokenize(text: str) -> tuple[str, ...]:
    """Return the words of `text`, case-folded: runs of letters and digits, without case and accents."""
    decomposed = unicodedata.normalize("NFD", text.casefold())
    base = "".join(char for char in decomposed if not unicodedata.combining(char))
    return tuple("".join(char if char.isalnum() else " " for char in base).split())


def contains_term(tokens: tuple[str, ...], term: Term) -> bool:
    """Return True if the term's words occur in `tokens` next to each other."""
    size = len(term.tokens)
    *whole, last = term.tokens
    for start in range(len(tokens) - size + 1):
        *leading, final = tokens[start : start + size]
        if leading == whole and (final.startswith(last) if term.is_prefix else final == last):
            return True
    return False


def _term(match: re.Match[str]) -> Term:
    word = match["word"]
    text = match["phrase"] if word is None else word
    # The pattern of a bare word consumes its star; `tokenize` drops any other star.
    open_end = bool(match["star"]) or (word is not None and word.endswith("*"))
    return Term(text=text, tokens=tokenize(text), is_prefix=open_end, excluded=bool(match["minus"]))


def _as_prefix(term: Term) -> Term:
    # Excluding a prefix while it is being typed would hide results that the complete word does not exclude.
    if term.excluded or len(term.tokens[-1]) < MIN_PREFIX_LENGTH:
        return term
    return replace(term, is_prefix=True)


def _invalid(message: str) -> InvalidError:
    return InvalidError(FieldError(_FIELD, message))
