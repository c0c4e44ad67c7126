"""Fixtures of the real servers; each is started once per test process, on first use."""

import os
from collections.abc import AsyncIterator, Iterator
from contextlib import AsyncExitStack, ExitStack
from itertools import count
from pathlib import Path

import pytest
import pytest_asyncio

import mastodon_mock_server
import pds_server
from fault_proxy import FaultProxy
from killed_sender import KillRunner, kill_runner
from sampling import EXHAUSTIVE
from send_cases import CaseRunner
from send_targets import FakeTarget, MastodonTarget, PdsTarget, SendTarget

_numbers = count(1)
_SENDERS = [f"sender{number}" for number in range(2500 if EXHAUSTIVE else 300)]


@pytest.fixture(scope="session")
def pds() -> Iterator[pds_server.Pds]:
    """A Bluesky PDS. If it cannot be installed its tests are skipped, except in CI, where they fail."""
    with ExitStack() as stack:
        try:
            server = stack.enter_context(pds_server.run_pds())
        except pds_server.UnavailableError as error:
            if os.environ.get("CI"):
                pytest.fail(f"In CI there has to be a PDS: {error}")
            pytest.skip(f"no PDS: {error}")
        yield server


@pytest.fixture
def writer(pds: pds_server.Pds) -> pds_server.PdsAccount:
    """A new account on the PDS."""
    return pds.create_account(f"writer{next(_numbers)}")


@pytest.fixture(scope="session")
def mastodon(
    tmp_path_factory: pytest.TempPathFactory,
) -> Iterator[tuple[mastodon_mock_server.MockMastodon, Iterator[str]]]:
    """A mastodon-mock and an iterator of its unused account names."""
    with mastodon_mock_server.run_mastodon_mock(tmp_path_factory.mktemp("mastodon"), _SENDERS) as server:
        yield server, iter(_SENDERS)


@pytest.fixture(scope="session")
def killed_sender() -> Iterator[KillRunner]:
    """The process that sends and is killed."""
    with kill_runner() as started:
        yield started


@pytest.fixture
def desks(tmp_path: Path, killed_sender: KillRunner) -> CaseRunner:
    """Creates desks with due drafts."""
    return CaseRunner(tmp_path, killed_sender)


class Servers:
    """Servers by name, closed at the end of the test."""

    def __init__(self, request: pytest.FixtureRequest, stack: AsyncExitStack) -> None:
        self._request = request
        self._stack = stack

    async def get(self, name: str) -> SendTarget:
        """Return the server; one without idempotency keys is behind a proxy that removes them."""
        if name.startswith("fake"):
            return FakeTarget(keyed="without" not in name)
        return (await self.behind_proxy(name))[0] if "without" in name else self._open(name, self._url(name))

    async def behind_proxy(self, name: str, aim: str = "") -> tuple[MastodonTarget | PdsTarget, FaultProxy]:
        """Return a real server behind a proxy, and the proxy; requests matching `aim` meet its faults."""
        proxy = await self._stack.enter_async_context(FaultProxy(self._url(name), pattern=aim))
        if "without" in name:
            proxy.rewrite = lambda request: request.without_header("idempotency-key")
        server = self._open(name, proxy.url)
        server.release_late = proxy.forward_late
        return server, proxy

    def _open(self, name: str, url: str) -> MastodonTarget | PdsTarget:
        server = self._create(name, url)
        self._stack.callback(server.close)
        return server

    def _create(self, name: str, url: str) -> MastodonTarget | PdsTarget:
        if name == "pds":
            return PdsTarget(self._request.getfixturevalue("pds"), url)
        server, names = self._request.getfixturevalue("mastodon")
        return MastodonTarget(server, names, url, keyed="without" not in name)

    def _url(self, name: str) -> str:
        if name == "pds":
            return str(self._request.getfixturevalue("pds").url)
        return str(self._request.getfixturevalue("mastodon")[0].url)


@pytest_asyncio.fixture
async def servers(request: pytest.FixtureRequest) -> AsyncIterator[Servers]:
    """The servers that drafts are sent to."""
    async with AsyncExitStack() as stack:
        yield Servers(request, stack)
