"""Tests for the endpoints of language models."""

from sqlalchemy import Connection

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
