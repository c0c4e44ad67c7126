"""A certificate must be trusted and must be the host's own."""

import ssl
from collections.abc import Iterator
from pathlib import Path

import pytest

from certificates import certificate_in
from copydesk.errors import UnreachableError
from copydesk.network import transport
from feed_server import FeedServer
from fetching import ANY, client


@pytest.fixture(scope="module")
def certificate(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """A certificate of 127.0.0.1, signed by itself, with its key in the same file."""
    return certificate_in(tmp_path_factory.mktemp("tls"))


@pytest.fixture
def server(certificate: Path) -> Iterator[FeedServer]:
    tls = ssl.SSLContext(ssl.PROTOCOL_TLS_SERVER)
    tls.load_cert_chain(certificate)
    with FeedServer("0.0.0.0", tls=tls) as running:
        running.serve("/", "<rss/>")
        yield running


@pytest.fixture
def trusting(certificate: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """Trust that certificate, as others are trusted."""
    context = transport._tls.__wrapped__()
    context.load_verify_locations(certificate)
    monkeypatch.setattr(transport, "_tls", lambda: context)


async def test_a_certificate_that_nobody_vouches_for_is_refused(server: FeedServer) -> None:
    async with client() as fetcher:
        with pytest.raises(UnreachableError, match=r"certificate of .* cannot be trusted: self"):
            await fetcher.get(server.url(), accept=ANY)
    assert server.requests == []


@pytest.mark.usefixtures("trusting")
async def test_the_certificate_of_another_host_is_refused(server: FeedServer) -> None:
    async with client() as fetcher:
        with pytest.raises(UnreachableError, match="cannot be trusted: IP address mismatch"):
            await fetcher.get(server.url(host="127.0.0.2"), accept=ANY)
    assert server.requests == []


@pytest.mark.usefixtures("trusting")
async def test_a_trusted_certificate_opens_a_connection_that_is_used_again(server: FeedServer) -> None:
    async with client() as fetcher:
        for _ in range(3):
            assert (await fetcher.get(server.url(), accept=ANY)).body == b"<rss/>"
    assert server.connections == 1


@pytest.mark.usefixtures("trusting")
async def test_an_encrypted_body_of_many_records_comes_whole(server: FeedServer) -> None:
    body = bytes(range(256)) * 8192
    server.serve("/large", body)
    async with client() as fetcher:
        assert (await fetcher.get(server.url("/large"), accept=ANY)).body == body


async def test_a_server_that_speaks_no_tls_says_so(server: FeedServer) -> None:
    with FeedServer() as plain:
        plain.serve("/", "<rss/>")
        async with client() as fetcher:
            with pytest.raises(UnreachableError, match="does not speak TLS"):
                await fetcher.get(plain.url(scheme="https"), accept=ANY)
