"""Tests that queries on deliveries use their indexes.

SQLite plans by statistics that may be old: here those of a desk that has sent one draft so far.
"""

from collections.abc import Callable
from datetime import timedelta
from pathlib import Path
from unittest.mock import patch

import pytest
from sqlalchemy import Connection, event

from copydesk.posting.fake import FakeServer, Fault
from copydesk.store import deliveries, queue_window
from desk_fixtures import execute_sql
from posting_fixtures import NOW, connect_account, create_approved_draft, fake_platforms, open_posting_desk

Query = Callable[[Connection], object]


@pytest.mark.sqlite("plans of SQLite")
@pytest.mark.parametrize(
    ("query", "expected"),
    [
        (lambda conn: deliveries.list_by_draft(conn, "ada", "draft"), "delivery USING INDEX ix_delivery_draft_id"),
        (
            lambda conn: deliveries.last_duplicate_sent_at(
                conn, "ada", "draft", "digest", "account", NOW - timedelta(days=30)
            ),
            "delivery USING INDEX ix_delivery_user_id_digest",
        ),
        *[
            (
                lambda conn, query=query: conn.execute(
                    query, {"b_user": "ada", "b_since": NOW, "b_until": NOW + timedelta(minutes=5)}
                ),
                expected,
            )
            for query, expected in (
                (deliveries._RECENTLY_STARTED, "draft USING"),
                (deliveries._RECENTLY_SENT, "delivery USING INDEX ix_delivery_user_id_sent_at"),
                (deliveries._RETRIED_SOON, "draft USING COVERING INDEX ix_draft_user_id_status"),
            )
        ],
        (
            lambda conn: deliveries.list_unsettled(conn, "ada", NOW),
            "draft USING COVERING INDEX ix_draft_user_id_status",
        ),
    ],
)
async def test_delivery_query_uses_index(tmp_path: Path, query: Query, expected: str) -> None:
    def plan(conn: Connection) -> str:
        executed: list[tuple[str, tuple[object, ...]]] = []

        def record(_c: object, _k: object, text: str, values: tuple[object, ...], *_: object) -> None:
            executed.append((text, values))

        event.listen(conn, "before_cursor_execute", record)
        query(conn)
        text, values = executed[0]
        return str(conn.exec_driver_sql(f"EXPLAIN QUERY PLAN {text}", values).first())

    async with open_posting_desk(tmp_path, fake_platforms()) as desk:
        await connect_account(desk)
        await desk.posting.post(await create_approved_draft(desk))
        await desk._context.write(lambda conn, _: conn.exec_driver_sql("ANALYZE").close())
    async with open_posting_desk(tmp_path, fake_platforms()) as desk:
        assert f"SEARCH {expected}" in await desk._context.database.read(plan)


@pytest.mark.sqlite("plans of SQLite")
@pytest.mark.parametrize("query", [deliveries.list_needing_user, deliveries.count_needing_user])
async def test_deliveries_that_need_the_user_are_found_without_a_scan(
    tmp_path: Path, query: Callable[[Connection, str], object]
) -> None:
    def plans(conn: Connection, user_id: str) -> list[str]:
        executed: list[tuple[str, tuple[object, ...]]] = []
        event.listen(conn, "before_cursor_execute", lambda _c, _k, text, values, *_: executed.append((text, values)))
        query(conn, user_id)
        return [
            str(step)
            for text, values in tuple(executed)
            for step in conn.exec_driver_sql(f"EXPLAIN QUERY PLAN {text}", values)
        ]

    server = FakeServer()
    async with open_posting_desk(tmp_path, fake_platforms(server)) as desk:
        await connect_account(desk)
        await desk.posting.post(await create_approved_draft(desk))
        server.faults.append(Fault.REFUSED)
        await desk.posting.post(await create_approved_draft(desk, "Another one."))
        await desk._context.write(lambda conn, _: conn.exec_driver_sql("ANALYZE").close())
    async with open_posting_desk(tmp_path, fake_platforms(server)) as desk:
        steps = await desk._context.read(plans)
        # A scan of the subquery's rows is none of a table.
        assert [step for step in steps if "SCAN" in step and "SCAN needing_user" not in step] == []


@pytest.mark.sqlite("SQL of SQLite")
async def test_needing_user_is_counted_without_decoding(tmp_path: Path) -> None:
    server = FakeServer()
    async with open_posting_desk(tmp_path, fake_platforms(server)) as desk:
        await connect_account(desk)
        for text in ("Dropped.", "Damaged."):
            server.faults.append(Fault.REFUSED)
            await desk.posting.post(await create_approved_draft(desk, text))
        dropped, _ = await desk.posting.list_needing_user()
        await desk.posting.give_up(dropped.delivery.id)
        # Readable as JSON only.
        execute_sql(tmp_path, "UPDATE delivery SET progress = json_set(progress, '$.state', 'new')")
        assert (await desk.status()).needing_user == 1


async def test_drafts_of_deliveries_needing_user_are_read_at_once(tmp_path: Path) -> None:
    server = FakeServer()
    async with open_posting_desk(tmp_path, fake_platforms(server)) as desk:
        await connect_account(desk)
        for text in ("One.", "Two.", "Three."):
            server.faults.append(Fault.REFUSED)
            await desk.posting.post(await create_approved_draft(desk, text))
        with patch.object(queue_window, "by_ids", wraps=queue_window.by_ids) as by_ids:
            assert len(await desk.posting.list_needing_user()) == 3
        assert by_ids.call_count == 1
