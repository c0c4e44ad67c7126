"""A token stops working at once, whatever the service remembers of it from earlier requests."""

import asyncio
from datetime import timedelta

import pytest

from copydesk.desk import open_desks
from copydesk.http.idempotency import HEADER
from copydesk.http.table import OPERATIONS
from copydesk.settings import load
from copydesk.store.database import Database
from desk_fixtures import NOW, FakeWeb, Watch, execute_sql
from draft_consistency import HOURLY_SLOTS, dump_tables, insert_drafts
from http_service import run_service
from posting_fixtures import connect_account, fake_platforms
from store_fixtures import database_variables

REVOKE = "UPDATE token SET revoked_at = 1767225600000000"
"""As another process does it."""


@pytest.fixture
def web():
    return FakeWeb()


@pytest.fixture
async def service(tmp_path, web):
    async with run_service(tmp_path, clock=Watch(), transport=web, platforms=fake_platforms()) as running:
        yield running


def requests_for(operation, draft_id):
    """Return the options of requests that the operation would carry out, or refuse."""
    options = {"method": operation.method, "url": operation.path.format(id=draft_id)}
    yield options | {"json": operation.example}
    yield options | {"json": operation.example, "headers": {HEADER: f"{operation.id} {draft_id}"}}
    yield options | {"content": b"{", "headers": {"Content-Type": "application/json"}}
    if operation.upload:
        yield options | {"files": {operation.upload: b"no image"}}
    if operation.id == "change_draft":
        yield options | {"json": {"action": "post"}}
        yield options | {"json": {"action": "regenerate"}}


async def test_revoked_token_does_nothing(service, web, tmp_path):
    client = await service.client()
    desk = await service.desks.get(service.desks.owner)
    await connect_account(desk)
    await desk.schedule.set_slots(HOURLY_SLOTS)
    (draft_id,) = await insert_drafts(desk, ["approved"])
    assert (await client.get("/drafts")).status_code == 200
    execute_sql(tmp_path, REVOKE)
    before = dump_tables(tmp_path)

    for operation in OPERATIONS:
        for options in requests_for(operation, draft_id):
            response = await client.request(**options)
            assert (response.status_code, response.json()["type"]) == (401, "/problems/unauthorized"), options
            # Far below the rate limit.
            service.service._rate_limiter._buckets.clear()
    await asyncio.gather(*service.service._tasks)
    assert dump_tables(tmp_path) == before
    assert web.requests == []


async def test_token_expires_between_two_requests(service, tmp_path):
    client = await service.client()
    assert (await client.get("/drafts")).status_code == 200
    execute_sql(tmp_path, f"UPDATE token SET expires_at = {int((NOW - timedelta(days=1)).timestamp() * 1e6)}")
    assert (await client.get("/drafts")).status_code == 401


async def test_token_of_a_removed_user_is_refused(service, tmp_path):
    client = await service.client(user="anna")
    assert (await client.get("/drafts")).status_code == 200
    async with open_desks(load(database_variables(tmp_path), tmp_path)) as other:
        await other.users.remove("anna")
    for path in ("/drafts", "/voice", "/drafts?limit=0"):
        assert (await client.get(path)).status_code == 401


async def test_later_request_is_one_unit_of_work(service, monkeypatch):
    client = await service.client()
    await client.get("/drafts")
    units = []
    read = Database.read

    async def count(database, work, *args, **kwargs):
        units.append(work)
        return await read(database, work, *args, **kwargs)

    monkeypatch.setattr(Database, "read", count)
    assert (await client.get("/drafts")).status_code == 200
    assert len(units) == 1


async def test_remembered_tokens_are_limited(service, monkeypatch):
    monkeypatch.setattr("copydesk.desk.authentication.MAX_REMEMBERED", 1)
    first, second = await service.client(), await service.client()
    for client in (first, second, first, second):
        assert (await client.get("/voice")).status_code == 200
    assert len(service.desks._tokens._found) == 1
