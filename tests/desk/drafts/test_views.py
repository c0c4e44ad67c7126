"""Tests for windows of the review tabs: every draft once, in the tab's order, from any position."""

import random
from datetime import timedelta
from functools import cmp_to_key

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from sqlalchemy import Connection, insert

from copydesk.desk import Desk
from copydesk.errors import InvalidError
from copydesk.model.draft import Action, Agent, Format, Status
from copydesk.model.filters import (
    MAX_SORTED,
    TAB_STATUSES,
    DraftPosition,
    DraftView,
    Order,
    Tab,
    count_in_tab,
    list_orders,
    precedes,
    tab_contains,
)
from copydesk.store import draft_queries, queue_window, tables
from copydesk.store.column_types import to_microseconds
from copydesk.store.ids import new_id
from desk_fixtures import NOW, Watch, open_desk_at
from sampling import sample_size
from store_fixtures import add_draft, add_item, add_source, add_user, connect_in_memory, postgresql_server

TIMED_STATUSES = {Status.SCHEDULED, Status.MISSED, Status.POSTED}
DRAFTS = 260


@pytest.fixture(scope="module")
def connection(tmp_path_factory):
    """A database with all tables, of this module alone."""
    with connect_in_memory(tmp_path_factory.mktemp("database")) as connection:
        yield connection


class DraftSet:
    """Drafts of two users in every status, and their values kept apart for comparison."""

    def __init__(self, connection: Connection) -> None:
        self.connection = connection
        self.rng = random.Random(8)
        self.user, self.other = add_user(connection), add_user(connection, "Bea")
        self.expected: dict[str, dict[str, object]] = {}
        for user in (self.user, self.other):
            sources = [add_source(connection, user) for _ in range(2)]
            tags = [self._tag(user, name) for name in ("a", "b")]
            for _ in range(DRAFTS):
                self._add(user, sources, tags)
        self._row_ids = dict(connection.exec_driver_sql("SELECT id, rid FROM draft").fetchall())
        self.sources = sorted({str(draft["source_id"]) for draft in self.expected.values() if draft["source_id"]})

    def _tag(self, user: str, name: str) -> str:
        tag = new_id(NOW)
        self.connection.execute(insert(tables.tag).values(id=tag, user_id=user, name=name))
        return tag

    def _add(self, user: str, sources: list[str], tags: list[str]) -> None:
        rng = self.rng
        status = rng.choice(list(Status))
        has_time = status in TIMED_STATUSES or (status is Status.POSTING and rng.random() < 0.5)
        values = {
            "status": status,
            "format": rng.choice(list(Format)),
            "source_id": rng.choice([*sources, None]),
            "confidence": rng.choice([0.25, 0.5, 0.75]),
            # Few values, so that many scores are equal.
            "total_score": rng.choice([None, 0.0, 0.25, 0.5]),
            "text": rng.choice(["An otter swims.", "A heron wades.", "An otter meets a heron."]),
            "about": "A pond\n",
            "scheduled_at": NOW + timedelta(hours=rng.randrange(9)) if has_time else None,
            "archived_at": rng.choice([None, None, None, NOW]),
            "agent": rng.choice([None, None, Agent(name="scout")]),
        }
        draft_id = add_draft(self.connection, user, add_item(self.connection, user, None), origin="direct", **values)
        tag_indexes = [index for index in range(2) if rng.random() < 0.4]
        for index in tag_indexes:
            row = {"tag_id": tags[index], "draft_id": draft_id, "user_id": user}
            self.connection.execute(insert(tables.draft_tag).values(row))
        if user == self.user:
            self.expected[draft_id] = values | {"tags": {"ab"[index] for index in tag_indexes}}

    def matching_positions(self, view: DraftView) -> list[DraftPosition]:
        """Return the positions of the drafts that a view must show, in its order."""
        positions = [
            self._position(view, draft_id) for draft_id in self.expected if self._matches(view, self.expected[draft_id])
        ]
        return sorted(positions, key=cmp_to_key(lambda first, second: -1 if precedes(view.order, first, second) else 1))

    def _matches(self, view: DraftView, draft: dict) -> bool:
        in_tab = (draft["archived_at"] is not None) is (view.tab is Tab.ARCHIVED)
        in_tab &= not TAB_STATUSES[view.tab] or draft["status"] in TAB_STATUSES[view.tab]
        fields_match = view.format in (None, draft["format"]) and view.source_id in (None, draft["source_id"])
        query_matches = not view.query or view.query in draft["text"]
        agent_matches = not view.by_agent or draft["agent"] is not None
        return in_tab and fields_match and query_matches and agent_matches and draft["tags"] >= set(view.tags)

    def _position(self, view: DraftView, draft: str) -> DraftPosition:
        values = self.expected[draft]
        if view.query:
            return DraftPosition(self._row_ids[draft] if postgresql_server() is None else None, draft)
        if view.order is Order.SOONEST:
            scheduled_at = values["scheduled_at"]
            return DraftPosition(None if scheduled_at is None else to_microseconds(scheduled_at), draft)
        keys = {Order.BEST: "total_score", Order.CONFIDENT: "confidence", Order.SOURCE: "source_id"}
        return DraftPosition(values[keys[view.order]] if view.order in keys else None, draft)


