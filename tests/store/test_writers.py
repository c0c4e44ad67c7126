"""Tests for the endpoints of language models."""

import pytest
from sqlalchemy import Connection, event

from copydesk.model.writer import Endpoint, WireProtocol
from copydesk.store import writers
from copydesk.store.database import Database
from store_fixtures import NOW, add_user


async def test_outcome_is_stored_unless_the_endpoint_was_replaced(store: Database) -> None:
    def work(connection: Connection) -> list[str | None]:
        user, errors = add_user(connection), []
        first, second = (
            Endpoint(name="a", protocol=WireProtocol.OPENAI, base_url="http://a.example", model=model) for model in "mn"
        )
        writers.save(connection, user, first, NOW)
        for tested, error in ((first, "no"), (second, "other")):
            writers.save_test(connection, user, tested, NOW, error)
            errors.append(writers.list_all(connection, user)[0].error)
        return errors

    assert await store.write(work) == ["no", "no"]


@pytest.mark.sqlite("plans of SQLite")
async def test_position_of_a_request_is_found_by_index(store: Database) -> None:
    def plan(connection: Connection) -> list[str]:
        executed: list[tuple[str, tuple[object, ...]]] = []

        def record(_c: object, _k: object, text: str, values: tuple[object, ...], *_: object) -> None:
            executed.append((text, values))

        event.listen(connection, "before_cursor_execute", record)
        writers.add_requests(connection, "nobody", "none", ())
        ((text, values),) = executed
        assert "nobody" in values
        return [row.detail for row in connection.exec_driver_sql(f"EXPLAIN QUERY PLAN {text}", values)]

    (step,) = await store.read(plan)
    assert step.startswith("SEARCH")
    assert "draft_id=?" in step
