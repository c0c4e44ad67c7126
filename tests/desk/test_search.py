"""Finding drafts by words: in their text, their item's title, their tags and their source's name."""

import sqlite3
from contextlib import closing

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from sqlalchemy import Connection, delete, insert, select, update

from copydesk.desk import open_desk
from copydesk.errors import InvalidError
from copydesk.model.draft import Format, Status
from copydesk.model.filters import Archived
from copydesk.model.query import LONGEST_QUERY, has, query_of, words_of
from copydesk.model.run import RunRequest
from copydesk.store import tables
from copydesk.store.ids import new_id
from copydesk.store.search import _expression
from desk_fixtures import NOW, ONE, TWO, Web, add, drafts_of, entry, feed, open_at, rows, settings_at
from store_fixtures import add_draft, add_item, add_source, add_user

SEEN = ("Many passengers were seen on Monday.", "On Tuesday no passengers were seen at all.")


@pytest.fixture
async def desk(tmp_path):
    """Four drafts: of the Gazette, tagged, on ferries; of Étoile, on a harbour and on a strike."""
    web = Web()
    stories = ("Ferry to Aros opens", "A ferry is late", "The harbour has a new line", "Strike at the line of harbours")
    entries = [entry(number, named=named, text=SEEN[number % 2]) for number, named in enumerate(stories)]
    web.put(ONE, feed(*entries[:2]))
    web.put(TWO, feed(*entries[2:]))
    async with open_at(tmp_path, web) as desk:
        await add(desk, name="The Ferry Gazette", tags=["open sea", "Übersee"])
        await add(desk, TWO, name="Étoile du Nord")
        await desk.pipeline.run(RunRequest(max_drafts=100))
        assert len(await drafts_of(desk)) == 4
        yield desk


async def found(desk, query: str, **narrowed: object) -> list[str]:
    """The titles that a query finds, in order."""
    page = await desk.drafts.search(query, limit=100, **narrowed)
    assert page.next_cursor is None
    return [draft.item.title for draft in page.items]


FERRIES = {"Ferry to Aros opens", "A ferry is late"}
HARBOURS = {"The harbour has a new line", "Strike at the line of harbours"}
FOUND = {
    "ferry": FERRIES,
    "FERRY aros": {"Ferry to Aros opens"},
    "ferry harbour": set(),
    '"new line"': {"The harbour has a new line"},
    "line new": {"The harbour has a new line"},
    '"line new"': set(),
    "harbour": {"The harbour has a new line"},
    "harb*": HARBOURS,
    "harb* -strike": {"The harbour has a new line"},
    'harb* -"new line"': {"Strike at the line of harbours"},
    "gazette": FERRIES,
    "gazette aros": {"Ferry to Aros opens"},
    "gazette harbour": set(),
    "gaz* -late": {"Ferry to Aros opens"},
    "line -gazette": HARBOURS,
    "etoile": HARBOURS,
    '"etoile du" strike': {"Strike at the line of harbours"},
    '"gazette open"': set(),
    "sea": FERRIES,
    '"open sea"': FERRIES,
    "ubersee ferry": FERRIES,
    "-ubersee line": HARBOURS,
    "passengers": FERRIES | HARBOURS,
    "aros/opens": {"Ferry to Aros opens"},
    "opens/aros": set(),
    "aros: opens!": {"Ferry to Aros opens"},
    "text:ferry": set(),
    "ferry OR strike": set(),
    "ferry NEAR": set(),
    'unclosed" ferry': set(),
    '"ferry': FERRIES,
}


@pytest.mark.parametrize("query", FOUND)
async def test_all_words_are_looked_for_in_text_title_tags_and_source(desk, query):
    assert set(await found(desk, query)) == FOUND[query]


HALF_TYPED = {
    "ferr": FERRIES,
    "harb": HARBOURS,
    "the harb": HARBOURS,
    "harb the": set(),
    "line str": {"Strike at the line of harbours"},
    '"new li': {"The harbour has a new line"},
    '"new li"': set(),
    "f": set(),
    "line -strik": HARBOURS,
    "gaz": FERRIES,
    "ferr* OR": set(),
}


@pytest.mark.parametrize("query", HALF_TYPED)
async def test_of_a_query_that_is_half_typed_the_last_word_may_go_on(desk, query):
    page = await desk.drafts.search(query, half_typed=True)
    assert {draft.item.title for draft in page.items} == HALF_TYPED[query]


