"""Tests for listing the user's newest decisions, which the ranking learns from."""

from datetime import timedelta
from typing import Any

from sqlalchemy import Connection

from copydesk.model.draft import Status
from copydesk.store import drafts
from copydesk.store.database import Database
from store_fixtures import NOW, add_draft, add_item, add_source, add_user


def add_decided(conn: Connection, *titled_statuses: tuple[str, Status], user: str | None = None, **values: Any) -> str:
    """Add drafts of items with these titles and statuses, oldest first; return the user's id."""
    user = user or add_user(conn)
    source = add_source(conn, user)
    for title, status in titled_statuses:
        add_draft(conn, user, add_item(conn, user, source, title=title), source_id=source, status=status, **values)
    return user


def list_decisions(conn: Connection, user: str, limit: int = 10) -> list[tuple[str, bool]]:
    return [(decision.title, decision.approved) for decision in drafts.list_decisions(conn, user, limit)]


async def test_decisions_are_newest_first(store: Database) -> None:
    def decide(conn: Connection) -> list[tuple[str, bool]]:
        user = add_decided(
            conn,
            ("one", Status.POSTED),
            ("two", Status.REJECTED),
            ("three", Status.PENDING_REVIEW),
            ("four", Status.APPROVED),
            ("five", Status.SCHEDULED),
        )
        return list_decisions(conn, user)

    expected = [("five", True), ("four", True), ("two", False), ("one", True)]
    assert await store.write(decide) == expected


async def test_limit_applies_across_statuses(store: Database) -> None:
    def decide(conn: Connection) -> list[tuple[str, bool]]:
        return list_decisions(
            conn, add_decided(conn, *((f"{n}", (Status.APPROVED, Status.REJECTED)[n % 2]) for n in range(6))), 3
        )

    assert await store.write(decide) == [("5", False), ("4", True), ("3", False)]


async def test_archived_drafts_are_included(store: Database) -> None:
    def decide(conn: Connection) -> list[tuple[str, bool]]:
        return list_decisions(conn, add_decided(conn, ("one", Status.REJECTED), archived_at=NOW + timedelta(hours=1)))

    assert await store.write(decide) == [("one", False)]


async def test_other_users_decisions_are_excluded(store: Database) -> None:
    def decide(conn: Connection) -> list[tuple[str, bool]]:
        add_decided(conn, ("theirs", Status.APPROVED))
        return list_decisions(conn, add_decided(conn, ("mine", Status.APPROVED)))

    assert await store.write(decide) == [("mine", True)]
