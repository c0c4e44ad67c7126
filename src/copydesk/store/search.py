"""Full text search over drafts, in an FTS5 index that triggers keep up to date, or a generated tsvector.

The item's title and the tags of a draft are stored next to its text in `draft.about`, because an external-content FTS
index must be given the exact old values to forget. The names of sources are not in the index: the sources whose name
has a word are looked up first, and their drafts are found by source id. So a source can be renamed without touching its
drafts.
"""

from collections.abc import Callable, Iterable, Mapping, Sequence
from functools import lru_cache
from typing import Any, Final, NamedTuple

from sqlalchemy import (
    ColumnElement,
    Connection,
    Integer,
    Select,
    bindparam,
    cast,
    column,
    func,
    literal_column,
    select,
    table,
)

from copydesk.model.draft import Draft, ListedDraft
from copydesk.model.filters import Filters, Query, Term, contains_term, tokenize
from copydesk.store import draft_queries
from copydesk.store.draft_rows import Driver, hydrate, in_one_round_trip
from copydesk.store.raw_sql import POSTGRESQL, dbapi_connection, to_sql
from copydesk.store.tables import draft, item, source

_INDEX: Final = table("draft_words", column("rowid"), column("draft_words"))
NEWEST: Final = 5000
"""On PostgreSQL, the newest drafts that are looked through before the index is asked for all drafts with the words.

As many as can be read in the time in which the index finds a word of which they have less than a page.
"""
_SOURCE_NAMES: Final = to_sql(select(source.c.id, source.c.name).where(source.c.user_id == bindparam("user")))
_NOWHERE: Final = "'none:'"
"""A tsquery that finds nothing: words have no colon."""
# The database divides the words, as it did in the drafts.
_PHRASES: Final = """SELECT words, CAST(phraseto_tsquery('simple', fold_words(words)) AS TEXT)
    FROM unnest(CAST(? AS TEXT[])) AS words"""

ABOUT_SQL: Final = "(SELECT title FROM item WHERE id = ?) || ?"
"""SQL for the `about` column of a new draft: its item's title and its tags, each on its own line."""


def about_parameters(new_draft: Draft) -> tuple[str, str]:
    """Return the parameters of ABOUT_SQL."""
    return new_draft.item_id, "".join(f"\n{name}" for name in new_draft.tags) + "\n"


def find_page(
    conn: Connection, user_id: str, query: Query, filters: Filters, *, limit: int, before: str | None
) -> draft_queries.DraftPage[tuple[ListedDraft, ...]]:
    """Return at most `limit` drafts after the position `before` that match every term and the filters, newest first.

    Ordered by insertion, which is the order of their ids unless two processes insert at the same time; on PostgreSQL by
    id, of which there is an index for each user.
    """
    values = draft_queries.page_parameters(user_id, filters, limit + 1, before)
    values |= {"words": build_match_expression(conn, user_id, query, source_id=filters.source_id, tags=filters.tags)}
    driver = dbapi_connection(conn)
    find = _find_on_server if conn.dialect.name == POSTGRESQL else _find_in_file
    rows = find(driver, draft_queries.page_shape(filters, before), values)
    drafts = hydrate(driver, user_id, [row[:-1] for row in rows[:limit]])
    return draft_queries.DraftPage(drafts, str(rows[limit - 1][-1]) if len(rows) > limit else None)


@lru_cache
def _find_sql(shape: draft_queries.PageShape) -> str:
    # The full text index leads to the drafts, newest first; all other conditions must not use an index.
    conditions = [
        _INDEX.c.draft_words.op("MATCH")(bindparam("words")),
        *draft_queries.column_conditions(shape, draft_queries.UNINDEXED_COLUMNS),
    ]
    conditions += [draft_queries.has_tag(index, draft.c.id) for index in range(shape.tags)]
    if shape.has_cursor:
        conditions.append(_INDEX.c.rowid < cast(bindparam("before"), Integer))
    hits = _INDEX.join(draft, draft.c.rid == _INDEX.c.rowid).join(item, item.c.id == draft.c.item_id)
    query = select(*draft_queries.ROW_COLUMNS, draft.c.rid).select_from(hits).where(*conditions)
    return to_sql(draft_queries.apply_limit(query.order_by(_INDEX.c.rowid.desc())))


def _find_in_file(driver: Driver, shape: draft_queries.PageShape, values: dict[str, Any]) -> Sequence[Sequence[Any]]:
    """Return the first matches, newest first."""
    return list(driver.execute(_find_sql(shape), values))


def _find_on_server(driver: Driver, shape: draft_queries.PageShape, values: dict[str, Any]) -> Sequence[Sequence[Any]]:
    """Return the first matches, newest first: of the newest drafts if these have enough, otherwise of all.

    The planner cannot know how often a word occurs that is not among the most common ones, and would read a million
    drafts, newest first, to find one page of a rare word.
    """
    values = values | {"newest": NEWEST}
    with in_one_round_trip(driver):
        last = driver.execute(_last_of_newest_sql(has_cursor=shape.has_cursor), values)
        hits = driver.execute(_find_on_server_sql(shape, among_newest=True), values)
    found = list(hits)
    if len(found) < values["limit"] and list(last):
        found = list(driver.execute(_find_on_server_sql(shape, among_newest=False), values))
    return found