@pytest.fixture(scope="module")
def draft_set(connection):
    return DraftSet(connection)


@pytest.fixture(params=[(2000, 0), (0, 0), (0, 100)], ids=["few", "many", "few in the tab"])
def filter_plan(request, monkeypatch):
    """All plans: to sort the filtered rows, to walk the index of the tab, and what is shorter for a source."""
    for name, value in zip(("MAX_SORTED", "MIN_WALKED"), request.param, strict=True):
        monkeypatch.setattr(queue_window, name, value)


def views(draft_set: DraftSet) -> list[DraftView]:
    """Return every tab with and without filters."""
    return [
        DraftView(tab=tab, format=draft_format, source_id=source, tags=tags, by_agent=by_agent, query=query)
        for tab in Tab
        for by_agent in (False, True)
        for draft_format in (None, Format.BLOG)
        for source in (None, draft_set.sources[0])
        for tags in ((), ("a",), ("b", "a"), ("none",))
        for query in ("", "otter")
        if not query or draft_format is None
    ] + [
        DraftView(tab=tab, source_id=source, sort=order)
        for tab in Tab
        for order in list_orders(tab)
        for source in (None, draft_set.sources[0])
    ]


def test_views_hold_their_drafts_in_order(draft_set, filter_plan):
    for view in views(draft_set):
        page = queue_window.query_slice(draft_set.connection, draft_set.user, view, limit=1000)()
        assert list(page.positions) == draft_set.matching_positions(view), view
        assert [draft.id for draft in page.drafts] == [position.id for position in page.positions]
        assert all(tab_contains(view.tab, draft) for draft in page.drafts)
        assert not page.has_more


def test_neighbours_of_any_position(draft_set, filter_plan):
    for view in views(draft_set):
        expected = draft_set.matching_positions(view)
        for index in range(0, len(expected), 3):
            after = queue_window.query_slice(
                draft_set.connection, draft_set.user, view, limit=5, position=expected[index]
            )()
            assert list(after.positions) == expected[index + 1 : index + 6], view
            assert after.has_more == (len(expected) > index + 6)
            before = queue_window.query_slice(
                draft_set.connection, draft_set.user, view, limit=5, position=expected[index], backwards=True
            )()
            assert list(before.positions) == expected[max(index - 5, 0) : index], view
            assert before.has_more == (index > 5)
            assert queue_window.count_before(draft_set.connection, draft_set.user, view, expected[index]) == index


def test_end_and_offset(draft_set):
    for view in views(draft_set):
        expected = draft_set.matching_positions(view)
        end = queue_window.query_slice(draft_set.connection, draft_set.user, view, limit=7, backwards=True)()
        assert list(end.positions) == expected[-7:]
        middle = queue_window.query_slice(draft_set.connection, draft_set.user, view, limit=7, offset=4)()
        assert list(middle.positions) == expected[4:11]
        assert queue_window.count_all(draft_set.connection, draft_set.user, view) == len(expected)


