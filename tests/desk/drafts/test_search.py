"""Tests for full-text search in texts, titles, tags and source names."""

import sqlite3
from contextlib import closing

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from sqlalchemy import Connection, delete, insert, select, update

from copydesk.desk import open_desk
from copydesk.errors import InvalidError
from copydesk.model.draft import Format, Status
from copydesk.model.filters import MAX_QUERY_LENGTH, Archived, contains_term, parse_query, tokenize
from copydesk.model.run import RunRequest
from copydesk.store import tables
from copydesk.store.ids import new_id
from copydesk.store.search import _FTS5, _format_match_expression
from desk_fixtures import (
    NOW,
    URL_ONE,
    URL_TWO,
    FakeWeb,
    create_source,
    entry,
    execute_sql,
    feed,
    list_drafts,
    open_desk_at,
    query_db,
    settings_at,
)
from sampling import sample_size
from store_fixtures import add_draft, add_item, add_source, add_user, postgresql_server

TEXTS = ("Many passengers were seen on the quay on Monday.", "On Tuesday no passengers were seen at all.")


@pytest.fixture
async def desk(tmp_path):
    """Four drafts: two tagged ones on ferries, of the Gazette; of Étoile, one on a harbour and one on a strike."""
    web = FakeWeb()
    headlines = (
        "Ferry to Aros opens",
        "A ferry is late",
        "The harbour has a new line",
        "Strike at the line of harbours",
    )
    entries = [entry(number, title=headline, text=TEXTS[number % 2]) for number, headline in enumerate(headlines)]
    web.put(URL_ONE, feed(*entries[:2]))
    web.put(URL_TWO, feed(*entries[2:]))
    async with open_desk_at(tmp_path, web) as desk:
        await create_source(desk, name="The Ferry Gazette", tags=["open sea", "Übersee"])
        await create_source(desk, URL_TWO, name="Étoile du Nord")
        await desk.pipeline.run(RunRequest(max_drafts=100))
        assert len(await list_drafts(desk)) == 4
        yield desk


async def search_titles(desk, query: str, **filters: object) -> list[str]:
    """Return the titles found, in order."""
    page = await desk.drafts.search(query, limit=100, **filters)
    assert page.next_cursor is None
    return [draft.item.title for draft in page.items]


FERRY_TITLES = {"Ferry to Aros opens", "A ferry is late"}
HARBOUR_TITLES = {"The harbour has a new line", "Strike at the line of harbours"}
EXPECTED = {
    "ferry": FERRY_TITLES,
    "FERRY aros": {"Ferry to Aros opens"},
    "ferry harbour": set(),
    '"new line"': {"The harbour has a new line"},
    "line new": {"The harbour has a new line"},
    '"line new"': set(),
    "harbour": {"The harbour has a new line"},
    "harb*": HARBOUR_TITLES,
    "harb* -strike": {"The harbour has a new line"},
    'harb* -"new line"': {"Strike at the line of harbours"},
    "gazette": FERRY_TITLES,
    "gazette aros": {"Ferry to Aros opens"},
    "gazette harbour": set(),
    "gaz* -late": {"Ferry to Aros opens"},
    "line -gazette": HARBOUR_TITLES,
    "etoile": HARBOUR_TITLES,
    '"etoile du" strike': {"Strike at the line of harbours"},
    '"gazette open"': set(),
    "sea": FERRY_TITLES,
    '"open sea"': FERRY_TITLES,
    "ubersee ferry": FERRY_TITLES,
    "-ubersee line": HARBOUR_TITLES,
    "passengers": FERRY_TITLES | HARBOUR_TITLES,
    "aros/opens": {"Ferry to Aros opens"},
    "opens/aros": set(),
    "aros: opens!": {"Ferry to Aros opens"},
    "text:ferry": set(),
    "ferry OR strike": set(),
    "ferry NEAR": set(),
    'unclosed" ferry': set(),
    '"ferry': FERRY_TITLES,
}