@lru_cache
def _find_on_server_sql(shape: draft_queries.PageShape, *, among_newest: bool) -> str:
    conditions = [
        literal_column("draft.words").op("MATCH")(bindparam("words")),
        *draft_queries.column_conditions(shape, {column.name: column for column in draft.columns}),
        *(draft_queries.has_tag(index, draft.c.id) for index in range(shape.tags)),
    ]
    if shape.has_cursor:
        conditions.append(draft.c.id < bindparam("before"))
    order: ColumnElement[str] = draft.c.id
    if among_newest:
        last = _last_of_newest(has_cursor=shape.has_cursor)
        conditions.append(draft.c.id >= func.coalesce(last.scalar_subquery(), literal_column("''")))
    else:
        # An expression, so that the planner does not walk the drafts in this order.
        order = draft.c.id.concat(literal_column("''"))
    hits = draft.join(item, item.c.id == draft.c.item_id)
    query = select(*draft_queries.ROW_COLUMNS, draft.c.id.label("position")).select_from(hits).where(*conditions)
    return to_sql(draft_queries.apply_limit(query.order_by(order.desc())))


@lru_cache
def _last_of_newest_sql(*, has_cursor: bool) -> str:
    return to_sql(_last_of_newest(has_cursor=has_cursor))


def _last_of_newest(*, has_cursor: bool) -> Select[tuple[str]]:
    """Return the query for the draft before the newest ones; it finds none if the user has no others."""
    newest = draft.alias("newest")
    query = select(newest.c.id).where(newest.c.user_id == bindparam("user")).order_by(newest.c.id.desc())
    if has_cursor:
        query = query.where(newest.c.id < bindparam("before"))
    return query.limit(literal_column("1")).offset(bindparam("newest"))


def build_match_expression(
    conn: Connection, user_id: str, query: Query, *, source_id: str | None = None, tags: Sequence[str] = ()
) -> str:
    """Return the expression for the query, restricted to a source's drafts and to tags, for the database of `conn`."""
    driver, on_server = dbapi_connection(conn), conn.dialect.name == POSTGRESQL
    with in_one_round_trip(driver):
        names = driver.execute(_SOURCE_NAMES, {"user": user_id})
        texts = [*(term.text for term in query.terms), *tags]
        phrases = driver.execute(_PHRASES, (texts,)) if on_server else ()
    sources = [(source_id, tokenize(name)) for source_id, name in names]
    language = _tsquery(dict(phrases)) if on_server else _FTS5
    return _format_match_expression(language, query, sources, source_id, tags)


class _Language(NamedTuple):
    """The language of a full text index."""

    conjunction: str
    disjunction: str
    exclusion: str
    """Operator between what is found and what is subtracted."""
    words: Callable[[str, bool], str]
    """Formats words to find in a draft, the last one as a prefix if the second argument is True."""
    about: Callable[[str], str]
    """Formats words to find in the title or the tags; an empty string if the index has none of them."""
    source: Callable[[str], str]
    """Formats the id of a source."""


def _format_match_expression(
    language: _Language,
    query: Query,
    sources: Sequence[tuple[str, tuple[str, ...]]],
    source_id: str | None,
    tags: Sequence[str],
) -> str:
    """Return the query in the language of the index, with all user input quoted.

    Filters on indexed columns are included: a word of a million drafts is then looked up among those of one source. For
    tags this only narrows the search, because the words of a tag may as well be in the title; the exact condition
    follows in SQL.
    """
    required = [_term(language, term, sources) for term in query.terms if not term.excluded]
    # Text without a token says nothing to the index; the exact conditions in SQL remain.
    required += [language.source(id_) for id_ in (source_id or "",) if tokenize(id_)]
    required += [about for name in tags if tokenize(name) and (about := language.about(name))]
    # FTS5 has no unary NOT: exclusions are subtracted from what the other terms find.
    excluded = language.disjunction.join(_term(language, term, sources) for term in query.terms if term.excluded)
    conjunction = language.conjunction.join(required)
    return f"({conjunction}){language.exclusion}({excluded})" if excluded else conjunction


def _term(language: _Language, term: Term, sources: Iterable[tuple[str, tuple[str, ...]]]) -> str:
    in_text = language.words(term.text, term.is_prefix)
    in_sources = [language.source(source_id) for source_id, names in sources if contains_term(names, term)]
    return f"({language.disjunction.join([in_text, *in_sources])})"


def _quoted(text: str) -> str:
    # Inside quotes FTS5 knows no operators. The two replaced characters separate words anyway.
    return '"{}"'.format(text.replace('"', " ").replace("\x00", " "))


_FTS5: Final = _Language(
    conjunction=" AND ",
    disjunction=" OR ",
    exclusion=" NOT ",
    words=lambda text, is_prefix: f"{{text about}} : {_quoted(text)}{' *' if is_prefix else ''}",
    about=lambda text: f"about : {_quoted(text)}",
    source=lambda source_id: f"source_id : {_quoted(source_id)}",
)


def _tsquery(phrases: Mapping[str, str]) -> _Language:
    """Return the language of PostgreSQL's tsquery, with the words of each text as a query.

    A text has none if all its letters and digits are unknown to the database: `٣` is no digit there.
    """

    def phrase(text: str, is_prefix: bool) -> str:  # noqa: FBT001 - as in a language
        words = phrases[text]
        return f"{words}:*" if words and is_prefix else words or _NOWHERE

    return _Language(
        conjunction=" & ",
        disjunction=" | ",
        exclusion=" & !",
        words=phrase,
        # In any column: it only narrows the search.
        about=phrases.__getitem__,
        source=lambda source_id: f"'source:{source_id.replace(chr(39), ' ')}'",
    )
