"""Tests of the local PDS used by the proofs: it leaves nothing running, and rate-limits as a real one."""

import asyncio
import signal
import socket
import subprocess
import sys
import time
from datetime import UTC, datetime, timedelta

import httpx
import pytest

from copydesk.network.transport import GuardedTransport
from copydesk.posting.bluesky import Bluesky
from copydesk.posting.client import PlatformClient
from copydesk.posting.platform import NotSentError
from faulty_server import RecordingSecrets
from pds_server import Pds, run_pds

pytestmark = pytest.mark.xdist_group("pds")
HOLD_PROGRAM = """
import time, pds_server
with pds_server.run_pds() as pds:
    print(pds.url, pds.plc, flush=True)
    time.sleep(60)
"""


def test_pds_ends_when_starter_is_killed(pds: Pds):
    with subprocess.Popen([sys.executable, "-c", HOLD_PROGRAM], stdout=subprocess.PIPE, text=True) as holder:
        assert holder.stdout is not None
        urls = holder.stdout.readline().split()
        holder.send_signal(signal.SIGKILL)
    assert len(urls) == 2
    deadline = time.monotonic() + 60
    while any(accepts_connections(url) for url in urls):
        assert time.monotonic() < deadline
        time.sleep(0.05)


async def test_login_rate_limit_has_retry_time(pds: Pds):
    now = datetime.now(UTC)
    transport = GuardedTransport(allow_private=True, concurrency=1)
    bluesky = Bluesky(PlatformClient(transport), RecordingSecrets(), clock=lambda: now)
    with run_pds("--rate-limits") as strict:
        credentials = {"handle": "nobody.test", "password": "wrong"}
        login = {"identifier": credentials["handle"], "password": credentials["password"]}
        async with httpx.AsyncClient() as client:
            url = f"{strict.url}/xrpc/com.atproto.server.createSession"
            await asyncio.gather(*[client.post(url, json=login) for _ in range(30)])
        with pytest.raises(NotSentError) as caught:
            await bluesky.connect(strict.url, credentials)
    await transport.aclose()
    assert timedelta(0) < caught.value.retry_after - now <= timedelta(minutes=5, seconds=30)


def accepts_connections(url: str) -> bool:
    """Return whether a connection to `url` succeeds."""
    host, port = url.removeprefix("http://").split(":")
    try:
        socket.create_connection((host, int(port))).close()
    except OSError:
        return False
    return True