@settings(max_examples=sample_size(80), deadline=None)
@given(data=st.data())
def test_consecutive_windows_cover_view_once(draft_set, data):
    view = data.draw(st.sampled_from(views(draft_set)))
    backwards, limit = data.draw(st.booleans()), data.draw(st.integers(1, 40))
    positions, position, more = [], None, True
    while more:
        page = queue_window.query_slice(
            draft_set.connection, draft_set.user, view, limit=limit, position=position, backwards=backwards
        )()
        positions = [*page.positions, *positions] if backwards else [*positions, *page.positions]
        position, more = (positions[0 if backwards else -1] if positions else None), page.has_more
    assert positions == draft_set.matching_positions(view)


@pytest.mark.sqlite("plans of SQLite")
@pytest.mark.parametrize(("tab", "order"), [(tab, order) for tab in Tab for order in list_orders(tab, MAX_SORTED + 1)])
def test_tab_order_uses_its_index(draft_set, tab, order):
    positions: list[DraftPosition | None] = [None, DraftPosition(0.25, "x"), DraftPosition(None, "x")]
    # Every draft has a confidence, so that no position is without one.
    for position in positions[: 2 if order is Order.CONFIDENT else 3]:
        for backwards in (False, True):
            plan = _plan(draft_set, DraftView(tab=tab, sort=order), position, backwards=backwards)
            assert "SCAN" not in plan
            assert "TEMP B-TREE" not in plan
            assert "SEARCH draft USING" in plan
            assert plan.count("(user_id=?") == plan.count("SEARCH draft")


@pytest.mark.sqlite("plans of SQLite")
def test_search_order_uses_full_text_index(draft_set, monkeypatch):
    monkeypatch.setattr(queue_window, "MAX_SORTED", 0)
    for position in (None, DraftPosition(70, "x")):
        for backwards in (False, True):
            plan = _plan(draft_set, DraftView(query="otter", tags=("a",)), position, backwards=backwards)
            assert plan.startswith("SCAN draft_words VIRTUAL TABLE INDEX")
            assert "SEARCH draft USING INTEGER PRIMARY KEY" in plan
            assert "TEMP B-TREE" not in plan


@pytest.mark.sqlite("plans of SQLite")
def test_small_tab_is_read_before_full_text_index(draft_set):
    plan = _plan(draft_set, DraftView(query="otter"), None)
    assert "SEARCH draft USING COVERING INDEX ix_draft_user_id_status" in plan.split("\n")[0]
    assert plan.count("SCAN draft_words VIRTUAL TABLE") == 1


def test_positions_of_given_drafts(draft_set, filter_plan):
    ids = [*list(draft_set.expected)[::3], "none"]
    for view in views(draft_set):
        expected = [position for position in draft_set.matching_positions(view) if position.id in ids]
        positions = queue_window.positions(draft_set.connection, draft_set.user, view, ids)
        assert sorted(positions, key=str) == sorted(expected, key=str), view


@pytest.mark.sqlite("plans of SQLite")
def test_selective_filter_uses_its_index(draft_set):
    plan = _plan(draft_set, DraftView(source_id=draft_set.sources[0]), None)
    assert "ix_draft_user_id_source_id_id (user_id=? AND source_id=?" in plan
    for tab in Tab:
        plan = _plan(draft_set, DraftView(tab=tab, by_agent=True), None)
        assert "ix_draft_user_id_status_id_archived_at_agent (user_id=?" in plan
    plan = _plan(draft_set, DraftView(tags=("a", "b")), None)
    assert plan.startswith("SEARCH draft USING INDEX sqlite_autoindex_draft_1 (id=?)")
    assert plan.count("PRIMARY KEY (tag_id=?") == 2


def test_tags_that_few_drafts_share_lead(draft_set, monkeypatch):
    monkeypatch.setattr(queue_window, "MAX_SORTED", 60)
    leads = {
        tags: queue_window._plan(draft_set.connection, draft_set.user, DraftView(tags=tags), None)[0].lead
        for tags in (("a",), ("b",), ("a", "b"))
    }
    assert leads == {("a",): None, ("b",): None, ("a", "b"): queue_window.Lead.TAGS}


