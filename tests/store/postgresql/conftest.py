"""The server of the tests of PostgreSQL."""

import pytest

from postgresql_server import PostgresqlServer
from store_fixtures import postgresql_server


@pytest.fixture
def server() -> PostgresqlServer:
    """The server of the tests."""
    running = postgresql_server()
    assert running is not None
    return running
