"""A real server stops without cutting a request."""

import asyncio
import signal
import sqlite3
from collections.abc import Awaitable, Callable, Sequence
from contextlib import closing
from pathlib import Path

import httpx
import pytest

from copydesk.desk import Desk
from copydesk.errors import StoreBusyError
from desk_fixtures import query_db
from http_service import run_service
from server_process import create_tokens, run_patched, running_server

REQUESTS = 20


@pytest.mark.parametrize("how", [signal.SIGTERM, signal.SIGINT])
async def test_requests_in_progress_get_their_responses(tmp_path: Path, how: signal.Signals) -> None:
    (token,) = await create_tokens(tmp_path, 1)
    headers = {"Authorization": f"Bearer {token}"}
    sent: asyncio.Queue[str] = asyncio.Queue()

    async def note_sent(event: str, _: object) -> None:
        if event == "http11.send_request_body.complete":
            sent.put_nowait(event)

    trace = {"trace": note_sent}
    async with (
        running_server(tmp_path, copydesk_database__busy_timeout="60") as server,
        httpx.AsyncClient(base_url=server.url, headers=headers, timeout=30, trust_env=False) as client,
    ):
        # Connections of their own, of which the server reads in the order in which they become readable.
        await asyncio.gather(*(client.get("/healthz") for _ in range(REQUESTS)))
        with closing(sqlite3.connect(tmp_path / "copydesk.db", isolation_level=None)) as blocker:
            # No request can be carried out before the server was told to stop.
            blocker.execute("BEGIN IMMEDIATE")
            requests = [
                asyncio.create_task(client.post("/drafts", json={"text": f"Draft {number}"}, extensions=trace))
                for number in range(REQUESTS)
            ]
            for _ in range(REQUESTS):
                await sent.get()
            # Whatever was sent before these requests is read before they are answered.
            for _ in range(5):
                assert (await client.get("/readyz")).status_code == 200
            server.process.send_signal(how)
            await wait_until_refused(server.url)
            assert not any(request.done() for request in requests)
            blocker.execute("ROLLBACK")
        responses = await asyncio.gather(*requests)
        code, output = await server.wait()

    assert [response.status_code for response in responses] == [201] * REQUESTS
    assert (code, output) == (0, "")
    assert query_db(tmp_path, "SELECT count(*), count(DISTINCT text) FROM draft") == [(REQUESTS, REQUESTS)]


async def test_request_that_never_arrives_delays_no_stop(tmp_path: Path) -> None:
    (token,) = await create_tokens(tmp_path, 1)
    command = run_patched("import copydesk.http.server\ncopydesk.http.server.ARRIVAL_TIMEOUT = 0.1")
    async with running_server(tmp_path, command) as server:
        url = httpx.URL(server.url)
        reader, writer = await asyncio.open_connection(url.host, url.port)
        with closing(writer):
            head = f"POST /drafts HTTP/1.1\r\nHost: {url.host}\r\nAuthorization: Bearer {token}\r\n"
            writer.write(f"{head}Content-Length: 20\r\nExpect: 100-continue\r\n\r\n".encode())
            # The server says so when it waits for the body.
            assert await reader.readuntil(b"\r\n\r\n") == b"HTTP/1.1 100 Continue\r\n\r\n"
            assert await server.stop() == (0, "")
            assert await reader.read() == b""


async def wait_until_refused(url: str) -> None:
    """Wait until the server accepts no more connections."""
    while True:
        try:
            async with httpx.AsyncClient(trust_env=False) as client:
                await client.get(f"{url}/healthz")
        except httpx.TransportError:
            return


async def test_texts_that_the_last_server_left_are_written_after_the_start(tmp_path: Path) -> None:
    async with run_service(tmp_path) as last:
        for name in ("owner", "anna"):
            desk = await last.desks.get(await last.desks.users.get_or_create(name))
            await desk.drafts.create({"prompt": "Why the harbour is open again."})
    assert query_db(tmp_path, "SELECT DISTINCT status FROM draft") == [("pending_generation",)]

    async with run_service(tmp_path) as running, running.app.router.lifespan_context(running.app):
        await asyncio.gather(*running.service._tasks)

    assert query_db(tmp_path, "SELECT status, count(*) FROM draft GROUP BY 1") == [("pending_review", 2)]


