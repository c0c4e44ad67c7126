"""What a person looks for, as words: `ferry "new line" harb* -strike`.

Every word must be there; words in quotation marks stand next to each other; a star at the end leaves the end open; a
minus in front leaves out what has the word. Anything else is text to look for, never a command to the database.
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
"""Characters before a star: of one alone, a large part of all words would have to be read."""

_TERM = re.compile(r'(?P<minus>-?)(?:"(?P<phrase>[^"]*)"|(?P<word>[^\s"]+))(?P<star>\*?)')
_FIELD = "query"


class Term(Struct, frozen=True):
    """One thing to look for: words that stand next to each other."""

    text: str
    """As it was written, without marks: the database folds it as it folds what it looks through."""
    words: tuple[str, ...]
    """Folded here, for what is not looked for in the database."""
    open_end: bool = False
    """Whether the last word may go on."""
    excluded: bool = False


class Query(Struct, frozen=True):
    """What is looked for; at least one term is not excluded."""

    terms: tuple[Term, ...]


def query_of(text: object, *, half_typed: bool = False) -> Query:
    """The query that a person wrote; `half_typed`, the last word may go on, if it stands bare and is looked for.

    Raises InvalidError (`query`) for what is no text or holds no word to look for, for more than LONGEST_QUERY
    characters or MOST_WORDS words, and for a beginning of fewer than SHORTEST_BEGINNING characters.
    """
    if not isinstance(text, str):
        raise _invalid("takes a text")
    if len(text) > LONGEST_QUERY:
        raise _invalid(f"takes at most {LONGEST_QUERY} characters, not {len(text):,}")
    if unstorable := unstorable_in(text):
        raise _invalid(unstorable)
    terms = tuple(term for match in _TERM.finditer(text) if (term := _term(match)).words)
    if all(term.excluded for term in terms):
        raise _invalid("takes a word to look for" + (", beside those to leave out" if terms else ""))
    if sum(len(term.words) for term in terms) > MOST_WORDS:
        raise _invalid(f"takes at most {MOST_WORDS} words")
    for term in terms:
        if term.open_end and len(term.words[-1]) < SHORTEST_BEGINNING:
            raise _invalid(f"takes at least {SHORTEST_BEGINNING} characters before a star")
    if half_typed and not text.rstrip().endswith('"'):
        terms = (*terms[:-1], _left_open(terms[-1]))
    return Query(terms=terms)


def words_of(text: str) -> tuple[str, ...]:
    """The words of `text`, folded: runs of letters and digits, without case and accents."""
    plain = unicodedata.normalize("NFD", text.casefold())
    kept = "".join(char for char in plain if not unicodedata.combining(char))
    return tuple("".join(char if char.isalnum() else " " for char in kept).split())


def has(words: tuple[str, ...], term: Term) -> bool:
    """Whether the words of the term stand in `words`, next to each other."""
    size = len(term.words)
    *whole, last = term.words
    for start in range(len(words) - size + 1):
        *before, end = words[start : start + size]
        if before == whole and (end.startswith(last) if term.open_end else end == last):
            return True
    return False


def _term(match: re.Match[str]) -> Term:
    word = match["word"]
    text = match["phrase"] if word is None else word
    # A bare word takes its star with it; anywhere but at its end a star is no letter.
    open_end = bool(match["star"]) or (word is not None and word.endswith("*"))
    return Term(text=text, words=words_of(text), open_end=open_end, excluded=bool(match["minus"]))


def _left_open(term: Term) -> Term:
    # What is left out is not known before it is written: half a word would take away what is meant to stay.
    if term.excluded or len(term.words[-1]) < SHORTEST_BEGINNING:
        return term
    return replace(term, open_end=True)


def _invalid(message: str) -> InvalidError:
    return InvalidError(FieldError(_FIELD, message))
