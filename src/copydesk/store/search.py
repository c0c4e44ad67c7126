"""Finding drafts by their words: SQLite's full text index, which triggers keep beside the drafts.

What a draft is about (its item's title and its tags) is written beside its text, for the index has to be told what
it forgets. The names of sources are not in it: which of them have a word is found first, and their drafts by the
source's id, so that a source can be renamed without a word of its drafts being read.
"""

from collections.abc import Iterable, Sequence
from functools import lru_cache
from typing import Final, NamedTuple

from sqlalchemy import Connection, Integer, bindparam, cast, column, select, table

from copydesk.model.draft import Draft, ListedDraft
from copydesk.model.filters import Filters
from copydesk.model.query import Query, Term, has, words_of
from copydesk.store import lists
from copydesk.store.listed import filled
from copydesk.store.statements import runner, text_of
from copydesk.store.tables import draft, item, source

_WORDS: Final = table("draft_words", column("rowid"), column("draft_words"))
_NAMES = select(source.c.id, source.c.name).where(source.c.user_id == bindparam("user"))


class Hit(NamedTuple):
    """A draft that was found, and its place in the order of what is found."""

    draft: ListedDraft
    place: str


ABOUT: Final = "(SELECT title FROM item WHERE id = ?) || ?"
"""What a new draft is about, for the index: its item's title and its tags, each on a line of its own."""


def about(made: Draft) -> tuple[str, str]:
    """What `ABOUT` takes."""
    return made.item_id, "".join(f"\n{name}" for name in made.tags) + "\n"


def find(
    conn: Connection, user_id: str, query: Query, filters: Filters, *, limit: int, before: str | None
) -> tuple[Hit, ...]:
    """Drafts that have every word and pass the filters, the newest first, those after the place `before`.

    The newest is the one that was stored last, which is the order of their ids but where two processes write at the
    same moment.
    """
    values = lists.values_of(user_id, filters, limit, before)
    values |= {"words": expression(conn, user_id, query, source_id=filters.source_id, tags=filters.tags)}
    run = runner(conn)
    rows = run(_found(lists.shape_of(filters, before)), values).fetchall()
    drafts = filled(run, user_id, [row[:-1] for row in rows])
    return tuple(Hit(found, str(row[-1])) for found, row in zip(drafts, rows, strict=True))


@lru_cache
def _found(shape: lists.Shape) -> str:
    # The words are what leads to the drafts, newest first.
    conditions = [_WORDS.c.draft_words.op("MATCH")(bindparam("words")), *lists.narrowed(shape, lists.UNLED)]
    conditions += [lists.has_tag(place, draft.c.id) for place in range(shape.tags)]
    if shape.further:
        conditions.append(_WORDS.c.rowid < cast(bindparam("before"), Integer))
    hits = _WORDS.join(draft, draft.c.rid == _WORDS.c.rowid).join(item, item.c.id == draft.c.item_id)
    query = select(*lists.ROW, draft.c.rid).select_from(hits).where(*conditions)
    return text_of(lists.first(query.order_by(_WORDS.c.rowid.desc())))


def _sources(conn: Connection, user_id: str) -> list[tuple[str, tuple[str, ...]]]:
    """The user's sources, each with the words of its name."""
    return [(source_id, words_of(name)) for source_id, name in conn.execute(_NAMES, {"user": user_id})]


def expression(
    conn: Connection, user_id: str, query: Query, *, source_id: str | None = None, tags: Sequence[str] = ()
) -> str:
    """What the index is asked for: the words of the query, among the drafts of a source and with these tags."""
    return _expression(query, _sources(conn, user_id), source_id, tags)


def _expression(
    query: Query, sources: Sequence[tuple[str, tuple[str, ...]]], source_id: str | None, tags: Sequence[str]
) -> str:
    """The query in the language of FTS5, in which everything that a person wrote stands in quotation marks.

    What the filters say that is in the index too stands with it: a word of a million drafts is then looked for in the
    few of one source. Of a tag that is no more than a first sieve, for its words may be in the title.
    """
    wanted = [_term(term, sources) for term in query.terms if not term.excluded]
    wanted += [f"source_id : {_quoted(each)}" for each in (source_id or "",) if words_of(each)]
    wanted += [f"about : {_quoted(name)}" for name in tags if words_of(name)]
    unwanted = " OR ".join(_term(term, sources) for term in query.terms if term.excluded)
    all_of = " AND ".join(wanted)
    return f"({all_of}) NOT ({unwanted})" if unwanted else all_of


def _term(term: Term, sources: Iterable[tuple[str, tuple[str, ...]]]) -> str:
    written = f"{{text about}} : {_quoted(term.text)}{' *' if term.open_end else ''}"
    named = [f'source_id : "{source_id}"' for source_id, words in sources if has(words, term)]
    return f"({' OR '.join([written, *named])})"


def _quoted(text: str) -> str:
    return '"{}"'.format(text.replace('"', " ").replace("\x00", " "))