async def test_error_of_one_user_leaves_no_texts_of_the_others_waiting(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    async with run_service(tmp_path) as last:
        users = [await last.desks.users.get_or_create(name) for name in ("owner", "anna", "ben")]
        for user in users[:2]:
            await (await last.desks.get(user)).drafts.create({"prompt": "Why the harbour is open again."})

    async with run_service(tmp_path) as running:
        get = running.desks.get

        async def get_unless_owner(user_id: str) -> Desk:
            if user_id == users[0].id:
                raise StoreBusyError
            return await get(user_id)

        monkeypatch.setattr(running.desks, "get", get_unless_owner)
        assert await running.service._write_waiting_texts()
        assert [running.desks.find_open(user.id) is not None for user in users] == [False, True, False]
    statuses = query_db(tmp_path, 'SELECT "user".name, status FROM draft JOIN "user" ON "user".id = user_id ORDER BY 1')
    assert statuses == [("anna", "pending_review"), ("owner", "pending_generation")]


async def test_texts_are_written_once_the_database_can_be_read(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    async with run_service(tmp_path) as last:
        await (await last.desks.get(last.desks.owner)).drafts.create({"prompt": "Why the harbour is open again."})

    monkeypatch.setattr("copydesk.http.service.RETRY_INTERVAL", 0)
    async with run_service(tmp_path) as running:
        monkeypatch.setattr(running.desks, "list_users_with_texts", fail_first(running.desks.list_users_with_texts))
        async with running.app.router.lifespan_context(running.app):
            await asyncio.gather(*running.service._tasks)

    assert query_db(tmp_path, "SELECT status FROM draft") == [("pending_review",)]


async def test_requested_text_is_written_after_an_error_of_the_database(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    async with run_service(tmp_path) as running:
        generation = (await running.desks.get(running.desks.owner)).generation
        write, errors = generation._run_workers, [StoreBusyError()]

        async def write_or_fail(draft_ids: Sequence[str] | None) -> list[bool]:
            if errors:
                raise errors.pop()
            return await write(draft_ids)

        monkeypatch.setattr(generation, "_run_workers", write_or_fail)
        await (await running.client()).post("/drafts", json={"prompt": "Why the harbour is open again."})
        while tasks := running.service._tasks:
            await asyncio.gather(*tasks)

    assert query_db(tmp_path, "SELECT status FROM draft") == [("pending_review",)]


async def test_work_that_fails_while_it_is_stopped_is_not_repeated(tmp_path: Path) -> None:
    started = asyncio.Event()

    async def work() -> None:
        try:
            started.set()
            await asyncio.Event().wait()
        finally:
            raise StoreBusyError

    async with run_service(tmp_path) as running:
        running.service._run_in_background(work)
        await started.wait()
        await running.service.close()
        assert not running.service._tasks


async def test_texts_that_errors_left_are_written_by_one_task(tmp_path: Path) -> None:
    async with run_service(tmp_path) as running:
        for _ in range(2):
            running.service.resume()
        (task,) = running.service._tasks
        await task


def fail_first(read: Callable[[], Awaitable[tuple[str, ...]]]) -> Callable[[], Awaitable[tuple[str, ...]]]:
    errors = [StoreBusyError()]

    async def read_or_fail() -> tuple[str, ...]:
        if errors:
            raise errors.pop()
        return await read()

    return read_or_fail


async def test_texts_that_another_process_holds_are_written_once_its_claim_has_expired(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    async with run_service(tmp_path) as last:
        await (await last.desks.get(last.desks.owner)).drafts.create({"prompt": "Why the harbour is open again."})

    passes = 0
    monkeypatch.setattr("copydesk.http.service.RETRY_INTERVAL", 0)
    monkeypatch.setattr("copydesk.desk.generation.service.is_lease_held", lambda *_: passes < 3)
    async with run_service(tmp_path) as running:
        write_waiting_texts = running.service._write_waiting_texts

        async def count_pass() -> bool:
            nonlocal passes
            passes += 1
            return await write_waiting_texts()

        monkeypatch.setattr(running.service, "_write_waiting_texts", count_pass)
        async with running.app.router.lifespan_context(running.app):
            await asyncio.gather(*running.service._tasks)

    assert (passes, query_db(tmp_path, "SELECT status FROM draft")) == (3, [("pending_review",)])
