"""Test that the bare service, which the service is compared with, returns the same page."""

import asyncio
import json
from contextlib import closing
from importlib import import_module
from pathlib import Path

import pytest

from http_service import run_service

pytestmark = pytest.mark.sqlite("the bare service reads a file")


async def test_page_is_that_of_the_service(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.syspath_prepend(Path(__file__).parent)
    await asyncio.to_thread(import_module("large_desk").build_database, tmp_path, 100)
    bare = import_module("bare_service").BareService(str(tmp_path / "copydesk.db"))
    async with run_service(tmp_path) as service:
        client = await service.client()
        page = await client.get("/drafts?limit=25")
    with closing(bare._connection):
        assert json.loads(bare._read_page(client.headers["authorization"].encode())) == page.json()
