"""Tests that a server that cannot be found or reached for a while delays posts, and neither loses nor repeats them."""

import socket
from collections.abc import AsyncIterator
from contextlib import asynccontextmanager
from datetime import timedelta
from pathlib import Path

import pytest

from copydesk.desk import Desk
from copydesk.model.delivery import Account
from copydesk.network.transport import GuardedTransport
from copydesk.posting.client import PlatformClient
from copydesk.posting.webhook import Webhook
from copydesk.store import accounts
from desk_fixtures import NOW, Watch, query_db
from fake_blog import InMemorySecrets
from fault_proxy import Cut, FaultProxy, ReplacedResponse, Restart
from posting_fixtures import create_approved_draft, draft_status, open_posting_desk

MINUTE = timedelta(minutes=1)
HOST = "hook.invalid"
ACCEPTED = ReplacedResponse(200)


class NameServer:
    """Resolves `HOST` to this machine, or fails with `error`."""

    def __init__(self, monkeypatch: pytest.MonkeyPatch) -> None:
        self.error: int | None = None
        self._resolve = socket.getaddrinfo
        monkeypatch.setattr(socket, "getaddrinfo", self.resolve)

    def resolve(self, host: str, *args: object, **options: object) -> object:
        if host == HOST and self.error is not None:
            raise socket.gaierror(self.error, "It is not known.")
        return self._resolve("127.0.0.1" if host == HOST else host, *args, **options)


@pytest.fixture
def names(monkeypatch: pytest.MonkeyPatch) -> NameServer:
    return NameServer(monkeypatch)


@asynccontextmanager
async def open_webhook_desk(folder: Path, server: FaultProxy, watch: Watch) -> AsyncIterator[Desk]:
    """Open a desk with a webhook account, over the real network stack."""
    transport = GuardedTransport(allow_private=True, concurrency=2)
    platform = Webhook(PlatformClient(transport, timeout=10), InMemorySecrets(secret="s" * 20), clock=watch)
    port = server.url.rpartition(":")[2]
    account = Account(platform="webhook", server=f"http://{HOST}:{port}", id="me", name=HOST)
    async with open_posting_desk(folder, {"webhook": platform}, clock=watch) as desk:
        await desk._context.write(accounts.save, "me", account, NOW)
        yield desk
    await transport.aclose()


def post_ids(server: FaultProxy) -> set[str]:
    """Return the ids under which posts were received."""
    return {request.header("idempotency-key") for request in server.requests}


@pytest.mark.parametrize("error", [socket.EAI_AGAIN, socket.EAI_NONAME])
async def test_failed_name_lookup_is_retried(tmp_path: Path, names: NameServer, error: int) -> None:
    watch, names.error = Watch(), error
    async with FaultProxy("http://127.0.0.1:9") as server, open_webhook_desk(tmp_path, server, watch) as desk:
        server.faults.append(ACCEPTED)
        draft_id = await create_approved_draft(desk)
        await desk.posting.post(draft_id)
        (report,) = await desk.posting.list_deliveries(draft_id)
        assert report.state == "planned"
        assert report.says.startswith(f"Cannot find the server {HOST}. Check the address and your internet connection.")
        watch.now += MINUTE
        await desk.posting.send_due()
        assert server.requests == []
        names.error = None
        watch.now += 3 * MINUTE
        await desk.posting.send_due()
        assert await draft_status(desk, draft_id) == "posted"
    events = query_db(tmp_path, "SELECT what FROM delivery_event")
    assert (len(server.requests), ("unknown outcome",) in events) == (1, False)


@pytest.mark.parametrize("last_answer", [ACCEPTED, Cut.BEFORE, ReplacedResponse(503)], ids=str)
async def test_server_that_restarts_gets_each_post_once(
    tmp_path: Path, names: NameServer, last_answer: Cut | ReplacedResponse
) -> None:
    """The last answer before the restart may be lost; connections are then refused for minutes."""
    watch = Watch()
    async with FaultProxy("http://127.0.0.1:9") as server, open_webhook_desk(tmp_path, server, watch) as desk:
        first, second = [await create_approved_draft(desk, f"Story {number}.") for number in (1, 2)]
        server.faults.append(Restart(last_answer))
        await desk.posting.post(first)
        await desk.posting.post(second)
        (report,) = await desk.posting.list_deliveries(second)
        assert report.says.startswith(f"Connection refused by {HOST}")
        assert report.state == "planned"
        for _ in range(2):
            watch.now += 3 * MINUTE
            await desk.posting.send_due()
        assert len(server.requests) == 1
        await server.listen()
        server.faults.extend([ACCEPTED, ACCEPTED])
        watch.now += 15 * MINUTE
        await desk.posting.send_due()
        assert [await draft_status(desk, draft_id) for draft_id in (first, second)] == ["posted", "posted"]
    # The receiver knows a repeated post by its id.
    assert len(post_ids(server)) == 2
    assert len(server.requests) == (2 if last_answer is ACCEPTED else 3)
