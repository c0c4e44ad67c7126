"""What is asked of deliveries is found by its index, and not by going through all that was ever sent.

SQLite decides by statistics that are old at times: here by those of a desk that has sent one draft so far.
"""

from collections.abc import Callable
from datetime import timedelta
from pathlib import Path

import pytest
from sqlalchemy import Connection, event

from copydesk.store import deliveries
from posting_fixtures import NOW, approved, connect, fake, open_posting

Ask = Callable[[Connection], object]


@pytest.mark.parametrize(
    ("ask", "first"),
    [
        (lambda conn: deliveries.of_draft(conn, "ada", "draft"), "delivery USING INDEX ix_delivery_draft_id"),
        (
            lambda conn: deliveries.same_text(conn, "ada", "draft", "digest", "account", NOW - timedelta(days=30)),
            "delivery USING INDEX ix_delivery_user_id_digest",
        ),
        (
            lambda conn: deliveries.unsettled(conn, "ada", NOW),
            "draft USING COVERING INDEX ix_draft_user_id_status",
        ),
    ],
)
async def test_it_is_found_by_its_index(tmp_path: Path, ask: Ask, first: str) -> None:
    def plan(conn: Connection) -> str:
        seen: list[tuple[str, tuple[object, ...]]] = []

        def note(_c: object, _k: object, text: str, values: tuple[object, ...], *_: object) -> None:
            seen.append((text, values))

        event.listen(conn, "before_cursor_execute", note)
        ask(conn)
        text, values = seen[0]
        return str(conn.exec_driver_sql(f"EXPLAIN QUERY PLAN {text}", values).first())

    async with open_posting(tmp_path, fake()) as desk:
        await connect(desk)
        await desk.posting.post(await approved(desk))
        await desk.ground.write(lambda conn, _: conn.exec_driver_sql("ANALYZE").close())
    async with open_posting(tmp_path, fake()) as desk:
        assert f"SEARCH {first}" in await desk.ground.engines.read(plan)
