"""Tests for draft filters, alone and combined, and for keyset pages."""

import random
from datetime import timedelta
from itertools import product

import msgspec
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from sqlalchemy import Connection, delete, insert, update

from copydesk.errors import InvalidError
from copydesk.ingest.registry import SOURCE_TYPES
from copydesk.model.draft import MANUAL, Format, Status
from copydesk.model.filters import Archived, Filters, validate_filters
from copydesk.model.serialization import format_iso
from copydesk.store import draft_queries, tables
from copydesk.store.ids import new_id
from desk_fixtures import NOW, open_desk_at
from sampling import sample_size
from store_fixtures import add_draft, add_item, add_source, add_user, connect_in_memory

STATES = (Status.PENDING_REVIEW, Status.APPROVED, Status.SCHEDULED, Status.REJECTED)
TAGS = ("a", "b", "ä, c")
TYPES = ("rss", "reddit")


@pytest.fixture(scope="module")
def connection(tmp_path_factory):
    """A database with all tables, of this module alone."""
    with connect_in_memory(tmp_path_factory.mktemp("database")) as connection:
        yield connection


@pytest.fixture(scope="module")
def draft_set(connection):
    """A random mix of drafts of two users."""
    return DraftSet(connection, 120)


class DraftSet:
    """Random drafts in the database, and their values kept apart for comparison."""

    def __init__(self, connection: Connection, drafts: int) -> None:
        self.connection = connection
        self.rng = random.Random(5)
        self.user, self.other = add_user(connection), add_user(connection, "Bea")
        self.sources = {user: [add_source(connection, user) for _ in range(2)] for user in (self.user, self.other)}
        self.tags = {user: [self._tag(user, name) for name in TAGS] for user in (self.user, self.other)}
        self.expected: dict[str, dict[str, object]] = {}
        for _ in range(drafts):
            self.add(self.user)
            self.add(self.other)

    def _tag(self, user: str, name: str) -> str:
        tag = new_id(NOW)
        self.connection.execute(insert(tables.tag).values(id=tag, user_id=user, name=name))
        return tag

    def add(self, user: str) -> str:
        """Add a draft with random values and return its id."""
        rng = self.rng
        source = rng.randrange(2)
        values = {
            "status": rng.choice(STATES),
            "format": rng.choice(list(Format)),
            "source_id": self.sources[user][source],
            "source_type": TYPES[source],
            "scheduled_at": rng.choice([None, NOW + timedelta(hours=rng.randrange(-50, 50))]),
            "archived_at": rng.choice([None, None, NOW]),
        }
        item = add_item(self.connection, user, str(values["source_id"]))
        draft_id = add_draft(self.connection, user, item, origin="direct", **values)
        tags = rng.sample(range(len(TAGS)), rng.randrange(len(TAGS) + 1))
        for tag in tags:
            row = {"tag_id": self.tags[user][tag], "draft_id": draft_id, "user_id": user}
            self.connection.execute(insert(tables.draft_tag).values(row))
        if user == self.user:
            self.expected[draft_id] = values | {"tags": {TAGS[tag] for tag in tags}}
        return draft_id

    def matching_ids(self, filters: Filters) -> list[str]:
        """Return the ids that a list must hold, newest first."""
        return [
            draft_id for draft_id in sorted(self.expected, reverse=True) if matches(self.expected[draft_id], filters)
        ]


def matches(draft: dict, filters: Filters) -> bool:
    """Return whether a draft passes the filters, computed without the database."""
    scheduled_at, (after, before) = draft["scheduled_at"], (filters.scheduled_after, filters.scheduled_before)
    fields_match = all(getattr(filters, name) in (None, draft[name]) for name in ("format", "source_id", "source_type"))
    in_time = (after is None or (scheduled_at is not None and scheduled_at >= after)) and (
        before is None or (scheduled_at is not None and scheduled_at < before)
    )
    archived_matches = filters.archived is Archived.INCLUDE or (filters.archived is Archived.ONLY) == bool(
        draft["archived_at"]
    )
    return (
        fields_match
        and in_time
        and archived_matches
        and draft["tags"] >= set(filters.tags)
        and draft["status"] in (filters.status or STATES)
    )


STATUS_FILTERS = [(), (Status.APPROVED,), (Status.APPROVED, Status.REJECTED), STATES, (Status.MISSED,)]
TIME_WINDOWS = [(None, None), (NOW, None), (None, NOW), (NOW - timedelta(hours=9), NOW), (NOW, NOW)]
TAG_FILTERS = [(), ("a",), ("ä, c",), ("a", "b"), ("a", "none"), ("b", "ä, c", "a")]


def filter_combinations(draft_set: DraftSet):
    """Yield every combination of representative filter values."""
    sources = (None, *draft_set.sources[draft_set.user], draft_set.sources[draft_set.other][0])
    choices = product(STATUS_FILTERS, (None, Format.BLOG), sources, (None, *TYPES), TAG_FILTERS, TIME_WINDOWS, Archived)
    for status, draft_format, source, source_type, tags, (after, before), archived in choices:
        yield Filters(
            status=status,
            format=draft_format,
            source_id=source,
            source_type=source_type,
            tags=tags,
            scheduled_after=after,
            scheduled_before=before,
            archived=archived,
        )