@pytest.mark.parametrize("query", EXPECTED)
async def test_query_syntax(desk, query):
    assert set(await search_titles(desk, query)) == EXPECTED[query]


EXPECTED_WHILE_TYPING = {
    "ferr": FERRY_TITLES,
    "harb": HARBOUR_TITLES,
    "the harb": HARBOUR_TITLES,
    "harb the": set(),
    "line str": {"Strike at the line of harbours"},
    '"new li': {"The harbour has a new line"},
    '"new li"': set(),
    "f": set(),
    "line -strik": HARBOUR_TITLES,
    "gaz": FERRY_TITLES,
    "ferr* OR": set(),
}


@pytest.mark.parametrize("query", EXPECTED_WHILE_TYPING)
async def test_last_word_is_a_prefix_while_typing(desk, query):
    page = await desk.drafts.search(query, half_typed=True)
    assert {draft.item.title for draft in page.items} == EXPECTED_WHILE_TYPING[query]


async def test_search_respects_filters(desk, tmp_path):
    drafts = await list_drafts(desk)
    sources = {source.name: source.id for source in await desk.sources.list()}
    execute_sql(tmp_path, "UPDATE draft SET status = 'approved' WHERE id = ?", drafts[0].id)
    execute_sql(tmp_path, "UPDATE draft SET archived_at = 1, scheduled_at = 5 WHERE id = ?", drafts[1].id)
    first, second = (draft.item.title for draft in drafts[:2])
    shared_word = "passengers"
    assert await search_titles(desk, shared_word, status=Status.APPROVED) == [first]
    assert await search_titles(desk, shared_word, archived=Archived.ONLY) == [second]
    assert await search_titles(desk, shared_word, scheduled_after="1970-01-01T00:00:00Z") == [second]
    assert len(await search_titles(desk, shared_word, status=("approved", "pending_review"), archived="exclude")) == 3
    assert set(await search_titles(desk, shared_word, tags="Übersee")) == FERRY_TITLES
    assert await search_titles(desk, shared_word, tags=["Übersee", "none"]) == []
    assert set(await search_titles(desk, shared_word, source_id=sources["Étoile du Nord"])) == HARBOUR_TITLES
    assert await search_titles(desk, shared_word, format=Format.BLOG) == []
    assert await search_titles(desk, shared_word, source_type="reddit") == []
    # These words are in the index, in a title or nowhere; the tag filter must compare whole tags.
    assert await search_titles(desk, shared_word, tags="Ferry") == []
    assert await search_titles(desk, shared_word, tags="sea") == []
    assert await search_titles(desk, shared_word, tags='";*') == []
    assert await search_titles(desk, shared_word, source_id='" OR passengers') == []


@pytest.mark.parametrize("limit", [1, 2, 3, 4])
async def test_search_pages_are_stable_newest_first(desk, limit):
    expected = [draft.id for draft in reversed(await list_drafts(desk))]
    hits, cursor = [], None
    while True:
        page = await desk.drafts.search("passengers", limit=limit, cursor=cursor)
        hits += [draft.id for draft in page.items]
        cursor = page.next_cursor
        if cursor is None:
            break
        if len(hits) == limit:
            desk._context.transport.put(URL_ONE, feed(entry(9, title="Meanwhile a new one")))
            await desk.pipeline.run()
    assert hits == expected


async def test_cursor_is_bound_to_query_and_filters(desk):
    cursor = (await desk.drafts.search("passengers", limit=1)).next_cursor
    list_cursor = (await desk.drafts.list(limit=1)).next_cursor
    assert cursor
    assert (await desk.drafts.search(" passengers ", cursor=cursor)).items
    for query, other_cursor, filters in (
        ("passenger*", cursor, {}),
        ("passengers", cursor, {"format": "SHORT"}),
        ("passengers", cursor[:-1], {}),
        ("passengers", list_cursor, {}),
        ("passengers", "", {}),
    ):
        with pytest.raises(InvalidError, match="cursor: is invalid; leave it out"):
            await desk.drafts.search(query, cursor=other_cursor, **filters)