async def test_the_filters_of_lists_narrow_what_is_found(desk, tmp_path):
    everything = await drafts_of(desk)
    sources = {source.name: source.id for source in await desk.sources.list()}
    with closing(sqlite3.connect(tmp_path / "copydesk.db")) as connection, connection:
        connection.execute("UPDATE draft SET status = 'approved' WHERE id = ?", (everything[0].id,))
        connection.execute("UPDATE draft SET archived_at = 1, scheduled_at = 5 WHERE id = ?", (everything[1].id,))
    first, second = (draft.item.title for draft in everything[:2])
    common = "passengers"
    assert await found(desk, common, status=Status.APPROVED) == [first]
    assert await found(desk, common, archived=Archived.ONLY) == [second]
    assert await found(desk, common, scheduled_after="1970-01-01T00:00:00Z") == [second]
    assert len(await found(desk, common, status=("approved", "pending_review"), archived="exclude")) == 3
    assert set(await found(desk, common, tags="Übersee")) == FERRIES
    assert await found(desk, common, tags=["Übersee", "none"]) == []
    assert set(await found(desk, common, source_id=sources["Étoile du Nord"])) == HARBOURS
    assert await found(desk, common, format=Format.BLOG) == []
    assert await found(desk, common, source_type="reddit") == []
    # The words of these stand in the index, in a title or nowhere: only the tag itself counts.
    assert await found(desk, common, tags="Ferry") == []
    assert await found(desk, common, tags="sea") == []
    assert await found(desk, common, tags='";*') == []
    assert await found(desk, common, source_id='" OR passengers') == []


@pytest.mark.parametrize("limit", [1, 2, 3, 4])
async def test_the_pages_of_a_search_visit_every_hit_once_newest_first(desk, limit):
    wanted = [draft.id for draft in reversed(await drafts_of(desk))]
    seen, cursor = [], None
    while True:
        page = await desk.drafts.search("passengers", limit=limit, cursor=cursor)
        seen += [draft.id for draft in page.items]
        cursor = page.next_cursor
        if cursor is None:
            break
        if len(seen) == limit:
            desk.ground.transport.put(ONE, feed(entry(9, named="Meanwhile a new one")))
            await desk.pipeline.run()
    assert seen == wanted


async def test_a_cursor_goes_with_the_words_and_filters_that_it_was_made_for(desk):
    cursor = (await desk.drafts.search("passengers", limit=1)).next_cursor
    listed = (await desk.drafts.list(limit=1)).next_cursor
    assert cursor
    assert (await desk.drafts.search(" passengers ", cursor=cursor)).items
    for query, asked, narrowed in (
        ("passenger*", cursor, {}),
        ("passengers", cursor, {"format": "SHORT"}),
        ("passengers", cursor[:-1], {}),
        ("passengers", listed, {}),
        ("passengers", "", {}),
    ):
        with pytest.raises(InvalidError, match="cursor: is not one that this list gave"):
            await desk.drafts.search(query, cursor=asked, **narrowed)


BAD = {
    "": "takes a word to look for",
    '  "" * - ... \u200b': "takes a word to look for",
    "-ferry": "takes a word to look for, beside those to leave out",
    "f*": "takes at least 2 characters before a star",
    "ferry\x00": "holds a NUL character",
    "ferry \ud800": "holds bytes that are no UTF-8",
    "x" * (LONGEST_QUERY + 1): "takes at most 500 characters, not 501",
    "a " * 33: "takes at most 32 words",
}


@pytest.mark.parametrize("query", BAD)
async def test_a_query_that_cannot_be_is_refused_by_its_field(desk, query):
    with pytest.raises(InvalidError, match=f"^query: {BAD[query]}$"):
        await desk.drafts.search(query)
    with pytest.raises(InvalidError, match="query: takes a text"):
        await desk.drafts.search(None)  # type: ignore[arg-type]


async def test_a_renamed_source_is_found_by_its_new_name(desk):
    gazette = next(source for source in await desk.sources.list() if "Gazette" in source.name)
    await desk.sources.update(gazette.id, {"name": "Tidings"})
    assert set(await found(desk, "tidings")) == FERRIES
    # Their texts still name the source as it was called.
    await desk.ground.write(lambda conn, _: conn.execute(update(tables.draft).values(text="Nothing.")))
    assert await found(desk, "gazette") == []
    assert set(await found(desk, "tidings")) == FERRIES


