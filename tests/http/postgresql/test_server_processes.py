"""Two `copydesk serve` on one database, of two machines, whose clients turn to either of them."""

import asyncio
import json
from collections import Counter
from pathlib import Path

import httpx

from cli_runner import error_text, run_command
from copydesk.desk import open_desks
from copydesk.model.token import Scope
from copydesk.settings import load
from desk_fixtures import query_db
from feed_server import FeedServer
from next_version import upgrade_to_next_version
from running_workers import wait_until
from server_process import ServerProcess, create_tokens, running_server, start_server
from store_fixtures import database_variables, postgresql_server

CLIENTS = 4
DRAFTS = 12
"""By each client."""


async def create_token(home: Path) -> str:
    """Return a token of the owner that may do everything."""
    async with open_desks(load(database_variables(home), home)) as desks:
        return (await (await desks.get(desks.owner)).tokens.create("client", Scope.PUBLISH)).secret


async def start(home: Path, machine: str, *options: str) -> ServerProcess:
    """Start a server of the desk in `home` that has a data folder of its own."""
    return await start_server(home, options=("--port", "0", *options), copydesk_home=str(home / machine))


class BalancedClient:
    """Sends each request to the next server, and again to the one after that if it was not carried out."""

    def __init__(self, servers: list[ServerProcess], token: str) -> None:
        self._servers = servers
        self._client = httpx.AsyncClient(headers={"Authorization": f"Bearer {token}"}, timeout=30, trust_env=False)
        self._count = 0

    async def send(self, method: str, path: str, **options: object) -> httpx.Response:
        """Return the response of the first server that has one."""
        async with asyncio.timeout(60):
            while True:
                self._count += 1
                server = self._servers[self._count % len(self._servers)]
                try:
                    response = await self._client.request(method, server.url + path, **options)  # type: ignore[arg-type]
                except httpx.TransportError:
                    continue
                # 409: the other server is still at it.
                if response.status_code not in {409, 503}:
                    return response

    async def close(self) -> None:
        """Close the connections."""
        await self._client.aclose()


async def test_servers_are_restarted_one_after_the_other(tmp_path: Path) -> None:
    # One for each client: a token may make 600 requests a minute.
    tokens = await create_tokens(tmp_path, CLIENTS)
    servers = [await start(tmp_path, machine) for machine in ("one", "two")]
    responses: list[httpx.Response] = []
    restarted = asyncio.Event()

    async def create_drafts(number: int) -> None:
        client, key = BalancedClient(servers, tokens[number]), 0
        while key < DRAFTS or not restarted.is_set():
            headers = {"Idempotency-Key": f"{number}-{key}"}
            body = {"text": f"Ferry {key} of {number}."}
            responses.append(await client.send("POST", "/drafts", json=body, headers=headers))
            key += 1
        await client.close()

    async def wait_for_responses(count: int) -> None:
        async def are_there() -> bool:
            return len(responses) >= count

        await wait_until(are_there)

    async def restart() -> None:
        for index, machine in enumerate(("one", "two")):
            await wait_for_responses(len(responses) + CLIENTS)
            assert await servers[index].stop() == (0, "")
            servers[index] = await start(tmp_path, machine)
        restarted.set()

    try:
        await asyncio.gather(restart(), *map(create_drafts, range(CLIENTS)))
    finally:
        for server in servers:
            if server.process.returncode is None:
                await server.kill()

    assert Counter(response.status_code for response in responses) == {201: len(responses)}
    ids = {response.json()["drafts"][0]["id"] for response in responses}
    stored = query_db(tmp_path, "SELECT count(*), count(DISTINCT text) FROM draft")
    assert (len(ids), stored) == (len(responses), [(len(responses), len(responses))])


async def test_event_is_sent_to_a_webhook_once_if_both_run_jobs(tmp_path: Path) -> None:
    token = await create_token(tmp_path)
    async with FeedServer() as receiver:
        receiver.serve("/hook", b"")
        servers = [await start(tmp_path, machine, "--jobs") for machine in ("one", "two")]
        client = BalancedClient(servers, token)
        try:
            webhook = {"url": receiver.url("/hook"), "types": ["draft.created"]}
            path = (await client.send("POST", "/webhooks", json=webhook)).headers["location"] + "/deliveries"
            for number in range(DRAFTS):
                await client.send("POST", "/drafts", json={"text": f"Ferry {number}."})

            async def are_delivered() -> bool:
                deliveries = (await client.send("GET", path)).json()["deliveries"]
                return len(deliveries) == DRAFTS and all(delivery["attempts"] for delivery in deliveries)

            await wait_until(are_delivered)
        finally:
            await client.close()
            stopped = [await server.stop() for server in servers]

    sent = [json.loads(request.body)["id"] for request in receiver.requests_for("/hook")]
    assert Counter(sent) == dict.fromkeys(range(1, DRAFTS + 1), 1)
    assert [code for code, _ in stopped] == [0, 0]


async def test_server_stays_ready_after_an_upgrade_until_it_is_stopped(tmp_path: Path) -> None:
    """A newer version upgrades the tables while the server of this one runs."""
    server = postgresql_server()
    assert server is not None
    url = server.url_without_tables(tmp_path)
    (token,) = await create_tokens(tmp_path, 1)
    async with (
        running_server(tmp_path) as running,
        httpx.AsyncClient(
            base_url=running.url, headers={"Authorization": f"Bearer {token}"}, trust_env=False
        ) as client,
    ):
        await upgrade_to_next_version(url)

        created = await client.post("/drafts", json={"text": "A ferry."})
        assert (created.status_code, (await client.get("/readyz")).status_code) == (201, 200)
        assert await running.stop() == (0, "")
    refused = run_command(tmp_path, "serve", "--port", "0")
    assert (refused.code, error_text(refused)) == (
        1,
        "A newer version of Copydesk created the tables (revision 9000); nothing changed. Install that version.",
    )