INVALID_QUERIES = {
    "": "needs a search word",
    '  "" * - ... \u200b': "needs a search word",
    "-ferry": "needs a search word besides the excluded ones",
    "f*": "takes at least 2 characters before a star",
    "ferry\x00": "contains a NUL character",
    "ferry \ud800": "is not valid UTF-8",
    "x" * (MAX_QUERY_LENGTH + 1): "takes at most 500 characters, not 501",
    "a " * 33: "takes at most 32 words",
}


@pytest.mark.parametrize("query", INVALID_QUERIES)
async def test_invalid_query_is_refused(desk, query):
    with pytest.raises(InvalidError, match=f"^query: {INVALID_QUERIES[query]}$"):
        await desk.drafts.search(query)
    with pytest.raises(InvalidError, match="query: takes text"):
        await desk.drafts.search(None)  # type: ignore[arg-type]


async def test_renamed_source_is_found(desk):
    gazette = next(source for source in await desk.sources.list() if "Gazette" in source.name)
    await desk.sources.update(gazette.id, {"name": "Tidings"})
    assert set(await search_titles(desk, "tidings")) == FERRY_TITLES
    # The texts still contain the old name.
    await desk._context.write(lambda conn, _: conn.execute(update(tables.draft).values(text="Nothing.")))
    assert await search_titles(desk, "gazette") == []
    assert set(await search_titles(desk, "tidings")) == FERRY_TITLES


async def test_changed_title_text_and_tags_are_found(desk, tmp_path):
    def update_rows(conn: Connection, user: str) -> None:
        title, text, name = (table.c for table in (tables.item, tables.draft, tables.tag))
        conn.execute(update(tables.item).where(title.title == "A ferry is late").values(title="A punctual boat"))
        conn.execute(update(tables.draft).where(text.about.contains("Strike")).values(text="Peace at last"))
        conn.execute(update(tables.tag).where(name.name == "Übersee").values(name="overseas"))
        tag_id = new_id(NOW)
        conn.execute(insert(tables.tag).values(id=tag_id, user_id=user, name="mole"))
        draft_id = select(text.id).where(text.about.contains("new line")).scalar_subquery()
        conn.execute(insert(tables.draft_tag).values(tag_id=tag_id, draft_id=draft_id, user_id=user))

    await desk._context.write(update_rows)

    assert await search_titles(desk, "punctual") == ["A punctual boat"]
    assert await search_titles(desk, "late") == ["A punctual boat"]  # the text still has the old title
    assert await search_titles(desk, "peace") == ["Strike at the line of harbours"]
    assert set(await search_titles(desk, "overseas")) == {"A punctual boat", "Ferry to Aros opens"}
    assert await search_titles(desk, "ubersee") == []
    assert await search_titles(desk, "mole") == ["The harbour has a new line"]
    await desk._context.write(lambda conn, _: conn.execute(delete(tables.tag).where(tables.tag.c.name == "mole")))
    assert await search_titles(desk, "mole") == []
    assert_index_consistent(tmp_path)


async def test_deleted_drafts_are_not_found(desk, tmp_path):
    gazette = next(source for source in await desk.sources.list() if "Gazette" in source.name)
    await desk.sources.delete(gazette.id)

    assert await search_titles(desk, "ferry") == []
    assert set(await search_titles(desk, "passengers")) == HARBOUR_TITLES
    assert_index_consistent(tmp_path)


