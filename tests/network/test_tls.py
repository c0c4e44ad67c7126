"""Tests for TLS certificate checks."""

import asyncio
import shutil
import ssl
import subprocess
from collections.abc import Iterator
from pathlib import Path

import pytest
import truststore

from certificates import create_certificate
from copydesk.errors import UnreachableError
from copydesk.network import transport
from copydesk.network.transport import tls_context
from feed_server import FeedServer
from fetcher_fixtures import ANY_TYPE, make_fetcher


@pytest.fixture(scope="module")
def certificate(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """A self-signed certificate for 127.0.0.1, with its key in the same file."""
    return create_certificate(tmp_path_factory.mktemp("tls"))


@pytest.fixture
def server(certificate: Path) -> Iterator[FeedServer]:
    tls = ssl.SSLContext(ssl.PROTOCOL_TLS_SERVER)
    tls.load_cert_chain(certificate)
    with FeedServer("0.0.0.0", tls=tls) as running:
        running.serve("/", "<rss/>")
        yield running


@pytest.fixture
def fresh_context() -> Iterator[None]:
    """Load the certificate authorities anew for this test."""
    tls_context.cache_clear()
    yield
    tls_context.cache_clear()


@pytest.fixture
def trusting(certificate: Path, monkeypatch: pytest.MonkeyPatch, fresh_context: None) -> None:
    """Trust that certificate like those of the system."""
    monkeypatch.setenv("SSL_CERT_FILE", str(certificate))


async def test_self_signed_certificate_is_refused(server: FeedServer) -> None:
    async with make_fetcher() as fetcher:
        with pytest.raises(UnreachableError, match=r"certificate of .* is not trusted: self"):
            await fetcher.get(server.url(), accept=ANY_TYPE)
    assert server.requests == []


@pytest.mark.usefixtures("trusting")
async def test_certificate_of_other_host_is_refused(server: FeedServer) -> None:
    async with make_fetcher() as fetcher:
        with pytest.raises(UnreachableError, match="is not trusted: IP address mismatch"):
            await fetcher.get(server.url(host="127.0.0.2"), accept=ANY_TYPE)
    assert server.requests == []


@pytest.mark.usefixtures("trusting")
async def test_trusted_connection_is_reused(server: FeedServer) -> None:
    async with make_fetcher() as fetcher:
        for _ in range(3):
            assert (await fetcher.get(server.url(), accept=ANY_TYPE)).body == b"<rss/>"
    assert server.connections == 1


@pytest.mark.usefixtures("trusting")
async def test_large_encrypted_body_is_complete(server: FeedServer) -> None:
    body = bytes(range(256)) * 8192
    server.serve("/large", body)
    async with make_fetcher() as fetcher:
        assert (await fetcher.get(server.url("/large"), accept=ANY_TYPE)).body == body


async def test_server_without_tls_is_reported(server: FeedServer) -> None:
    with FeedServer() as plain:
        plain.serve("/", "<rss/>")
        async with make_fetcher() as fetcher:
            with pytest.raises(UnreachableError, match="does not use TLS"):
                await fetcher.get(plain.url(scheme="https"), accept=ANY_TYPE)


@pytest.mark.parametrize(("alert", "reason"), [(40, "handshake failure"), (112, "unrecognized name")])
async def test_alert_of_server_is_reported(alert: int, reason: str) -> None:
    async def refuse(reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
        await reader.read(65_536)  # a connection closed with unread data is reset
        writer.write(bytes((21, 3, 3, 0, 2, 2, alert)))
        writer.close()

    server = await asyncio.start_server(refuse, "127.0.0.1")
    async with server, make_fetcher() as fetcher:
        port = server.sockets[0].getsockname()[1]
        with pytest.raises(UnreachableError, match=f"refuses the TLS connection: {reason}"):
            await fetcher.get(f"https://127.0.0.1:{port}/", accept=ANY_TYPE)


def subject_hash(certificate: Path) -> str:
    """Return the name under which OpenSSL looks for a certificate in a directory; only its own tool computes it."""
    command = ["openssl", "x509", "-noout", "-subject_hash", "-in", certificate]
    return subprocess.run(command, check=True, capture_output=True, text=True).stdout.strip()


@pytest.mark.usefixtures("fresh_context")
async def test_certificate_directory_is_trusted(
    server: FeedServer, certificate: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    shutil.copy(certificate, tmp_path / f"{subject_hash(certificate)}.0")
    monkeypatch.delenv("SSL_CERT_FILE", raising=False)
    monkeypatch.setenv("SSL_CERT_DIR", str(tmp_path))
    async with make_fetcher() as fetcher:
        assert (await fetcher.get(server.url(), accept=ANY_TYPE)).body == b"<rss/>"


@pytest.mark.usefixtures("fresh_context")
def test_system_store_is_used_without_openssl_locations(monkeypatch: pytest.MonkeyPatch) -> None:
    """As on macOS, where the certificates are in the keychain."""
    monkeypatch.delenv("SSL_CERT_FILE", raising=False)
    monkeypatch.delenv("SSL_CERT_DIR", raising=False)
    monkeypatch.setattr(transport.sys, "platform", "darwin")
    context = tls_context()
    assert type(context) is truststore.SSLContext
    assert context.verify_mode is ssl.CERT_REQUIRED