def test_filter_combinations_match(draft_set):
    for filters in random.Random(3).sample(list(filter_combinations(draft_set)), sample_size(1500)):
        ids = draft_queries.list_ids(draft_set.connection, draft_set.user, filters, limit=500, before=None)
        assert list(ids) == draft_set.matching_ids(filters), filters


def test_source_id_is_not_a_source_type(draft_set):
    filters = Filters(source_id=MANUAL)
    assert draft_queries.list_ids(draft_set.connection, draft_set.user, filters, limit=500, before=None) == ()


def test_page_holds_drafts_with_tags(draft_set):
    for filters in random.Random(4).sample(list(filter_combinations(draft_set)), sample_size(100)):
        drafts, _ = draft_queries.list_page(draft_set.connection, draft_set.user, filters, limit=500, before=None)
        assert [draft.id for draft in drafts] == draft_set.matching_ids(filters)
        assert [set(draft.tags) for draft in drafts] == [draft_set.expected[draft.id]["tags"] for draft in drafts]


@settings(max_examples=sample_size(60))
@given(data=st.data())
def test_pages_are_stable_under_concurrent_changes(draft_set, data):
    """Drafts that match from the first page to the last are visited exactly once, whatever happens to the others."""
    filters = data.draw(st.sampled_from(COMMON_FILTERS))
    limit = data.draw(st.integers(1, 30))
    # Not drawn one by one: the number of pages depends on the drafts that earlier examples left.
    kinds = random.Random(data.draw(st.integers(0, 2**32)))
    matching, changed, visited, last_id = set(draft_set.matching_ids(filters)), set(), [], None
    while True:
        page = draft_queries.list_ids(draft_set.connection, draft_set.user, filters, limit=limit, before=last_id)
        visited += page
        if len(page) < limit:
            break
        last_id = page[-1]
        if len(changed) < 40:
            changed |= _change_randomly(draft_set, kinds.choice(("add", "change", "archive", "delete")))
    assert len(visited) == len(set(visited))
    assert set(visited) - changed == matching - changed
    assert visited == sorted(visited, reverse=True)


COMMON_FILTERS = [
    Filters(),
    Filters(status=(Status.APPROVED,)),
    Filters(status=STATES[:3]),
    Filters(tags=("a", "b")),
    Filters(archived=Archived.EXCLUDE),
    Filters(scheduled_after=NOW - timedelta(hours=20)),
    Filters(format=Format.SHORT, source_type="rss"),
]


def _change_randomly(draft_set: DraftSet, kind: str) -> set[str]:
    if kind == "add":
        return {draft_set.add(draft_set.user)}
    draft_id = draft_set.rng.choice(sorted(draft_set.expected))
    condition = tables.draft.c.id == draft_id
    if kind == "delete":
        draft_set.connection.execute(delete(tables.draft).where(condition))
        del draft_set.expected[draft_id]
    else:
        values = {"status": draft_set.rng.choice(STATES)} if kind == "change" else {"archived_at": NOW}
        draft_set.connection.execute(update(tables.draft).where(condition).values(values))
        draft_set.expected[draft_id] |= values
    return {draft_id}


@pytest.mark.sqlite("plans of SQLite")
def test_queries_use_indexes_without_sorting(draft_set):
    """Except for time windows, which are short, and several statuses, each of which yields at most one page."""
    for filters in (Filters(), Filters(format=Format.BLOG), Filters(source_id="s"), Filters(source_type=TYPES[0])):
        assert "TEMP B-TREE" not in _plan(draft_set, filters)
    for filters in (Filters(status=(Status.APPROVED,)), Filters(tags=("a",)), Filters(tags=("a", "b"))):
        assert "TEMP B-TREE" not in _plan(draft_set, filters)
    assert "SEARCH tagged USING" in _plan(draft_set, Filters(tags=("a",), status=STATES[:1]))
    assert "scheduled_at_id (user_id=? AND scheduled_at>?)" in _plan(draft_set, Filters(scheduled_after=NOW))
    several = _plan(draft_set, Filters(status=STATES))
    assert several.count("status_id_archived_at (user_id=? AND status=? AND id<?)") == len(STATES)


def test_only_own_drafts_make_window_wide(draft_set, monkeypatch):
    """A wide window is walked in order, which is slow for a user with few drafts in it."""
    monkeypatch.setattr(draft_queries, "MAX_SORTED", 3)
    connection = draft_set.connection
    user = add_user(connection, "Cy")
    source = add_source(connection, user)

    def add_scheduled() -> None:
        add_draft(connection, user, add_item(connection, user, source), scheduled_at=NOW - timedelta(hours=1))

    def is_wide() -> bool:
        shape, _ = draft_queries._plan(connection, user, Filters(scheduled_before=NOW), 25, None)
        return shape.wide

    add_scheduled()
    add_scheduled()
    assert not is_wide()
    add_scheduled()
    assert is_wide()


