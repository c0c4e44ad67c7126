"""Tests for the draft counts that triggers maintain."""

from datetime import timedelta

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from sqlalchemy import Connection, create_engine, delete, event, func, select, update
from sqlalchemy.dialects.sqlite import insert as upsert

from copydesk.model.draft import TO_REVIEW, Status
from copydesk.model.filters import DraftCounts
from copydesk.store import drafts as counts
from copydesk.store import tables
from copydesk.store.database import Database
from copydesk.store.drafts import ACCEPTED_STATUSES
from copydesk.store.migrate import _create_tables
from sampling import sample_size
from store_fixtures import NOW, add_draft, add_item, add_source, add_user

DRAFT_COLUMNS = tables.draft.c
COLUMNS_WITHOUT_RID = [column for column in tables.draft.c if column.name != "rid"]


def scan_counts(connection: Connection, user: str) -> DraftCounts:
    """Return the counts found by a full scan."""
    by_status = dict.fromkeys(Status, 0)
    archived = 0
    query = select(DRAFT_COLUMNS.status, DRAFT_COLUMNS.archived_at.is_not(None), func.count()).where(
        DRAFT_COLUMNS.user_id == user
    )
    for status, is_archived, drafts in connection.execute(
        query.group_by(DRAFT_COLUMNS.status, DRAFT_COLUMNS.archived_at.is_not(None))
    ):
        if is_archived:
            archived += drafts
        else:
            by_status[status] = drafts
    return DraftCounts(by_status=by_status, archived=archived)


def scan_decisions(connection: Connection, user: str) -> dict[str, tuple[int, int]]:
    """Return (approved, rejected) per source, found by a full scan."""
    by_source: dict[str, tuple[int, int]] = {}
    for source, status in connection.execute(
        select(DRAFT_COLUMNS.source_id, DRAFT_COLUMNS.status).where(DRAFT_COLUMNS.user_id == user)
    ):
        approved, rejected = status in ACCEPTED_STATUSES, status == Status.REJECTED
        if source is not None and (approved or rejected):
            before = by_source.get(source, (0, 0))
            by_source[source] = (before[0] + approved, before[1] + rejected)
    return by_source


def assert_counts_match(connection: Connection) -> None:
    """Assert that the stored counts equal a full scan for every user, and that no count is left of deleted rows."""
    for user in connection.execute(select(tables.user.c.id)).scalars():
        assert counts.count_by_status(connection, user) == scan_counts(connection, user)
        assert counts.count_decisions_by_source(connection, user) == scan_decisions(connection, user)
    assert connection.execute(select(func.min(tables.draft_count.c.drafts))).scalar() in (None, *range(1, 1000))


@pytest.fixture(scope="module")
def connection():
    """An in-memory database with its tables."""
    engine = create_engine("sqlite://", isolation_level="AUTOCOMMIT")
    event.listen(engine, "connect", lambda driver, _: driver.execute("PRAGMA foreign_keys = ON"))
    with engine.connect() as connection:
        _create_tables(connection)
        yield connection
    engine.dispose()


ACTIONS = ("add", "status", "archive", "restore", "delete", "source", "item", "all", "hand over", "nothing", "user")
STEPS = st.lists(
    st.tuples(st.sampled_from(ACTIONS), st.integers(0, 30), st.sampled_from(list(Status))), min_size=1, max_size=25
)


@settings(max_examples=sample_size(60))
@given(steps=STEPS)
def test_counts_equal_full_scan_after_writes(connection, steps) -> None:
    connection.execute(delete(tables.user))
    assert connection.execute(select(func.count()).select_from(tables.draft_count)).scalar() == 0
    users = [add_user(connection, name) for name in ("Ada", "Bea")]
    sources = [add_source(connection, users[number % 2]) for number in range(4)]
    for number in range(6):
        _add(connection, users, sources, number, Status.PENDING_REVIEW)
    for kind, number, status in steps:
        _step(connection, users, sources, kind, number, status)
        assert_counts_match(connection)


def _add(connection, users, sources, number, status) -> None:
    user = users[number % 2]
    source = sources[number % 4] if number % 5 else None
    if connection.execute(select(tables.user.c.id).where(tables.user.c.id == user)).scalar() is None:
        return
    if source and connection.execute(select(tables.source.c.id).where(tables.source.c.id == source)).scalar() is None:
        source = None
    item = add_item(connection, user, source)
    archived = NOW if number % 3 == 0 else None
    add_draft(connection, user, item, source_id=source, status=status, archived_at=archived, origin="direct")


def _step(connection, users, sources, kind, number, status) -> None:
    ids = connection.execute(select(DRAFT_COLUMNS.id).order_by(DRAFT_COLUMNS.id)).scalars().all()
    selected = DRAFT_COLUMNS.id == (ids[number % len(ids)] if ids else "none")
    if kind == "add":
        _add(connection, users, sources, number, status)
    else:
        connection.execute(_statement(users, sources, kind, number, status, selected))


def _statement(users, sources, kind, number, status, selected):
    drafts, source, user = update(tables.draft), sources[number % 4], users[number % 2]
    item = select(DRAFT_COLUMNS.item_id).where(selected).scalar_subquery()
    return {
        "status": drafts.where(selected).values(status=status, version=DRAFT_COLUMNS.version + 1),
        "archive": drafts.where(selected).values(archived_at=NOW + timedelta(seconds=number)),
        "restore": drafts.where(selected).values(archived_at=None),
        "all": drafts.values(status=status),
        "hand over": drafts.where(selected).values(source_id=None),
        "delete": delete(tables.draft).where(selected),
        "source": delete(tables.source).where(tables.source.c.id == source),
        "item": delete(tables.item).where(tables.item.c.id == item),
        "user": delete(tables.user).where(tables.user.c.id == user),
        "nothing": upsert(tables.draft)
        .from_select(COLUMNS_WITHOUT_RID, select(*COLUMNS_WITHOUT_RID).where(selected))
        .on_conflict_do_nothing(),
    }[kind]


async def test_deleting_source_updates_counts(store: Database) -> None:
    """Triggers fire on rows that a foreign key deletes, too."""

    def add(connection: Connection) -> str:
        user = add_user(connection)
        source = add_source(connection, user)
        for _ in range(3):
            add_draft(connection, user, add_item(connection, user, source), source_id=source)
        add_draft(connection, user, add_item(connection, user, None))
        assert counts.count_by_status(connection, user).total_in(TO_REVIEW) == 4
        connection.execute(delete(tables.source))
        return user

    user = await store.write(add)

    stored = await store.read(lambda connection: counts.count_by_status(connection, user))
    assert (stored.total_in(TO_REVIEW), stored.archived) == (1, 0)
    assert set(stored.by_status) == set(Status)


async def test_rollback_restores_counts(store: Database) -> None:
    user = await store.write(add_user)

    def fail(connection: Connection) -> None:
        add_draft(connection, user, add_item(connection, user, None))
        assert counts.count_by_status(connection, user).total_in(TO_REVIEW) == 1
        raise RuntimeError

    with pytest.raises(RuntimeError):
        await store.write(fail)
    assert await store.read(lambda connection: counts.count_by_status(connection, user).total_in(TO_REVIEW)) == 0
