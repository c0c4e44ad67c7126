"""Tests that the login of an account survives a full disk while its token is renewed."""

import errno
from collections.abc import AsyncIterator
from contextlib import asynccontextmanager, suppress
from datetime import timedelta
from pathlib import Path

import httpx
import pytest

from copydesk.credentials import private_folder
from copydesk.desk import Desk, open_desk
from copydesk.errors import CopydeskError
from copydesk.settings import load
from fake_x import FakeX
from faulty_server import FakeClock
from store_fixtures import database_variables

PLAIN_CREDENTIALS = {"COPYDESK_SECRETS__KEYRING": "false", "COPYDESK_SECRETS__PLAIN": "true"}
WRITES_PER_RENEWAL = 4
"""The credentials and their backup, before and after the renewal."""


@asynccontextmanager
async def open_x_desk(home: Path, server: FakeX) -> AsyncIterator[Desk]:
    transport = httpx.MockTransport(server.handle)
    async with open_desk(
        load(database_variables(home) | PLAIN_CREDENTIALS, home), clock=server.clock, transport=transport
    ) as desk:
        yield desk


async def connect_x(desk: Desk, server: FakeX) -> None:
    sign_in = await desk.accounts.start_sign_in("x", {"client_id": "app"}, "http://127.0.0.1:8399/callback")
    code = httpx.URL(server.authorize(sign_in.url)).params["code"]
    await desk.accounts.finish_sign_in("x", sign_in, code)


class Disk:
    """Counts written files; from `full_from` to `full_until` there is no space left."""

    def __init__(self, monkeypatch: pytest.MonkeyPatch) -> None:
        self.writes = 0
        self.full_from = self.full_until = 0
        self._write = private_folder._write_durable
        monkeypatch.setattr(private_folder, "_write_durable", self.write)

    def write(self, path: Path, content: bytes) -> None:
        self.writes += 1
        if self.full_from <= self.writes < self.full_until:
            raise OSError(errno.ENOSPC, "No space left on device")
        self._write(path, content)


@pytest.mark.parametrize("stays_full", [False, True])
@pytest.mark.parametrize("number", range(1, WRITES_PER_RENEWAL + 1))
async def test_login_survives_full_disk_at_any_write(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, number: int, stays_full: bool
) -> None:
    server = FakeX(FakeClock())
    async with open_x_desk(tmp_path, server) as desk:
        await connect_x(desk, server)
    disk = Disk(monkeypatch)
    server.clock.now += timedelta(hours=3)
    async with open_x_desk(tmp_path, server) as desk:
        disk.full_from, disk.full_until = number, number + (100 if stays_full else 1)
        for _ in range(3):
            with suppress(CopydeskError):
                await desk.accounts.check("x")
        disk.full_until = 0
    async with open_x_desk(tmp_path, server) as desk:
        server.clock.now += timedelta(hours=3)
        assert (await desk.accounts.check("x")).login_error is None
    assert server.token_family_valid


async def test_number_of_writes(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    server = FakeX(FakeClock())
    async with open_x_desk(tmp_path, server) as desk:
        await connect_x(desk, server)
        disk = Disk(monkeypatch)
        server.clock.now += timedelta(hours=3)
        await desk.accounts.check("x")
    assert disk.writes == WRITES_PER_RENEWAL
