"""Lists of drafts: every filter, alone and with others, on pages that visit each draft once."""

import random
from datetime import timedelta
from itertools import product

import msgspec
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from sqlalchemy import Connection, create_engine, delete, event, insert, update

from copydesk.errors import InvalidError
from copydesk.model.draft import Format, Status
from copydesk.model.filters import Archived, Filters, checked_filters
from copydesk.model.source import SourceType
from copydesk.model.wire import iso
from copydesk.store import lists, tables
from copydesk.store.ids import new_id
from copydesk.store.migrate import _create_tables
from desk_fixtures import NOW, open_at
from store_fixtures import add_draft, add_item, add_source, add_user

STATES = (Status.PENDING_REVIEW, Status.APPROVED, Status.SCHEDULED, Status.REJECTED)
TAGS = ("a", "b", "ä, c")
TYPES = (SourceType.RSS, SourceType.REDDIT)


@pytest.fixture(scope="module")
def connection():
    """A database in memory with its tables."""
    engine = create_engine("sqlite://", isolation_level="AUTOCOMMIT")
    event.listen(engine, "connect", lambda driver, _: driver.execute("PRAGMA foreign_keys = ON"))
    with engine.connect() as connection:
        _create_tables(connection)
        yield connection
    engine.dispose()


@pytest.fixture(scope="module")
def shelf(connection):
    """Two users' drafts, of all kinds mixed."""
    return Shelf(connection, 120)


class Shelf:
    """Drafts, and what is known of each without asking the database."""

    def __init__(self, connection: Connection, drafts: int) -> None:
        self.connection = connection
        self.chance = random.Random(5)
        self.user, self.other = add_user(connection), add_user(connection, "Bea")
        self.sources = {user: [add_source(connection, user) for _ in range(2)] for user in (self.user, self.other)}
        self.tags = {user: [self._tag(user, name) for name in TAGS] for user in (self.user, self.other)}
        self.kept: dict[str, dict[str, object]] = {}
        for _ in range(drafts):
            self.add(self.user)
            self.add(self.other)

    def _tag(self, user: str, name: str) -> str:
        tag = new_id(NOW)
        self.connection.execute(insert(tables.tag).values(id=tag, user_id=user, name=name))
        return tag

    def add(self, user: str) -> str:
        """A new draft."""
        chance = self.chance
        source = chance.randrange(2)
        values = {
            "status": chance.choice(STATES),
            "format": chance.choice(list(Format)),
            "source_id": self.sources[user][source],
            "source_type": TYPES[source],
            "scheduled_at": chance.choice([None, NOW + timedelta(hours=chance.randrange(-50, 50))]),
            "archived_at": chance.choice([None, None, NOW]),
        }
        item = add_item(self.connection, user, str(values["source_id"]))
        draft = add_draft(self.connection, user, item, origin="direct", **values)
        tags = chance.sample(range(len(TAGS)), chance.randrange(len(TAGS) + 1))
        for tag in tags:
            row = {"tag_id": self.tags[user][tag], "draft_id": draft, "user_id": user}
            self.connection.execute(insert(tables.draft_tag).values(row))
        if user == self.user:
            self.kept[draft] = values | {"tags": {TAGS[tag] for tag in tags}}
        return draft

    def wanted(self, filters: Filters) -> list[str]:
        """The ids that a list should hold, newest first."""
        return [draft for draft in sorted(self.kept, reverse=True) if fits(self.kept[draft], filters)]


def fits(draft: dict, filters: Filters) -> bool:
    """Whether a draft passes the filters, without the database."""
    at, (after, before) = draft["scheduled_at"], (filters.scheduled_after, filters.scheduled_before)
    same = all(getattr(filters, name) in (None, draft[name]) for name in ("format", "source_id", "source_type"))
    in_time = (after is None or (at is not None and at >= after)) and (
        before is None or (at is not None and at < before)
    )
    kept = filters.archived is Archived.INCLUDE or (filters.archived is Archived.ONLY) == bool(draft["archived_at"])
    return (
        same
        and in_time
        and kept
        and draft["tags"] >= set(filters.tags)
        and draft["status"] in (filters.status or STATES)
    )


STATUS = [(), (Status.APPROVED,), (Status.APPROVED, Status.REJECTED), STATES, (Status.MISSED,)]
WINDOWS = [(None, None), (NOW, None), (None, NOW), (NOW - timedelta(hours=9), NOW), (NOW, NOW)]
TAGGED = [(), ("a",), ("ä, c",), ("a", "b"), ("a", "none"), ("b", "ä, c", "a")]