def _plan(draft_set: DraftSet, filters: Filters) -> str:
    for shape in (draft_queries.page_shape(filters, None), draft_queries.page_shape(filters, "x")):
        values = draft_queries.page_parameters(draft_set.user, filters, 25, "x")
        rows = draft_set.connection.exec_driver_sql(f"EXPLAIN QUERY PLAN {draft_queries._page_sql(shape)}", values)
        plan = "\n".join(row.detail for row in rows)
    return plan


VALID_FILTERS = {
    "nothing": ({}, Filters()),
    "None for each": ({"status": None, "tags": None, "archived": None, "format": None}, Filters()),
    "words for enumerations": (
        {"status": "approved", "format": "BLOG", "source_type": "rss", "archived": "only"},
        Filters(status=(Status.APPROVED,), format=Format.BLOG, source_type="rss", archived=Archived.ONLY),
    ),
    "several states": ({"status": ["approved", Status.MISSED]}, Filters(status=(Status.APPROVED, Status.MISSED))),
    "no state of several": ({"status": ()}, Filters()),
    "tags as on the wire": ({"tags": " a,b ,,a,"}, Filters(tags=("a", "b"))),
    "a quoted tag": ({"tags": 'sea, "Smith, John" ,"a ""b"""'}, Filters(tags=("sea", "Smith, John", 'a "b"'))),
    "a quote within a tag": ({"tags": 'a"b,"c'}, Filters(tags=('a"b', '"c'))),
    "a comma alone": ({"tags": ","}, Filters()),
    "tags as a list": ({"tags": ["ä, c"]}, Filters(tags=("ä, c",))),
    "an offset": ({"scheduled_after": format_iso(NOW)[:-1] + "+00:00"}, Filters(scheduled_after=NOW)),
    "a time": ({"scheduled_before": NOW}, Filters(scheduled_before=NOW)),
}


@pytest.mark.parametrize("case", VALID_FILTERS)
def test_filters_are_parsed(case):
    request, expected = VALID_FILTERS[case]
    assert validate_filters(request, SOURCE_TYPES) == expected


INVALID_FILTERS = {
    "status": ("lost", "status: takes one of pending_generation, "),
    "format": ("short", "format: takes one of SHORT, THREAD, BLOG"),
    "source_id": ("", "sourceId: takes 1 to 100 characters, not 0"),
    "source_type": ("gopher", "sourceType: takes one of rss, "),
    "tags": ("x" * 51, r"tags\[0\]: takes 1 to 50 characters, not 51"),
    "scheduled_after": ("soon", "scheduledAfter: takes a time like 2026-11-20T15:04:05Z"),
    "scheduled_before": ("2026-11-20T15:04:05", "scheduledBefore: needs a UTC offset, such as Z or"),
    "archived": ("yes", "archived: takes one of exclude, only, include"),
    "limit": (0, "limit: takes 1 to 100"),
    "cursor": ("x", "cursor: is invalid; leave it out"),
}


@pytest.mark.parametrize("name", INVALID_FILTERS)
async def test_invalid_filter_names_field(tmp_path, name):
    value, message = INVALID_FILTERS[name]
    async with open_desk_at(tmp_path) as desk:
        with pytest.raises(InvalidError, match=f"^{message}"):
            await desk.drafts.list(**{name: value})
        with pytest.raises(InvalidError, match=f"^{message}"):
            await desk.drafts.search("word", **{name: value})


def test_all_invalid_filters_are_listed():
    with pytest.raises(InvalidError) as refused:
        validate_filters(
            {
                "status": ["approved", "lost", "approved"],
                "tags": ["a"] * 21,
                "source_id": "\ud800",
                "scheduled_after": "0001-01-01T00:00:00+14:00",
                "nonsense": 1,
            },
            SOURCE_TYPES,
        )
    assert [field for field, _ in refused.value.errors] == [
        *("nonsense", "status[1]", "status[2]", "sourceId", "tags", "scheduledAfter")
    ]


@pytest.mark.parametrize("limit", [True, 2.5, "25", None, 10**30])
async def test_limit_is_a_whole_number(tmp_path, limit):
    async with open_desk_at(tmp_path) as desk:
        with pytest.raises(InvalidError, match="limit: takes 1 to 100"):
            await desk.drafts.list(limit=limit)


async def test_cursor_is_bound_to_user(tmp_path):
    """A server for many users must not answer one user's cursor for another."""
    async with open_desk_at(tmp_path) as desk:

        def fill(conn: Connection, user: str) -> None:
            for _ in range(3):
                add_draft(conn, user, add_item(conn, user, add_source(conn, user)), source_type="rss")

        await desk._context.write(fill)
        cursor = (await desk.drafts.list(limit=1)).next_cursor
        assert cursor
        assert len((await desk.drafts.list(cursor=cursor)).items) == 2
        other_id = await desk._context.write(lambda conn, _: add_user(conn, "Bea"))
        desk._context.user = msgspec.structs.replace(desk._context.user, id=other_id)
        with pytest.raises(InvalidError, match="cursor"):
            await desk.drafts.list(cursor=cursor)
