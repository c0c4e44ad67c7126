"""Servers killed at random moments, or side by side: what was answered stays true, nothing is done twice."""

import asyncio
import random
import time
from collections.abc import Callable, Sequence
from pathlib import Path

import httpx
import pytest

from cli_runner import COMMAND
from desk_fixtures import integrity_errors, query_db
from keyed_clients import RETRY_DELAY, KeyedClient, check_database, count_keys
from sampling import EXHAUSTIVE
from server_process import ServerProcess, create_tokens, run_patched, running_server, start_server

CLIENTS = 50
SECONDS = 60.0 if EXHAUSTIVE else 0.0
MIN_KILLS = 2
SIMULTANEOUS = 200 if EXHAUSTIVE else 20
MAX_ANSWERS = 200
"""A server is killed after at most so many answers, and at most MAX_DELAY seconds later."""
MAX_DELAY = 0.05
NO_GUARD = "import copydesk.desk.idempotency as i\ni._Guard.run = lambda self, conn, user_id, work: work()"
"""A change of the server that the proof must notice: the key is not stored with the effect, but after it."""


class Proof:
    """The clients, and the server that is killed and started again."""

    def __init__(self, home: Path, command: Sequence[str] = COMMAND) -> None:
        self._home = home
        self._command = command
        self._server: ServerProcess | None = None
        self.clients: list[KeyedClient] = []
        self.kills = 0
        self.failures: list[AssertionError] = []

    def _url(self) -> str | None:
        return self._server.url if self._server is not None else None

    async def run(self, seconds: float, seed: int) -> None:
        """Kill the server at least twice and for so many seconds; check the database after each kill and at the end."""
        rng = random.Random(seed)
        tokens = await create_tokens(self._home, CLIENTS)
        deadline = time.monotonic() + seconds

        def is_over() -> bool:
            return bool(self.failures) or (self.kills >= MIN_KILLS and time.monotonic() >= deadline)

        limits = httpx.Limits(max_connections=None)
        async with httpx.AsyncClient(limits=limits, timeout=30, trust_env=False) as http:
            self.clients = [KeyedClient(number, token, http, self._url) for number, token in enumerate(tokens)]
            await self._run(is_over, rng)
        if self.failures:
            raise self.failures[0]

    async def _run(self, is_over: Callable[[], bool], rng: random.Random) -> None:
        try:
            async with asyncio.TaskGroup() as group:
                for client in self.clients:
                    group.create_task(self._run_client(client, is_over))
                self._server = await start_server(self._home, self._command)
                while not is_over():
                    await self._wait_for_answers(self.requests + rng.randrange(MAX_ANSWERS), is_over)
                    await asyncio.sleep(rng.uniform(0, MAX_DELAY))
                    await self._kill()
                    self._server = await start_server(self._home, self._command)
            await self._kill()
        finally:
            if self._server is not None:
                await self._server.kill()

    async def _run_client(self, client: KeyedClient, is_over: Callable[[], bool]) -> None:
        # The other clients end by themselves: cancelled in a request, they would leave sockets open.
        try:
            await client.run(is_over)
        except AssertionError as error:
            self.failures.append(error)

    async def _wait_for_answers(self, total: int, is_over: Callable[[], bool]) -> None:
        """Wait until so many requests were answered."""
        while self.requests < total and not is_over():  # noqa: ASYNC110 - of 50 tasks
            await asyncio.sleep(RETRY_DELAY)

    @property
    def requests(self) -> int:
        """Number of requests that were answered."""
        return sum(client.requests for client in self.clients)

    async def _kill(self) -> None:
        server, self._server = self._server, None
        assert server is not None
        await server.kill()
        self.kills += 1
        # Nothing is awaited here, so no client learns of an answer meanwhile.
        try:
            check_database(self._home, self.clients)
        except AssertionError as error:
            self.failures.append(error)


async def test_answers_stay_true_and_nothing_is_done_twice(tmp_path):
    proof = Proof(tmp_path)
    await proof.run(SECONDS, seed=1)

    assert all(client.pending is None for client in proof.clients)
    assert integrity_errors(tmp_path) == []
    # Otherwise the clients would not have met what they are for.
    assert sum(client.repeated for client in proof.clients) > 0
    assert count_keys(tmp_path) == proof.requests


async def test_proof_notices_a_missing_guard(tmp_path):
    # It ends with the first failure.
    proof = Proof(tmp_path, run_patched(NO_GUARD))
    with pytest.raises(AssertionError):
        await proof.run(seconds=300, seed=1)


async def test_two_servers_carry_out_a_request_once(tmp_path):
    (token,) = await create_tokens(tmp_path, 1)
    headers = {"Authorization": f"Bearer {token}"}
    async with (
        running_server(tmp_path) as one,
        running_server(tmp_path) as other,
        httpx.AsyncClient(headers=headers, timeout=30, trust_env=False) as http,
    ):
        for number in range(SIMULTANEOUS):
            responses = await asyncio.gather(
                *(
                    http.post(f"{server.url}/drafts", json={"text": "Once"}, headers={"Idempotency-Key": str(number)})
                    for server in (one, other)
                )
            )
            assert [response.status_code for response in responses] == [201, 201]
            assert responses[0].content == responses[1].content
    assert query_db(tmp_path, "SELECT count(*) FROM draft") == [(SIMULTANEOUS,)]