async def test_a_new_title_text_or_tag_is_found_and_the_old_one_is_not(desk, tmp_path):
    def change(conn: Connection, user: str) -> None:
        title, text, name = (table.c for table in (tables.item, tables.draft, tables.tag))
        conn.execute(update(tables.item).where(title.title == "A ferry is late").values(title="A punctual boat"))
        conn.execute(update(tables.draft).where(text.about.contains("Strike")).values(text="Peace at last"))
        conn.execute(update(tables.tag).where(name.name == "Übersee").values(name="overseas"))
        fresh = new_id(NOW)
        conn.execute(insert(tables.tag).values(id=fresh, user_id=user, name="mole"))
        one = select(text.id).where(text.about.contains("new line")).scalar_subquery()
        conn.execute(insert(tables.draft_tag).values(tag_id=fresh, draft_id=one, user_id=user))

    await desk.ground.write(change)

    assert await found(desk, "punctual") == ["A punctual boat"]
    assert await found(desk, "late") == ["A punctual boat"]  # its text still says so
    assert await found(desk, "peace") == ["Strike at the line of harbours"]
    assert set(await found(desk, "overseas")) == {"A punctual boat", "Ferry to Aros opens"}
    assert await found(desk, "ubersee") == []
    assert await found(desk, "mole") == ["The harbour has a new line"]
    await desk.ground.write(lambda conn, _: conn.execute(delete(tables.tag).where(tables.tag.c.name == "mole")))
    assert await found(desk, "mole") == []
    assert_sound(tmp_path)


async def test_what_is_deleted_is_not_found(desk, tmp_path):
    gazette = next(source for source in await desk.sources.list() if "Gazette" in source.name)
    await desk.sources.delete(gazette.id)

    assert await found(desk, "ferry") == []
    assert set(await found(desk, "passengers")) == HARBOURS
    assert_sound(tmp_path)


async def test_another_users_drafts_are_not_found(desk):
    def other(conn: Connection, _: str) -> None:
        user = add_user(conn, "Bea")
        source = add_source(conn, user, name="Gazette of another")
        add_draft(conn, user, add_item(conn, user, source), source_id=source, text="ferry passengers", about="x")

    await desk.ground.write(other)
    assert set(await found(desk, "ferry")) == set(await found(desk, "gazette")) == FERRIES


def assert_sound(home) -> None:
    """The index holds exactly the words of the drafts that there are."""
    words = "SELECT term, doc, cnt FROM {} ORDER BY term"
    with closing(sqlite3.connect(home / "copydesk.db")) as connection:
        connection.execute("INSERT INTO draft_words (draft_words, rank) VALUES ('integrity-check', 1)")
        connection.execute("CREATE VIRTUAL TABLE temp.kept USING fts5vocab('main', 'draft_words', 'row')")
        before = connection.execute(words.format("kept")).fetchall()
        connection.execute("INSERT INTO draft_words (draft_words) VALUES ('rebuild')")
        assert connection.execute(words.format("kept")).fetchall() == before
        connection.rollback()


@settings(max_examples=150)
@given(st.one_of(st.text(max_size=60), st.text(alphabet="ab\"*-():^{}+ '\\\n%_;NOTANDOR", max_size=40)))
def test_any_text_is_answered_or_refused(query):
    with closing(sqlite3.connect(":memory:")) as connection:
        connection.execute("CREATE VIRTUAL TABLE words USING fts5(text, about, source_id)")
        connection.execute("INSERT INTO words VALUES ('a b', 'ab', 'x-y')")
        try:
            asked = query_of(query)
        except InvalidError:
            return
        expression = _expression(asked, [("x-y", words_of(query)), ("x", ())], query, (query,))
        connection.execute("SELECT count(*) FROM words WHERE words MATCH ?", (expression,)).fetchone()


@given(st.text(alphabet="abé ß-ÉA1", max_size=12), st.text(alphabet="abé ß-ÉA1", max_size=6), st.booleans())
def test_names_of_sources_are_looked_through_as_the_index_is(name, text, open_end):
    try:
        (term, *more) = query_of(f'"{text}"{"*" * open_end}').terms
    except InvalidError:
        return
    assert not more
    with closing(sqlite3.connect(":memory:")) as connection:
        connection.execute("CREATE VIRTUAL TABLE w USING fts5(n, tokenize='unicode61 remove_diacritics 2')")
        connection.execute("INSERT INTO w VALUES (?)", (name,))
        asked = f'"{text}"{" *" * open_end}'
        hit = connection.execute("SELECT count(*) FROM w WHERE w MATCH ?", (asked,)).fetchone()[0]
    assert has(words_of(name), term) is bool(hit)


async def test_the_words_of_a_draft_are_indexed_once(tmp_path):
    """To change a draft's words costs as much as all the rest of storing it: a new one's tags come with its row."""
    web = Web()
    web.put(ONE, feed(entry(1)))
    async with open_at(tmp_path, web) as desk:
        await add(desk, tags=["one", "two", "three"])
        await desk.pipeline.run()
        kept = rows(tmp_path, "SELECT about FROM draft")
        assert kept == [(f"{(await drafts_of(desk))[0].item.title}\none\ntwo\nthree\n",)]
        blocks = rows(tmp_path, "SELECT count(*) FROM draft_words_idx")
    assert blocks == [(1,)]


async def test_a_desk_of_its_own_process_finds_what_another_wrote(desk, tmp_path):
    async with open_desk(settings_at(tmp_path)) as other:
        assert set(await found(other, "ferry")) == FERRIES
