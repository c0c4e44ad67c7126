"""Fixtures for the store's tests."""

from collections.abc import AsyncIterator
from pathlib import Path

import pytest

from copydesk.store.database import Database
from store_fixtures import open_store


@pytest.fixture
async def store(tmp_path: Path) -> AsyncIterator[Database]:
    """An open store with its tables and no rows, closed after the test."""
    engines = await open_store(tmp_path)
    yield engines
    await engines.close()
