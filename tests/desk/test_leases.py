"""Tests for leases: identifying the process that holds one and checking that it is alive."""

import asyncio
import os
import socket
import subprocess
import sys

import pytest

from copydesk.desk.leases import _start_time, account_lease, current_owner, is_alive
from copydesk.errors import StoreError
from desk_fixtures import open_desk_at
from posting_fixtures import connect_account


def test_own_process_is_alive():
    assert is_alive(current_owner()) is True


def test_exited_process_is_dead():
    process = subprocess.run(
        [sys.executable, "-c", "from copydesk.desk.leases import current_owner; print(current_owner())"],
        check=True, capture_output=True, text=True,
    )  # fmt: skip
    assert is_alive(process.stdout.strip()) is False


def test_reused_pid_is_another_process():
    host, pid, _started = current_owner().split("/")
    assert is_alive(f"{host}/{pid}/12") is False


def test_remote_process_is_unknown():
    assert is_alive("elsewhere/1/2") is None
    assert is_alive("") is None


def test_start_time_unknown_makes_liveness_unknown(monkeypatch):
    """Without /proc a reused pid counted as the old process, and its run blocked all others."""
    monkeypatch.setattr("copydesk.desk.leases._read_stat", lambda pid: [])
    assert is_alive(current_owner()) is None
    host, pid, _started = current_owner().split("/")
    assert is_alive(f"{host}/{pid}/12") is None
    assert is_alive(f"{host}/{2**22 + 1}/") is False


def test_zombie_process_is_dead():
    """In a container without an init process zombies remain, and a killed run blocked all later ones."""
    child = subprocess.Popen([sys.executable, "-c", ""], stdout=subprocess.PIPE)
    assert child.stdout
    with child.stdout:
        child.stdout.read()
    os.waitid(os.P_PID, child.pid, os.WEXITED | os.WNOWAIT)
    owner = f"{socket.gethostname()}/{child.pid}/{_start_time(child.pid)}"
    alive = is_alive(owner)
    child.wait()

    assert alive is False


async def test_lease_that_could_not_be_released_is_taken_over(tmp_path, monkeypatch):
    """While the database was gone, the account was the process's own for five more minutes."""

    async def fail(*_args, **_options):
        raise StoreError

    async with open_desk_at(tmp_path) as desk:
        account_id, ctx = await connect_account(desk), desk._context
        async with account_lease(ctx, account_id) as first:
            assert first is not None
            monkeypatch.setattr(ctx.database, "write", fail)
        monkeypatch.undo()
        async with account_lease(ctx, account_id) as second:
            assert second not in {None, first}
    assert ctx.shared.unreleased_leases == set()


async def test_lease_acquired_by_a_cancelled_task_is_taken_over(tmp_path, monkeypatch):
    """Nobody could post to the account for five minutes."""
    async with open_desk_at(tmp_path) as desk:
        account_id, ctx = await connect_account(desk), desk._context
        write = ctx.database.write

        async def commit_and_cancel(*args, **options):
            await write(*args, **options)
            raise asyncio.CancelledError

        with monkeypatch.context() as patch:
            patch.setattr(ctx.database, "write", commit_and_cancel)
            with pytest.raises(asyncio.CancelledError):
                async with account_lease(ctx, account_id):
                    pass
        async with account_lease(ctx, account_id) as lease:
            assert lease is not None
