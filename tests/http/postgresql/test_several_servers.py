"""Several servers on one database, as behind a balancer that sends every request to another of them."""

import asyncio
from collections.abc import AsyncIterator
from contextlib import AsyncExitStack
from itertools import cycle
from pathlib import Path

import httpx
import pytest
from mcp.client.client import Client
from mcp.client.streamable_http import streamable_http_client

from copydesk.desk import open_desks
from copydesk.http.app import create_app
from copydesk.http.rate_limit import LIMIT
from copydesk.http.service import Service
from copydesk.mcp.endpoint import http_extension
from copydesk.model.token import Scope
from copydesk.settings import load
from desk_fixtures import query_db
from event_streams import open_stream
from http_service import BASE_URL, HttpService
from image_samples import drawing
from store_fixtures import database_variables

KEY = {"Idempotency-Key": "0f3c9a52"}
# Each machine has a credentials file of its own.
VARIABLES = {"COPYDESK_SECRETS__PLAIN": "true", "COPYDESK_SECRETS__KEYRING": "false"}

Servers = tuple[HttpService, HttpService]


class Balancer(httpx.AsyncBaseTransport):
    """Sends each request to the next application in turn."""

    def __init__(self, *apps: httpx.ASGITransport) -> None:
        self._apps = cycle(apps)

    async def handle_async_request(self, request: httpx.Request) -> httpx.Response:
        """Send the request to the one whose turn it is."""
        return await next(self._apps).handle_async_request(request)


@pytest.fixture
async def servers(tmp_path: Path) -> AsyncIterator[Servers]:
    """Two servers with data folders of their own."""
    async with AsyncExitStack() as stack:

        async def start(name: str) -> HttpService:
            settings = load(VARIABLES | database_variables(tmp_path), tmp_path / name)
            desks = await stack.enter_async_context(open_desks(settings))
            service = HttpService(desks, Service(desks))
            stack.push_async_callback(service.close)
            return service

        yield await start("one"), await start("two")


async def clients_of(servers: Servers, scope: Scope = Scope.PUBLISH) -> tuple[httpx.AsyncClient, httpx.AsyncClient]:
    """Return a client of each server, with one token."""
    one, two = servers
    client = await one.client(scope)
    return client, two.anonymous_client({"Authorization": client.headers["Authorization"]})


async def balanced_client(servers: Servers, stack: AsyncExitStack) -> httpx.AsyncClient:
    """Return a client whose requests go to the servers in turn."""
    client, _ = await clients_of(servers)
    transport = Balancer(*(httpx.ASGITransport(service.app) for service in servers))
    return await stack.enter_async_context(
        httpx.AsyncClient(transport=transport, base_url=BASE_URL, headers=client.headers)
    )


async def test_token_works_everywhere_until_it_is_revoked(servers: Servers) -> None:
    one, two = servers
    clients = await clients_of(servers)
    assert [(await client.get("/drafts")).status_code for client in clients] == [200, 200]

    await (await two.desks.get(two.desks.owner)).tokens.revoke("test 0")

    assert [(await client.get("/drafts")).status_code for client in clients] == [401, 401]
    assert (await one.anonymous_client().get("/drafts")).status_code == 401


async def test_repeated_request_gets_the_response_of_the_other_server(servers: Servers, tmp_path: Path) -> None:
    client, other = await clients_of(servers)
    for path, body in (("/drafts", {"text": "The harbour is open."}), ("/webhooks", {"url": "https://hooks.example"})):
        headers = {"Idempotency-Key": path}
        first = await client.post(path, json=body, headers=headers)
        again = await other.post(path, json=body, headers=headers)

        assert (first.status_code, again.status_code, again.json()) == (201, 201, first.json())
        assert ("idempotent-replayed" in first.headers, again.headers["idempotent-replayed"]) == (False, "true")
    assert query_db(tmp_path, "SELECT count(*) FROM draft") == [(1,)]
    assert query_db(tmp_path, "SELECT count(*) FROM webhook") == [(1,)]


async def test_request_that_reaches_both_is_carried_out_once(servers: Servers, tmp_path: Path) -> None:
    clients = await clients_of(servers)
    body = {"text": "The harbour is open."}

    async def send() -> list[httpx.Response]:
        return await asyncio.gather(*(client.post("/drafts", json=body, headers=KEY) for client in clients))

    statuses = {response.status_code for response in await send()}
    repeated = await send()

    assert statuses <= {201, 409}
    assert [response.status_code for response in repeated] == [201, 201]
    assert repeated[0].content == repeated[1].content
    assert query_db(tmp_path, "SELECT count(*) FROM draft") == [(1,)]