@pytest.mark.sqlite("plans of SQLite")
def test_drafts_by_agents_are_sorted_by_score_in_index(draft_set, monkeypatch):
    monkeypatch.setattr(queue_window, "MAX_SORTED", 0)
    plan = _plan(draft_set, DraftView(by_agent=True), None)
    assert "TEMP B-TREE" not in plan


@pytest.mark.sqlite("plans of SQLite")
def test_scheduled_drafts_before_position_are_counted_in_index(draft_set):
    position = DraftPosition(1, "x")
    shape, values = queue_window._plan(draft_set.connection, draft_set.user, DraftView(tab=Tab.SCHEDULED), position)
    statement = queue_window.count_sql(shape._replace(backwards=True))
    rows = queue_window.raw_execute(draft_set.connection)(f"EXPLAIN QUERY PLAN {statement}", values)
    # The scheduled ones; besides them the few that are being posted without a time are counted.
    scheduled, *_ = [row[-1] for row in rows if "SEARCH" in row[-1]]
    assert "USING COVERING INDEX" in scheduled
    assert "(scheduled_at,id)<" in scheduled


def _plan(draft_set: DraftSet, view: DraftView, position: DraftPosition | None, *, backwards: bool = False) -> str:
    run = queue_window.raw_execute(draft_set.connection)
    shape, values = queue_window._plan(draft_set.connection, draft_set.user, view, position)
    statement = queue_window.positions_sql(shape._replace(backwards=backwards))
    rows = run(f"EXPLAIN QUERY PLAN {statement}", values | {"limit": 5, "offset": 0})
    return "\n".join(row[-1] for row in rows)


def test_new_drafts_are_counted_up_to_limit(draft_set, filter_plan):
    ids = sorted(draft_set.expected)
    for view in views(draft_set):
        count = sum(position.id > ids[50] for position in draft_set.matching_positions(view))
        assert queue_window.query_count_newer(draft_set.connection, draft_set.user, view, ids[50], 1000)() == count
        assert queue_window.query_count_newer(draft_set.connection, draft_set.user, view, ids[50], 3)() == min(count, 3)
    assert queue_window.query_newest(draft_set.connection, draft_set.user)().draft_id == ids[-1]


@pytest.fixture
async def desk(tmp_path):
    """A desk with ten drafts to review, of which the last created has the best score, and an archived one."""
    async with open_desk_at(tmp_path) as desk:
        await desk._context.write(_fill)
        yield desk


def _fill(conn: Connection, user: str) -> None:
    for number in range(10):
        add_draft(conn, user, add_item(conn, user, None), total_score=number / 10, text=f"Draft {number}.")
    add_draft(conn, user, add_item(conn, user, None), total_score=0.5, archived_at=NOW)


def texts(drafts) -> list[str]:
    return [draft.text for draft in drafts]


async def test_tags_are_found_rarest_first(tmp_path, monkeypatch: pytest.MonkeyPatch):
    monkeypatch.setattr(draft_queries, "MAX_SORTED", 2)
    watch = Watch()
    async with open_desk_at(tmp_path, clock=watch) as desk:
        # Each more often than the rarity is looked for.
        for number in range(12):
            watch.now += timedelta(minutes=1)
            tags = ["sea", *(["odd"] if number % 3 == 0 else [])]
            await desk.drafts.create({"text": "The ferry sails.", "tags": tags})
        found = await desk._context.read(draft_queries.find_tags, ("sea", "none", "odd"))
    assert [name for name, _ in found] == ["none", "odd", "sea"]
    assert [bool(id_) for _, id_ in found] == [False, True, True]


async def test_window_around_position_of_removed_draft(desk: Desk):
    page = await desk.drafts.views.window(DraftView())
    middle = page.positions[6]
    around = (await desk.drafts.views.load(DraftView(), middle, limit=4)).rows
    assert texts(around.slice.drafts) == [f"Draft {number}." for number in (5, 4, 3, 2, 1, 0)]
    assert around.before == 4
    await desk.drafts.approve(middle.id)
    around = (await desk.drafts.views.load(DraftView(), middle, limit=4)).rows
    assert texts(around.slice.drafts) == [f"Draft {number}." for number in (5, 4, 2, 1, 0)]


