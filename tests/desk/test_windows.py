"""The tabs of the review, in windows: every draft once, in the tab's order, from wherever one stands."""

import random
from datetime import timedelta
from functools import cmp_to_key

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from sqlalchemy import Connection, create_engine, event, insert

from copydesk.desk import Desk
from copydesk.errors import InvalidError
from copydesk.model.draft import Action, Format, Status
from copydesk.model.window import STATES, Place, Tab, View, belongs, number_in, precedes
from copydesk.store import tables, window
from copydesk.store.ids import new_id
from copydesk.store.migrate import _create_tables
from copydesk.store.types import microseconds
from desk_fixtures import NOW, open_at
from store_fixtures import add_draft, add_item, add_source, add_user

TIMED = {Status.SCHEDULED, Status.MISSED, Status.POSTED}
DRAFTS = 260


@pytest.fixture(scope="module")
def connection():
    """A database in memory with its tables."""
    engine = create_engine("sqlite://", isolation_level="AUTOCOMMIT")
    event.listen(engine, "connect", lambda driver, _: driver.execute("PRAGMA foreign_keys = ON"))
    with engine.connect() as connection:
        _create_tables(connection)
        yield connection
    engine.dispose()


class Shelf:
    """Two users' drafts in every state, and what is known of them without asking the database."""

    def __init__(self, connection: Connection) -> None:
        self.connection = connection
        self.chance = random.Random(8)
        self.user, self.other = add_user(connection), add_user(connection, "Bea")
        self.kept: dict[str, dict[str, object]] = {}
        for user in (self.user, self.other):
            sources = [add_source(connection, user) for _ in range(2)]
            tags = [self._tag(user, name) for name in ("a", "b")]
            for _ in range(DRAFTS):
                self._add(user, sources, tags)
        self._stored = dict(connection.exec_driver_sql("SELECT id, rid FROM draft").fetchall())
        self.sources = sorted({str(each["source_id"]) for each in self.kept.values()})

    def _tag(self, user: str, name: str) -> str:
        tag = new_id(NOW)
        self.connection.execute(insert(tables.tag).values(id=tag, user_id=user, name=name))
        return tag

    def _add(self, user: str, sources: list[str], tags: list[str]) -> None:
        chance = self.chance
        status = chance.choice(list(Status))
        has_time = status in TIMED or (status is Status.POSTING and chance.random() < 0.5)
        values = {
            "status": status,
            "format": chance.choice(list(Format)),
            "source_id": chance.choice(sources),
            # Few of them, so that many are equal.
            "total_score": chance.choice([None, 0.0, 0.25, 0.5]),
            "text": chance.choice(["An otter swims.", "A heron wades.", "An otter meets a heron."]),
            "about": "A pond\n",
            "scheduled_at": NOW + timedelta(hours=chance.randrange(9)) if has_time else None,
            "archived_at": chance.choice([None, None, None, NOW]),
        }
        made = add_draft(self.connection, user, add_item(self.connection, user, None), origin="direct", **values)
        given = [at for at in range(2) if chance.random() < 0.4]
        for at in given:
            row = {"tag_id": tags[at], "draft_id": made, "user_id": user}
            self.connection.execute(insert(tables.draft_tag).values(row))
        if user == self.user:
            self.kept[made] = values | {"tags": {"ab"[at] for at in given}}

    def wanted(self, view: View) -> list[Place]:
        """Where the drafts stand that a view should show, in its order."""
        shown = [self._place(view, each) for each in self.kept if self._fits(view, self.kept[each])]
        return sorted(shown, key=cmp_to_key(lambda one, other: -1 if precedes(view.order, one, other) else 1))

    def _fits(self, view: View, draft: dict) -> bool:
        in_tab = view.tab is Tab.ALL or (draft["archived_at"] is None and draft["status"] in STATES[view.tab])
        same = view.format in (None, draft["format"]) and view.source_id in (None, draft["source_id"])
        words = not view.query or view.query in draft["text"]
        return in_tab and same and words and draft["tags"] >= set(view.tags)

    def _place(self, view: View, draft: str) -> Place:
        kept, tab = self.kept[draft], view.tab
        if view.query:
            return Place(self._stored[draft], draft)
        if tab is Tab.TO_REVIEW:
            return Place(kept["total_score"], draft)
        at = kept["scheduled_at"] if tab is Tab.SCHEDULED else None
        return Place(None if at is None else microseconds(at), draft)


