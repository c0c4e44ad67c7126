"""Parse search queries: `ferry "new line" harb* -strike`.

All words must occur. Words in quotation marks must be adjacent, a trailing star matches any ending, a leading minus
excludes. Everything else is plain text and never reaches the database as syntax.
"""

import re
import unicodedata
from typing import Final

from msgspec.structs import replace

from copydesk.errors import FieldError, InvalidError
from copydesk.model.asked import unstorable_in
from copydesk.model.wire import Struct

LONGEST_QUERY: Final = 500
MOST_WORDS: Final = 32
SHORTEST_BEGINNING: Final = 2
"""Characters required before a star: a single one would match a large part of the index."""

_TERM = re.compile(r'(?P<minus>-?)(?:"(?P<phrase>[^"]*)"|(?P<word>[^\s"]+))(?P<star>\*?)')
_FIELD = "query"


class Term(Struct, frozen=True):
    """Adjacent words to search for."""

    text: str
    """As typed, without operators. The database folds it in the same way as the indexed text."""
    words: tuple[str, ...]
    """Folded here, for matching outside the database."""
    open_end: bool = False
    """True if the last word is a prefix."""
    excluded: bool = False


class Query(Struct, frozen=True):
    """The terms of a search; at least one of them is not excluded."""

    terms: tuple[Term, ...]


def query_of(text: object, *, half_typed: bool = False) -> Query:
    """Parse the query. With `incomplete`, the last word is a prefix, unless it is quoted or excluded.

    Use `incomplete` while the query is being typed. Raise InvalidError (`query`) if `text` is not a string or has no
    word to search for, for more than MAX_QUERY_LENGTH characters or MAX_QUERY_WORDS words, and for a prefix of fewer
    than MIN_PREFIX_LENGTH characters.
    """
    if not isinstance(text, str):
        raise _invalid("takes a text")
    if len(text) > LONGEST_QUERY:
        raise _invalid(f"takes at most {LONGEST_QUERY} characters, not {len(text):,}")
    if problem := unstorable_in(text):
        raise _invalid(problem)
    # Drop terms without letters and digits, such as a lone dash.
    terms = tuple(term for match in _TERM.finditer(text) if (term := _term(match)).words)
    if all(term.excluded for term in terms):
        raise _invalid("takes a word to look for" + (", beside those to leave out" if terms else ""))
    if sum(len(term.words) for term in terms) > MOST_WORDS:
        raise _invalid(f"takes at most {MOST_WORDS} words")
    for term in terms:
        if term.open_end and len(term.words[-1]) < SHORTEST_BEGINNING:
            raise _invalid(f"takes at least {SHORTEST_BEGINNING} characters before a star")
    if half_typed and not text.rstrip().endswith('"'):
        terms = (*terms[:-1], _as_prefix(terms[-1]))
    return Query(terms=terms)


def words_of(text: str) -> tuple[str, ...]:
    """Return the words of `text`, case-folded: runs of letters and digits, without case and accents."""
    decomposed = unicodedata.normalize("NFD", text.casefold())
    base = "".join(char for char in decomposed if not unicodedata.combining(char))
    return tuple("".join(char if char.isalnum() else " " for char in base).split())


def has(words: tuple[str, ...], term: Term) -> bool:
    """Return True if the term's words occur in `tokens` next to each other."""
    size = len(term.words)
    *whole, last = term.words
    for start in range(len(words) - size + 1):
        *leading, final = words[start : start + size]
        if leading == whole and (final.startswith(last) if term.open_end else final == last):
            return True
    return False


def _term(match: re.Match[str]) -> Term:
    word = match["word"]
    text = match["phrase"] if word is None else word
    # The pattern of a bare word consumes its star; `tokenize` drops any other star.
    open_end = bool(match["star"]) or (word is not None and word.endswith("*"))
    return Term(text=text, words=words_of(text), open_end=open_end, excluded=bool(match["minus"]))


def _as_prefix(term: Term) -> Term:
    # Excluding a prefix while it is being typed would hide results that the complete word does not exclude.
    if term.excluded or len(term.words[-1]) < SHORTEST_BEGINNING:
        return term
    return replace(term, open_end=True)


def _invalid(message: str) -> InvalidError:
    return InvalidError(FieldError(_FIELD, message))