async def test_window_of_one_draft_around_position(desk: Desk):
    middle = (await desk.drafts.views.window(DraftView())).positions[6]
    around = (await desk.drafts.views.load(DraftView(), middle, limit=1)).rows
    assert texts(around.slice.drafts) == ["Draft 4.", "Draft 3."]
    assert around.before == 5


async def test_range_is_loaded_by_its_ends(desk: Desk, monkeypatch: pytest.MonkeyPatch):
    monkeypatch.setattr("copydesk.desk.drafts.views.ID_PAGE_SIZE", 3)
    positions = (await desk.drafts.views.window(DraftView())).positions
    ids = [position.id for position in positions]
    assert list(await desk.drafts.views.between(DraftView())) == ids
    assert list(await desk.drafts.views.between(DraftView(), positions[2], positions[7])) == ids[2:8]
    assert list(await desk.drafts.views.between(DraftView(), positions[0], positions[0])) == ids[:1]
    assert list(await desk.drafts.views.between(DraftView(), positions[8])) == ids[8:]


async def test_search_hits_are_windows(desk: Desk, monkeypatch: pytest.MonkeyPatch):
    monkeypatch.setattr("copydesk.desk.drafts.views.ID_PAGE_SIZE", 3)
    view = DraftView(tab=Tab.ALL, query="draft*")
    positions = (await desk.drafts.views.window(view)).positions
    ids = [position.id for position in positions]
    assert len(ids) == 10
    assert (await desk.drafts.views.window(view, limit=3, end=True)).positions == positions[-3:]
    assert list(await desk.drafts.views.between(view, positions[2], positions[7])) == ids[2:8]
    around = (await desk.drafts.views.load(view, positions[6], limit=4)).rows
    assert (around.before, around.slice.positions) == (4, positions[4:10])
    assert await desk.drafts.views.extent(view, positions[2], positions[7]) == (2, 6)
    with pytest.raises(InvalidError, match="query: needs a search word"):
        await desk.drafts.views.window(DraftView(query="-draft"))


async def test_view_matches_prefix_of_word(desk: Desk):
    assert len((await desk.drafts.views.window(DraftView(tab=Tab.ALL, query="draf"))).positions) == 10
    assert not (await desk.drafts.views.window(DraftView(tab=Tab.ALL, query='"draf"'))).positions


async def test_extent_counts_remaining_drafts(desk: Desk):
    positions = (await desk.drafts.views.window(DraftView())).positions
    for position in (positions[7], positions[3]):
        await desk.drafts.approve(position.id)
    assert await desk.drafts.views.extent(DraftView(), positions[2], positions[7]) == (2, 4)
    assert await desk.drafts.views.positions_of(DraftView(), (positions[2].id, positions[3].id)) == (positions[2],)


async def test_count_is_reported_in_steps(desk: Desk, monkeypatch: pytest.MonkeyPatch):
    monkeypatch.setattr("copydesk.desk.drafts.views.COUNT_STEP", 4)
    for view in (DraftView(), DraftView(query="draft*")):
        assert [number async for number in desk.drafts.views.count_in_steps(view)] == [4, 8, 10]
    monkeypatch.setattr("copydesk.desk.drafts.views.COUNT_STEP", 5)
    assert [number async for number in desk.drafts.views.count_in_steps(DraftView())] == [5, 10, 10]


async def test_counts_per_tab(desk: Desk):
    counts = await desk.drafts.counts()
    for tab in Tab:
        page = await desk.drafts.views.window(DraftView(tab=tab))
        assert count_in_tab(tab, counts) == len(page.drafts)
    assert (count_in_tab(Tab.ALL, counts), count_in_tab(Tab.ARCHIVED, counts)) == (10, 1)