@pytest.fixture(scope="module")
def shelf(connection):
    return Shelf(connection)


@pytest.fixture(params=[2000, 0], ids=["few", "many"])
def few(request, monkeypatch):
    """Whether what a filter leads to is sorted, or the tab's order walked."""
    monkeypatch.setattr(window, "FEW", request.param)


def views(shelf: Shelf) -> list[View]:
    """Every tab, alone and narrowed."""
    return [
        View(tab=tab, format=kind, source_id=source, tags=tags, query=query)
        for tab in Tab
        for kind in (None, Format.BLOG)
        for source in (None, shelf.sources[0])
        for tags in ((), ("a",), ("b", "a"), ("none",))
        for query in ("", "otter")
        if not query or kind is None
    ]


def test_every_view_holds_its_drafts_in_its_order(shelf, few):
    for view in views(shelf):
        held = window.read(shelf.connection, shelf.user, view, limit=1000)
        assert list(held.places) == shelf.wanted(view), view
        assert [draft.id for draft in held.drafts] == [place.id for place in held.places]
        assert all(belongs(view.tab, draft) for draft in held.drafts)
        assert not held.more


def test_from_any_place_the_drafts_on_either_side_are_found(shelf, few):
    for view in views(shelf):
        wanted = shelf.wanted(view)
        for at in range(0, len(wanted), 3):
            after = window.read(shelf.connection, shelf.user, view, limit=5, place=wanted[at])
            assert list(after.places) == wanted[at + 1 : at + 6], view
            assert after.more == (len(wanted) > at + 6)
            before = window.read(shelf.connection, shelf.user, view, limit=5, place=wanted[at], backwards=True)
            assert list(before.places) == wanted[max(at - 5, 0) : at], view
            assert before.more == (at > 5)
            assert window.before(shelf.connection, shelf.user, view, wanted[at]) == at


def test_the_end_and_an_offset_are_found_without_what_is_before(shelf):
    for view in views(shelf):
        wanted = shelf.wanted(view)
        end = window.read(shelf.connection, shelf.user, view, limit=7, backwards=True)
        assert list(end.places) == wanted[-7:]
        some = window.read(shelf.connection, shelf.user, view, limit=7, offset=4)
        assert list(some.places) == wanted[4:11]
        assert window.total(shelf.connection, shelf.user, view) == len(wanted)


@settings(max_examples=80, deadline=None)
@given(data=st.data())
def test_windows_that_follow_each_other_show_everything_once(shelf, data):
    view = data.draw(st.sampled_from(views(shelf)))
    backwards, limit = data.draw(st.booleans()), data.draw(st.integers(1, 40))
    seen, place, more = [], None, True
    while more:
        held = window.read(shelf.connection, shelf.user, view, limit=limit, place=place, backwards=backwards)
        seen = [*held.places, *seen] if backwards else [*seen, *held.places]
        place, more = (seen[0 if backwards else -1] if seen else None), held.more
    assert seen == shelf.wanted(view)


@pytest.mark.parametrize("tab", Tab)
def test_a_tabs_order_is_walked_in_its_index_and_nothing_is_sorted_or_read_whole(shelf, tab):
    for place in (None, Place(0.25, "x"), Place(None, "x")):
        for backwards in (False, True):
            plan = _plan(shelf, View(tab=tab), place, backwards=backwards)
            assert "SCAN" not in plan
            assert "TEMP B-TREE" not in plan
            assert "SEARCH draft USING" in plan
            assert plan.count("(user_id=?") == plan.count("SEARCH draft")


def test_words_lead_in_their_own_order_and_nothing_is_sorted_where_a_tab_has_many(shelf, monkeypatch):
    monkeypatch.setattr(window, "FEW", 0)
    for place in (None, Place(70, "x")):
        for backwards in (False, True):
            plan = _plan(shelf, View(query="otter", tags=("a",)), place, backwards=backwards)
            assert plan.startswith("SCAN draft_words VIRTUAL TABLE INDEX")
            assert "SEARCH draft USING INTEGER PRIMARY KEY" in plan
            assert "TEMP B-TREE" not in plan