def every_filter(shelf: Shelf):
    """Every combination of the filters' kinds of values."""
    sources = (None, *shelf.sources[shelf.user], shelf.sources[shelf.other][0])
    choices = product(STATUS, (None, Format.BLOG), sources, (None, *TYPES), TAGGED, WINDOWS, Archived)
    for status, kind, source, source_type, tags, (after, before), archived in choices:
        yield Filters(
            status=status,
            format=kind,
            source_id=source,
            source_type=source_type,
            tags=tags,
            scheduled_after=after,
            scheduled_before=before,
            archived=archived,
        )


def test_filters_alone_and_together_hold_what_has_all_of_it(shelf):
    for filters in random.Random(3).sample(list(every_filter(shelf)), 1500):
        held = lists.ids(shelf.connection, shelf.user, filters, limit=500, before=None)
        assert list(held) == shelf.wanted(filters), filters


def test_a_page_holds_the_drafts_of_its_ids_with_their_tags(shelf):
    for filters in random.Random(4).sample(list(every_filter(shelf)), 100):
        held, _ = lists.page(shelf.connection, shelf.user, filters, limit=500, before=None)
        assert [draft.id for draft in held] == shelf.wanted(filters)
        assert [set(draft.tags) for draft in held] == [shelf.kept[draft.id]["tags"] for draft in held]


@settings(max_examples=60)
@given(data=st.data())
def test_pages_visit_every_draft_once_while_others_come_and_change(shelf, data):
    """What fits from the first page to the last is visited exactly once, whatever happens to the other drafts."""
    filters = data.draw(st.sampled_from(FEW))
    limit = data.draw(st.integers(1, 30))
    there, changed, seen, before = set(shelf.wanted(filters)), set(), [], None
    while True:
        page = lists.ids(shelf.connection, shelf.user, filters, limit=limit, before=before)
        seen += page
        if len(page) < limit:
            break
        before = page[-1]
        if len(changed) < 40:
            changed |= _happen(shelf, data.draw(st.sampled_from(("add", "change", "archive", "delete"))))
    assert len(seen) == len(set(seen))
    assert set(seen) - changed == there - changed
    assert seen == sorted(seen, reverse=True)


FEW = [
    Filters(),
    Filters(status=(Status.APPROVED,)),
    Filters(status=STATES[:3]),
    Filters(tags=("a", "b")),
    Filters(archived=Archived.EXCLUDE),
    Filters(scheduled_after=NOW - timedelta(hours=20)),
    Filters(format=Format.SHORT, source_type=SourceType.RSS),
]


def _happen(shelf: Shelf, kind: str) -> set[str]:
    if kind == "add":
        return {shelf.add(shelf.user)}
    draft = shelf.chance.choice(sorted(shelf.kept))
    one = tables.draft.c.id == draft
    if kind == "delete":
        shelf.connection.execute(delete(tables.draft).where(one))
        del shelf.kept[draft]
    else:
        values = {"status": shelf.chance.choice(STATES)} if kind == "change" else {"archived_at": NOW}
        shelf.connection.execute(update(tables.draft).where(one).values(values))
        shelf.kept[draft] |= values
    return {draft}


def test_the_database_walks_the_filters_index_and_sorts_nothing(shelf):
    """But for windows of time, which are short, and several states, of which each gives a page at most."""
    for filters in (Filters(), Filters(format=Format.BLOG), Filters(source_id="s"), Filters(source_type=TYPES[0])):
        assert "TEMP B-TREE" not in _plan(shelf, filters)
    for filters in (Filters(status=(Status.APPROVED,)), Filters(tags=("a",)), Filters(tags=("a", "b"))):
        assert "TEMP B-TREE" not in _plan(shelf, filters)
    assert "SEARCH tagged USING" in _plan(shelf, Filters(tags=("a",), status=STATES[:1]))
    assert "scheduled_at_id (user_id=? AND scheduled_at>?)" in _plan(shelf, Filters(scheduled_after=NOW))
    several = _plan(shelf, Filters(status=STATES))
    assert several.count("status_id_archived_at (user_id=? AND status=? AND id<?)") == len(STATES)


def _plan(shelf: Shelf, filters: Filters) -> str:
    for shape in (lists.shape_of(filters, None), lists.shape_of(filters, "x")):
        values = lists.values_of(shelf.user, filters, 25, "x")
        rows = shelf.connection.exec_driver_sql(f"EXPLAIN QUERY PLAN {lists._page(shape)}", values)
        plan = "\n".join(row.detail for row in rows)
    return plan