async def test_new_drafts_are_counted(desk: Desk):
    newest = (await desk.drafts.views.load(DraftView())).newest_id
    assert (await desk.drafts.views.refresh(DraftView(), (), newest)).new_count == 0
    await desk._context.write(_fill)
    assert (await desk.drafts.views.refresh(DraftView(), (), newest)).new_count == 10
    assert (await desk.drafts.views.refresh(DraftView(tab=Tab.APPROVED), (), newest)).new_count == 0


async def test_drafts_are_loaded_by_ids(desk: Desk):
    ids = tuple(position.id for position in (await desk.drafts.views.window(DraftView())).positions)
    assert {draft.id for draft in await desk.drafts.views.by_ids((*ids, "none"))} == set(ids)
    assert await desk.drafts.views.by_ids(()) == ()


async def test_empty_desk_has_empty_windows(tmp_path):
    async with open_desk_at(tmp_path) as desk:
        for tab in Tab:
            assert (await desk.drafts.views.window(DraftView(tab=tab), end=True)).drafts == ()
        assert (await desk.drafts.views.load(DraftView())).newest_id == ""
        assert await desk.drafts.views.tags() == ()
        assert (await desk.drafts.views.load(DraftView(), DraftPosition(0.5, "x"))).rows.before == 0


async def test_window_skips_what_arrived_since(desk: Desk):
    view = DraftView(sort=Order.NEWEST)
    before = (await desk.drafts.views.window(view)).positions
    event_number = (await desk.drafts.views.load(view)).event_number
    created = {(await desk.drafts.create({"text": f"New {number}."})).drafts[0].id for number in range(3)}
    assert {position.id for position in (await desk.drafts.views.window(view)).positions[:3]} == created
    # The first pages, or with the other direction the last, have only new ones.
    page = await desk.drafts.views.window(view, limit=1, event_number=event_number)
    assert (page.positions, texts(page.drafts), page.has_more) == (before[:1], ["Draft 9."], True)
    page = await desk.drafts.views.window(view, limit=2, end=True, event_number=event_number)
    assert page.positions == before[-2:]
    last = await desk.drafts.views.window(view, limit=2, before=before[0], event_number=event_number)
    assert (last.positions, last.has_more) == ((), False)
    oldest_first = DraftView(sort=Order.OLDEST)
    page = await desk.drafts.views.window(oldest_first, limit=1, end=True, event_number=event_number)
    assert page.positions == before[:1]
    page = await desk.drafts.views.window(oldest_first, limit=2, after=before[0], event_number=event_number)
    assert (page.positions, page.has_more) == ((), False)


async def test_new_in_tab_since_a_time(desk: Desk):
    ids = [position.id for position in (await desk.drafts.views.window(DraftView())).positions]
    await desk.drafts.approve(ids[0])
    earlier = (await desk.drafts.views.load(DraftView())).event_number
    created_id = (await desk.drafts.create({"text": "A new one."})).drafts[0].id
    await desk.drafts.unapprove(ids[0])
    await desk.drafts.bulk_all(Action.APPROVE, ids[1:3])
    await desk.drafts.undo()
    await desk.drafts.archive(ids[3])
    all_ids = (*ids, created_id)
    assert await desk.drafts.views.entered_since(earlier, Tab.TO_REVIEW, all_ids) == {ids[0], created_id}
    assert await desk.drafts.views.entered_since(earlier, Tab.ALL, all_ids) == {created_id}
    assert await desk.drafts.views.entered_since(earlier, Tab.ARCHIVED, [ids[3]]) == {ids[3]}
    later = (await desk.drafts.views.load(DraftView())).event_number
    await desk.drafts.undo(ids[3])
    assert await desk.drafts.views.entered_since(later, Tab.TO_REVIEW, all_ids) == {ids[3]}
    assert await desk.drafts.views.entered_since(later, Tab.ALL, all_ids) == {ids[3]}
    assert await desk.drafts.views.entered_since(later, Tab.ARCHIVED, all_ids) == frozenset()
    assert (
        await desk.drafts.views.entered_since(
            (await desk.drafts.views.load(DraftView())).event_number, Tab.TO_REVIEW, all_ids
        )
        == frozenset()
    )