def test_a_tab_of_few_leads_to_the_words(shelf):
    plan = _plan(shelf, View(query="otter"), None)
    assert "SEARCH draft USING COVERING INDEX ix_draft_user_id_status" in plan.split("\n")[0]
    assert plan.count("SCAN draft_words VIRTUAL TABLE") == 1


def test_which_of_some_drafts_a_view_shows_and_where_is_found(shelf, few):
    some = [*list(shelf.kept)[::3], "none"]
    for view in views(shelf):
        wanted = [place for place in shelf.wanted(view) if place.id in some]
        held = window.standing(shelf.connection, shelf.user, view, some)
        assert sorted(held, key=str) == sorted(wanted, key=str), view


def test_a_filter_that_leads_to_few_leads(shelf):
    plan = _plan(shelf, View(source_id=shelf.sources[0]), None)
    assert "ix_draft_user_id_source_id_id (user_id=? AND source_id=?" in plan
    assert "SEARCH draft_tag" in _plan(shelf, View(tags=("a",)), None)


def _plan(shelf: Shelf, view: View, place: Place | None, *, backwards: bool = False) -> str:
    run = window.runner(shelf.connection)
    shape, values = window._planned(shelf.connection, shelf.user, view, place)
    statement = window.statements.places_of(shape._replace(backwards=backwards))
    rows = run(f"EXPLAIN QUERY PLAN {statement}", values | {"limit": 5, "offset": 0})
    return "\n".join(row[-1] for row in rows)


def test_new_drafts_of_a_view_are_counted_no_further_than_asked(shelf, few):
    ids = sorted(shelf.kept)
    for view in views(shelf):
        new = sum(place.id > ids[50] for place in shelf.wanted(view))
        assert window.since(shelf.connection, shelf.user, view, ids[50], 1000) == new
        assert window.since(shelf.connection, shelf.user, view, ids[50], 3) == min(new, 3)
    assert window.newest(shelf.connection, shelf.user) == ids[-1]


@pytest.fixture
async def desk(tmp_path):
    """A desk with ten drafts to review, the best first made last, and one that is archived."""
    async with open_at(tmp_path) as desk:
        await desk.ground.write(_fill)
        yield desk


def _fill(conn: Connection, user: str) -> None:
    for number in range(10):
        add_draft(conn, user, add_item(conn, user, None), total_score=number / 10, text=f"Draft {number}.")
    add_draft(conn, user, add_item(conn, user, None), total_score=0.5, archived_at=NOW)


def texts(drafts) -> list[str]:
    return [draft.text for draft in drafts]


async def test_a_place_shows_what_is_around_it_even_when_its_draft_is_gone(desk: Desk):
    held = await desk.drafts.window(View())
    middle = held.places[6]
    found = await desk.drafts.around(View(), middle, limit=4)
    assert texts(found.slice.drafts) == [f"Draft {number}." for number in (5, 4, 3, 2, 1, 0)]
    assert found.before == 4
    await desk.drafts.approve(middle.id)
    found = await desk.drafts.around(View(), middle, limit=4)
    assert texts(found.slice.drafts) == [f"Draft {number}." for number in (5, 4, 2, 1, 0)]


async def test_a_range_is_read_by_its_ends(desk: Desk, monkeypatch: pytest.MonkeyPatch):
    monkeypatch.setattr("copydesk.desk.windows.AT_ONCE", 3)
    places = (await desk.drafts.window(View())).places
    ids = [place.id for place in places]
    assert list(await desk.drafts.between(View())) == ids
    assert list(await desk.drafts.between(View(), places[2], places[7])) == ids[2:8]
    assert list(await desk.drafts.between(View(), places[0], places[0])) == ids[:1]
    assert list(await desk.drafts.between(View(), places[8])) == ids[8:]


