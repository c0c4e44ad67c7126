"""A service with an empty desk for each test."""

from collections.abc import AsyncIterator
from pathlib import Path

import pytest

from http_service import HttpService, run_service


@pytest.fixture
async def service(tmp_path: Path) -> AsyncIterator[HttpService]:
    async with run_service(tmp_path) as running:
        yield running
