"""Fixtures for the store's tests."""

from collections.abc import AsyncIterator
from pathlib import Path

import pytest

from copydesk.store import connection_pool
from copydesk.store.database import Database
from shared_results import empty_database
from store_fixtures import open_store


@pytest.fixture(autouse=True)
def new_databases(monkeypatch: pytest.MonkeyPatch) -> None:
    """Create the tables of each database, instead of copying a database that has them."""
    monkeypatch.setattr(connection_pool, "_empty_database", empty_database)


@pytest.fixture
async def store(tmp_path: Path) -> AsyncIterator[Database]:
    """An open store with its tables and no rows, closed after the test."""
    engines = await open_store(tmp_path)
    yield engines
    await engines.close()