ASKED = {
    "nothing": ({}, Filters()),
    "None for each": ({"status": None, "tags": None, "archived": None, "format": None}, Filters()),
    "words for enumerations": (
        {"status": "approved", "format": "BLOG", "source_type": "rss", "archived": "only"},
        Filters(status=(Status.APPROVED,), format=Format.BLOG, source_type=SourceType.RSS, archived=Archived.ONLY),
    ),
    "several states": ({"status": ["approved", Status.MISSED]}, Filters(status=(Status.APPROVED, Status.MISSED))),
    "no state of several": ({"status": ()}, Filters()),
    "tags as on the wire": ({"tags": " a,b ,,a,"}, Filters(tags=("a", "b"))),
    "a comma alone": ({"tags": ","}, Filters()),
    "tags as a list": ({"tags": ["ä, c"]}, Filters(tags=("ä, c",))),
    "an offset": ({"scheduled_after": iso(NOW)[:-1] + "+00:00"}, Filters(scheduled_after=NOW)),
    "a time": ({"scheduled_before": NOW}, Filters(scheduled_before=NOW)),
}


@pytest.mark.parametrize("case", ASKED)
def test_filters_are_read_from_what_people_and_programs_give(case):
    asked, filters = ASKED[case]
    assert checked_filters(asked) == filters


REFUSED = {
    "status": ("lost", "status: takes one of pending_generation, "),
    "format": ("short", "format: takes one of SHORT, THREAD, BLOG"),
    "source_id": ("", "sourceId: takes 1 to 100 characters, not 0"),
    "source_type": ("gopher", "sourceType: takes one of rss, "),
    "tags": ("x" * 51, r"tags\[0\]: takes 1 to 50 characters, not 51"),
    "scheduled_after": ("soon", "scheduledAfter: takes a time like 2026-11-20T15:04:05Z"),
    "scheduled_before": ("2026-11-20T15:04:05", "scheduledBefore: takes a time with its offset, such as Z or"),
    "archived": ("yes", "archived: takes one of exclude, only, include"),
    "limit": (0, "limit: takes 1 to 100"),
    "cursor": ("x", "cursor: is not one that this list gave"),
}


@pytest.mark.parametrize("name", REFUSED)
async def test_a_value_that_cannot_be_is_refused_by_its_name(tmp_path, name):
    value, says = REFUSED[name]
    async with open_at(tmp_path) as desk:
        with pytest.raises(InvalidError, match=f"^{says}"):
            await desk.drafts.list(**{name: value})
        with pytest.raises(InvalidError, match=f"^{says}"):
            await desk.drafts.search("word", **{name: value})


def test_every_field_that_is_wrong_is_named_in_one_error():
    with pytest.raises(InvalidError) as refused:
        checked_filters(
            {
                "status": ["approved", "lost", "approved"],
                "tags": ["a"] * 21,
                "source_id": "\ud800",
                "scheduled_after": "0001-01-01T00:00:00+14:00",
                "nonsense": 1,
            }
        )
    assert [field for field, _ in refused.value.errors] == [
        *("nonsense", "status[1]", "status[2]", "sourceId", "tags", "scheduledAfter")
    ]


@pytest.mark.parametrize("limit", [True, 2.0, "25", None, 10**30])
async def test_a_limit_is_a_whole_number(tmp_path, limit):
    async with open_at(tmp_path) as desk:
        with pytest.raises(InvalidError, match="limit: takes 1 to 100"):
            await desk.drafts.list(limit=limit)


async def test_a_cursor_is_of_one_user(tmp_path):
    """Whoever serves many users gets no page of one with the cursor of another."""
    async with open_at(tmp_path) as desk:

        def fill(conn: Connection, user: str) -> None:
            for _ in range(3):
                add_draft(conn, user, add_item(conn, user, add_source(conn, user)), source_type="rss")

        await desk.ground.write(fill)
        cursor = (await desk.drafts.list(limit=1)).next_cursor
        assert cursor
        assert len((await desk.drafts.list(cursor=cursor)).items) == 2
        bea = await desk.ground.write(lambda conn, _: add_user(conn, "Bea"))
        desk.ground.user = msgspec.structs.replace(desk.ground.user, id=bea)
        with pytest.raises(InvalidError, match="cursor"):
            await desk.drafts.list(cursor=cursor)
