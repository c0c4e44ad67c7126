"""Tests for leases: identifying the process that holds one and checking that it is alive."""

import asyncio
import os
import socket
import subprocess
import sys

import pytest

from copydesk.desk import leases
from copydesk.desk.leases import _start_time, account_lease, current_owner, is_alive
from copydesk.errors import StoreError
from copydesk.store import accounts
from copydesk.store.accounts import AccountLease
from desk_fixtures import Watch, open_desk_at, query_db
from posting_fixtures import connect_account


def dead_owner_on(monkeypatch, *, namespace="4026531836", boot="first"):
    """Return the owner string of a process that is not running, on such a system of this name."""
    with monkeypatch.context() as patch:
        patch.setattr(leases, "_namespace_and_boot", lambda: f"{namespace}@{boot}")
        return f"{leases._system()}/999999999/1"


@pytest.fixture
def on_second_boot(monkeypatch):
    monkeypatch.setattr(leases, "_namespace_and_boot", lambda: "4026531836@second")


def test_own_process_is_alive():
    assert is_alive(current_owner(), in_file=False) is True


def test_exited_process_is_dead():
    process = subprocess.run(
        [sys.executable, "-c", "from copydesk.desk.leases import current_owner; print(current_owner())"],
        check=True, capture_output=True, text=True,
    )  # fmt: skip
    assert is_alive(process.stdout.strip(), in_file=False) is False


def test_reused_pid_is_another_process():
    system, pid, _started = current_owner().split("/")
    assert is_alive(f"{system}/{pid}/12", in_file=False) is False


@pytest.mark.parametrize("in_file", [False, True])
@pytest.mark.parametrize("owner", ["elsewhere/1/2", "elsewhere@4026531836@first/1/2", ""])
def test_remote_process_is_unknown(owner, in_file):
    assert is_alive(owner, in_file=in_file) is None


@pytest.mark.usefixtures("on_second_boot")
def test_machine_of_the_same_name_is_another(monkeypatch):
    """Two machines named localhost took over each other's runs and accounts."""
    assert is_alive(dead_owner_on(monkeypatch), in_file=False) is None


@pytest.mark.usefixtures("on_second_boot")
def test_container_of_the_same_name_is_another_system(monkeypatch):
    for boot in ("second", "of the container"):
        owner = dead_owner_on(monkeypatch, namespace="4026532001", boot=boot)
        assert [is_alive(owner, in_file=in_file) for in_file in (False, True)] == [None, None]


@pytest.mark.usefixtures("on_second_boot")
def test_process_of_a_boot_before_is_dead(monkeypatch):
    assert is_alive(dead_owner_on(monkeypatch), in_file=True) is False


def test_system_without_proc_has_its_name(monkeypatch):
    owner = dead_owner_on(monkeypatch, namespace="", boot="")
    monkeypatch.setattr(leases, "_namespace_and_boot", lambda: "@")
    assert is_alive(owner, in_file=True) is False
    assert is_alive(dead_owner_on(monkeypatch, namespace=""), in_file=True) is None


def test_owner_of_a_version_before_is_checked():
    host, (_, pid, started) = socket.gethostname(), current_owner().split("/")
    assert is_alive(f"{host}/{pid}/{started}", in_file=False) is True
    assert is_alive(f"{host}/999999999/1", in_file=False) is False


def test_start_time_unknown_makes_liveness_unknown(monkeypatch):
    """Without /proc a reused pid counted as the old process, and its run blocked all others."""
    monkeypatch.setattr("copydesk.desk.leases._read_stat", lambda pid: [])
    assert is_alive(current_owner(), in_file=False) is None
    system, pid, _started = current_owner().split("/")
    assert is_alive(f"{system}/{pid}/12", in_file=False) is None
    assert is_alive(f"{system}/{2**22 + 1}/", in_file=False) is False


def test_zombie_process_is_dead():
    """In a container without an init process zombies remain, and a killed run blocked all later ones."""
    child = subprocess.Popen([sys.executable, "-c", ""], stdout=subprocess.PIPE)
    assert child.stdout
    with child.stdout:
        child.stdout.read()
    os.waitid(os.P_PID, child.pid, os.WEXITED | os.WNOWAIT)
    owner = f"{leases._system()}/{child.pid}/{_start_time(child.pid)}"
    alive = is_alive(owner, in_file=False)
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


def cancel_after_commit(ctx, patch, *, once):
    """Let each write be cancelled after its commit, or only the next one."""
    write = ctx.database.write

    async def commit_and_cancel(*args, **options):
        await write(*args, **options)
        if once:
            patch.undo()
        raise asyncio.CancelledError

    patch.setattr(ctx.database, "write", commit_and_cancel)


async def test_lease_acquired_by_a_cancelled_task_is_taken_over(tmp_path, monkeypatch):
    """Nobody could post to the account for five minutes."""
    async with open_desk_at(tmp_path) as desk:
        account_id, ctx = await connect_account(desk), desk._context
        with monkeypatch.context() as patch:
            cancel_after_commit(ctx, patch, once=False)
            with pytest.raises(asyncio.CancelledError):
                async with account_lease(ctx, account_id):
                    pass
        async with account_lease(ctx, account_id) as lease:
            assert lease is not None


async def test_lease_that_is_committed_after_cancellation_is_released(tmp_path, monkeypatch):
    """The daemon posted nothing to the account for five minutes: the service, which had checked it, was alive."""
    async with open_desk_at(tmp_path) as desk:
        account_id, ctx = await connect_account(desk), desk._context
        cancel_after_commit(ctx, monkeypatch, once=True)
        with pytest.raises(asyncio.CancelledError):
            async with account_lease(ctx, account_id):
                pass
    assert query_db(tmp_path, "SELECT owner FROM account") == [(None,)]


@pytest.mark.parametrize(("clock_ahead", "is_taken_over"), [(0.5, False), (86_400, True)])
async def test_account_of_a_machine_whose_clock_is_ahead(tmp_path, clock_ahead, is_taken_over):
    """While it was ahead by half a second, the account was taken from it in the middle of a post."""
    elsewhere, watch = Watch(), Watch()
    elsewhere.advance(clock_ahead)
    async with open_desk_at(tmp_path, clock=watch) as desk:
        account_id, ctx = await connect_account(desk), desk._context
        lease_until = elsewhere() + leases.ACCOUNT_LEASE_DURATION
        lease = AccountLease(owner="elsewhere/1/1", claim_id="a", lease_until=lease_until)
        assert await ctx.write(accounts.acquire_lease, account_id, lease, watch(), abandoned_claim_id=None)
        async with account_lease(ctx, account_id) as taken:
            assert (taken is not None) == is_taken_over