async def test_stream_of_one_shows_changes_through_the_other(servers: Servers) -> None:
    client, other = await clients_of(servers)
    async with open_stream(client) as stream:
        await other.post("/drafts", json={"text": "One."})
        (event,) = await stream.events(1)
    await other.post("/drafts", json={"text": "Two."})
    await client.post("/drafts", json={"text": "Three."})

    async with open_stream(other, last_event_id=str(event.id)) as stream:
        missed = await stream.events(2)

    assert [(missed.id, missed.event) for missed in (event, *missed)] == [
        (number, "draft.created") for number in (1, 2, 3)
    ]


async def test_pages_and_versions_are_those_of_the_database(servers: Servers) -> None:
    async with AsyncExitStack() as stack:
        client = await balanced_client(servers, stack)
        ids = [
            (await client.post("/drafts", json={"text": f"Ferry {number}."})).json()["drafts"][0]["id"]
            for number in range(5)
        ]
        listed: list[str] = []
        page: dict[str, str] | None = {}
        while page is not None:
            found = (await client.get("/drafts", params={"limit": "2", **page})).json()
            listed += [draft["id"] for draft in found["drafts"]]
            page = {"cursor": found["nextCursor"]} if found["nextCursor"] else None

        path = f"/drafts/{ids[0]}"
        tag = (await client.get(path)).headers["etag"]
        edits = [await client.patch(path, json={"text": text}, headers={"If-Match": tag}) for text in ("New.", "Late.")]
        text = (await client.get(path)).json()["text"]

    assert sorted(listed) == sorted(ids)
    assert ([edit.status_code for edit in edits], text) == ([200, 412], "New.")


async def test_reviewer_decides_and_undoes_through_either(servers: Servers) -> None:
    async with AsyncExitStack() as stack:
        client = await balanced_client(servers, stack)
        path = f"/drafts/{(await client.post('/drafts', json={'text': 'A ferry.'})).json()['drafts'][0]['id']}"
        statuses = []
        for method, suffix, body in (
            ("PATCH", "", {"action": "approve"}),
            ("POST", "/undo", None),
            ("PATCH", "", {"action": "reject"}),
        ):
            changed = await client.request(method, path + suffix, json=body)
            assert changed.status_code == 200, changed.text
            statuses += [(await client.get(path)).json()["status"] for _ in servers]
        activity = (await client.get(f"{path}/activity")).json()

    assert statuses == ["approved"] * 2 + ["awaiting_review"] * 2 + ["rejected"] * 2, activity


async def test_text_is_written_where_it_was_requested_and_read_anywhere(servers: Servers) -> None:
    client, other = await clients_of(servers)
    created = await client.post("/drafts", json={"prompt": "Why the harbour is open again.", "formats": ["SHORT"]})
    await asyncio.gather(*servers[0].service._tasks)

    draft = (await other.get(f"/drafts/{created.json()['drafts'][0]['id']}")).json()

    assert (draft["status"], bool(draft["text"])) == ("pending_review", True)


async def test_agent_needs_no_session(servers: Servers) -> None:
    client, _ = await clients_of(servers, Scope.DRAFT)
    async with AsyncExitStack() as stack:
        apps = []
        for service in servers:
            extension = http_extension(service.service)
            await stack.enter_async_context(extension.lifespan())
            apps.append(httpx.ASGITransport(create_app(service.service, extensions=[extension])))
        balanced = await stack.enter_async_context(httpx.AsyncClient(transport=Balancer(*apps), headers=client.headers))
        agent = await stack.enter_async_context(Client(streamable_http_client(f"{BASE_URL}/mcp", http_client=balanced)))
        calls = [await agent.call_tool("create_drafts", {"text": "A ferry.", "idempotencyKey": "k"}) for _ in range(3)]
        drafts = await agent.call_tool("list_drafts", {})

    assert not any(call.is_error for call in calls)
    assert drafts.structured_content is not None
    assert len(drafts.structured_content["drafts"]) == 1


async def test_each_server_counts_requests_for_its_own_rate_limit(servers: Servers) -> None:
    responses = [await client.get("/drafts") for client in await clients_of(servers)]
    assert [response.headers["RateLimit"].split(";")[1] for response in responses] == [f"r={LIMIT - 1}"] * 2


async def test_upload_through_one_is_attached_through_the_other_if_they_share_the_folder(
    servers: Servers, tmp_path: Path
) -> None:
    (tmp_path / "one" / "pictures").mkdir(parents=True)
    (tmp_path / "two").mkdir(exist_ok=True)
    (tmp_path / "two" / "pictures").symlink_to(tmp_path / "one" / "pictures")
    client, other = await clients_of(servers)
    url = (await client.post("/images", files={"file": ("a.png", drawing())})).json()["url"]

    created = await other.post("/drafts", json={"text": "A ferry.", "images": [{"url": url, "source": "UPLOAD"}]})

    assert created.status_code == 201, created.text
    assert [image["url"] for image in created.json()["drafts"][0]["images"]] == [url]