async def test_foreign_drafts_are_not_found(desk):
    def insert_foreign_draft(conn: Connection, _: str) -> None:
        user = add_user(conn, "Bea")
        source = add_source(conn, user, name="Gazette of another")
        add_draft(conn, user, add_item(conn, user, source), source_id=source, text="ferry passengers", about="x")

    await desk._context.write(insert_foreign_draft)
    assert set(await search_titles(desk, "ferry")) == set(await search_titles(desk, "gazette")) == FERRY_TITLES


def assert_index_consistent(home) -> None:
    """Check that the index holds exactly the words of the existing drafts."""
    if postgresql_server() is not None:
        # It is on a generated column.
        return
    vocabulary_query = "SELECT term, doc, cnt FROM {} ORDER BY term"
    with closing(sqlite3.connect(home / "copydesk.db")) as connection:
        connection.execute("INSERT INTO draft_words (draft_words, rank) VALUES ('integrity-check', 1)")
        connection.execute("CREATE VIRTUAL TABLE temp.kept USING fts5vocab('main', 'draft_words', 'row')")
        before = connection.execute(vocabulary_query.format("kept")).fetchall()
        connection.execute("INSERT INTO draft_words (draft_words) VALUES ('rebuild')")
        assert connection.execute(vocabulary_query.format("kept")).fetchall() == before
        connection.rollback()


@pytest.mark.sqlite("the index of SQLite")
@settings(max_examples=sample_size(150))
@given(st.one_of(st.text(max_size=60), st.text(alphabet="ab\"*-():^{}+ '\\\n%_;NOTANDOR", max_size=40)))
def test_any_text_is_a_query_or_refused(query):
    with closing(sqlite3.connect(":memory:")) as connection:
        connection.execute("CREATE VIRTUAL TABLE words USING fts5(text, about, source_id)")
        connection.execute("INSERT INTO words VALUES ('a b', 'ab', 'x-y')")
        try:
            parsed = parse_query(query)
        except InvalidError:
            return
        expression = _format_match_expression(_FTS5, parsed, [("x-y", tokenize(query)), ("x", ())], query, (query,))
        connection.execute("SELECT count(*) FROM words WHERE words MATCH ?", (expression,)).fetchone()


@pytest.mark.sqlite("the index of SQLite")
@given(st.text(alphabet="abé ß-ÉA1", max_size=12), st.text(alphabet="abé ß-ÉA1", max_size=6), st.booleans())
def test_name_matching_equals_full_text_index(name, text, is_prefix):
    try:
        (term, *other_terms) = parse_query(f'"{text}"{"*" * is_prefix}').terms
    except InvalidError:
        return
    assert not other_terms
    with closing(sqlite3.connect(":memory:")) as connection:
        connection.execute("CREATE VIRTUAL TABLE w USING fts5(n, tokenize='unicode61 remove_diacritics 2')")
        connection.execute("INSERT INTO w VALUES (?)", (name,))
        match_query = f'"{text}"{" *" * is_prefix}'
        hits = connection.execute("SELECT count(*) FROM w WHERE w MATCH ?", (match_query,)).fetchone()[0]
    assert contains_term(tokenize(name), term) is bool(hits)


@pytest.mark.sqlite("the index of SQLite")
async def test_draft_is_indexed_once(tmp_path):
    """Indexing costs as much as all other storing of a draft: a new one and its tags must be indexed together."""
    web = FakeWeb()
    web.put(URL_ONE, feed(entry(1)))
    async with open_desk_at(tmp_path, web) as desk:
        await create_source(desk, tags=["one", "two", "three"])
        await desk.pipeline.run()
        indexed = query_db(tmp_path, "SELECT about FROM draft")
        assert indexed == [(f"{(await list_drafts(desk))[0].item.title}\none\ntwo\nthree\n",)]
        blocks = query_db(tmp_path, "SELECT count(*) FROM draft_words_idx")
    assert blocks == [(1,)]


async def test_search_in_new_process(desk, tmp_path):
    async with open_desk(settings_at(tmp_path)) as other:
        assert set(await search_titles(other, "ferry")) == FERRY_TITLES