async def test_hits_of_a_search_are_windows_too(desk: Desk, monkeypatch: pytest.MonkeyPatch):
    monkeypatch.setattr("copydesk.desk.windows.AT_ONCE", 3)
    view = View(tab=Tab.ALL, query="draft*")
    places = (await desk.drafts.window(view)).places
    ids = [place.id for place in places]
    assert len(ids) == 10
    assert (await desk.drafts.window(view, limit=3, end=True)).places == places[-3:]
    assert list(await desk.drafts.between(view, places[2], places[7])) == ids[2:8]
    around = await desk.drafts.around(view, places[6], limit=4)
    assert (around.before, around.slice.places) == (4, places[4:10])
    assert await desk.drafts.extent(view, places[2], places[7]) == (2, 6)
    with pytest.raises(InvalidError, match="query: takes a word to look for"):
        await desk.drafts.window(View(query="-draft"))


async def test_a_view_finds_a_word_by_its_beginning(desk: Desk):
    assert len((await desk.drafts.window(View(tab=Tab.ALL, query="draf"))).places) == 10
    assert not (await desk.drafts.window(View(tab=Tab.ALL, query='"draf"'))).places


async def test_an_extent_holds_what_is_there_by_now(desk: Desk):
    places = (await desk.drafts.window(View())).places
    for gone in (places[7], places[3]):
        await desk.drafts.approve(gone.id)
    assert await desk.drafts.extent(View(), places[2], places[7]) == (2, 4)
    assert await desk.drafts.standing(View(), (places[2].id, places[3].id)) == (places[2],)


async def test_a_count_goes_in_steps_that_can_be_left(desk: Desk, monkeypatch: pytest.MonkeyPatch):
    monkeypatch.setattr("copydesk.desk.windows.COUNTED", 4)
    for view in (View(), View(query="draft*")):
        assert [number async for number in desk.drafts.counting(view)] == [4, 8, 10]
    monkeypatch.setattr("copydesk.desk.windows.COUNTED", 5)
    assert [number async for number in desk.drafts.counting(View())] == [5, 10, 10]


async def test_counts_say_how_many_each_tab_shows(desk: Desk):
    counts = await desk.drafts.counts()
    for tab in Tab:
        held = await desk.drafts.window(View(tab=tab))
        assert number_in(tab, counts) == len(held.drafts) == await desk.drafts.total(View(tab=tab))
    assert number_in(Tab.ALL, counts) == 11


async def test_what_came_since_is_counted(desk: Desk):
    newest = await desk.drafts.newest()
    assert await desk.drafts.newer_than(newest, View()) == 0
    await desk.ground.write(_fill)
    assert await desk.drafts.newer_than(newest, View()) == 10
    assert await desk.drafts.newer_than(newest, View(tab=Tab.APPROVED)) == 0


async def test_drafts_are_read_again_by_their_ids(desk: Desk):
    ids = tuple(place.id for place in (await desk.drafts.window(View())).places)
    assert {draft.id for draft in await desk.drafts.these((*ids, "none"))} == set(ids)
    assert await desk.drafts.these(()) == ()


async def test_an_empty_desk_has_empty_windows(tmp_path):
    async with open_at(tmp_path) as desk:
        for tab in Tab:
            assert (await desk.drafts.window(View(tab=tab), end=True)).drafts == ()
        assert await desk.drafts.newest() == ""
        assert await desk.drafts.tags() == ()
        assert (await desk.drafts.around(View(), Place(0.5, "x"))).before == 0


async def test_what_came_into_a_tab_since_a_moment_was_made_or_in_another_state_then(desk: Desk):
    ids = [place.id for place in (await desk.drafts.window(View())).places]
    await desk.drafts.approve(ids[0])
    moment = await desk.drafts.moment()
    made = (await desk.drafts.create({"text": "A new one."})).drafts[0].id
    await desk.drafts.unapprove(ids[0])
    await desk.drafts.act(Action.APPROVE, ids[1:3])
    await desk.drafts.undo()
    await desk.drafts.archive(ids[3])
    every = (*ids, made)
    assert await desk.drafts.came_since(moment, Tab.TO_REVIEW, every) == {ids[0], made}
    assert await desk.drafts.came_since(moment, Tab.ALL, every) == {made}
    later = await desk.drafts.moment()
    await desk.drafts.undo(ids[3])
    assert await desk.drafts.came_since(later, Tab.TO_REVIEW, every) == {ids[3]}
    assert await desk.drafts.came_since(await desk.drafts.moment(), Tab.TO_REVIEW, every) == frozenset()
