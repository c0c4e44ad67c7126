"""Fixtures of the real servers; each is started once per test process, on first use."""

import os
from collections.abc import AsyncIterator, Iterator
from contextlib import AsyncExitStack, ExitStack
from itertools import count
from pathlib import Path

import pytest
import pytest_asyncio

import mastodon_server
import pds_server
from cutting_proxy import CuttingProxy
from doomed_sender import Doom, doom
from proof_desk import PROVE
from sending_places import FakePlace, MastodonPlace, PdsPlace, Place
from sending_runs import Desks

_numbers = count(1)
_SENDERS = [f"sender{number}" for number in range(2500 if PROVE else 300)]


@pytest.fixture(scope="session")
def pds() -> Iterator[pds_server.Pds]:
    """A Bluesky PDS. If it cannot be installed its tests are skipped, except in CI, where they fail."""
    with ExitStack() as stack:
        try:
            server = stack.enter_context(pds_server.running())
        except pds_server.UnavailableError as error:
            if os.environ.get("CI"):
                pytest.fail(f"In CI there has to be a PDS: {error}")
            pytest.skip(f"no PDS: {error}")
        yield server


@pytest.fixture
def writer(pds: pds_server.Pds) -> pds_server.Writer:
    """A new account on the PDS."""
    return pds.writer(f"writer{next(_numbers)}")


@pytest.fixture(scope="session")
def mastodon(tmp_path_factory: pytest.TempPathFactory) -> Iterator[tuple[mastodon_server.MockMastodon, Iterator[str]]]:
    """A mastodon-mock and an iterator of its unused account names."""
    with mastodon_server.running(tmp_path_factory.mktemp("mastodon"), _SENDERS) as server:
        yield server, iter(_SENDERS)


@pytest.fixture(scope="session")
def doomed() -> Iterator[Doom]:
    """The process that sends and is killed."""
    with doom() as started:
        yield started


@pytest.fixture
def desks(tmp_path: Path, doomed: Doom) -> Desks:
    """Creates desks with due drafts."""
    return Desks(tmp_path, doomed)


class Places:
    """Servers by name, closed at the end of the test."""

    def __init__(self, request: pytest.FixtureRequest, stack: AsyncExitStack) -> None:
        self._request = request
        self._stack = stack

    async def at(self, name: str) -> Place:
        """Return the server; one without idempotency keys is behind a proxy that removes them."""
        if name.startswith("fake"):
            return FakePlace(keyed="without" not in name)
        return (await self.behind(name))[0] if "without" in name else self._open(name, self._url(name))

    async def behind(self, name: str, aim: str = "") -> tuple[MastodonPlace | PdsPlace, CuttingProxy]:
        """Return a real server behind a proxy, and the proxy; requests matching `aim` meet its faults."""
        proxy = await self._stack.enter_async_context(CuttingProxy(self._url(name), aim=aim))
        if "without" in name:
            proxy.rewrite = lambda request: request.without("idempotency-key")
        server = self._open(name, proxy.url)
        server.late = proxy.arrive
        return server, proxy

    def _open(self, name: str, url: str) -> MastodonPlace | PdsPlace:
        server = self._made(name, url)
        self._stack.callback(server.close)
        return server

    def _made(self, name: str, url: str) -> MastodonPlace | PdsPlace:
        if name == "pds":
            return PdsPlace(self._request.getfixturevalue("pds"), url)
        server, names = self._request.getfixturevalue("mastodon")
        return MastodonPlace(server, names, url, keyed="without" not in name)

    def _url(self, name: str) -> str:
        if name == "pds":
            return str(self._request.getfixturevalue("pds").url)
        return str(self._request.getfixturevalue("mastodon")[0].url)


@pytest_asyncio.fixture
async def places(request: pytest.FixtureRequest) -> AsyncIterator[Places]:
    """The servers that drafts are sent to."""
    async with AsyncExitStack() as stack:
        yield Places(request, stack)
