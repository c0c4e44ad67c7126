"""Leases: the process that holds one, whether it is still alive, and the lease of an account.

Under its lease, one worker at a time, in any process, talks to a server as one account. That keeps an account's posts
in order, and token refresh safe: some refresh tokens work once, and using one twice revokes every token of the account.
"""

import asyncio
import os
import socket
from collections.abc import AsyncIterator
from contextlib import asynccontextmanager, suppress
from datetime import datetime, timedelta
from functools import cache
from pathlib import Path

from copydesk.desk.clock_guard import read_boot_id
from copydesk.desk.context import DeskContext
from copydesk.errors import StoreError
from copydesk.store import accounts
from copydesk.store.accounts import AccountLease
from copydesk.store.ids import new_id

ACCOUNT_LEASE_DURATION = timedelta(minutes=5)
"""An owner whose process cannot be inspected counts as dead this long after its last sign of life."""
CLOCK_TOLERANCE = timedelta(minutes=5)
"""A lease that ends later than the longest by up to this much is of a clock that is ahead, and holds until then."""


def current_owner() -> str:
    """Return the id of this process as stored in leases: `system/pid/start time`."""
    return f"{_system()}/{os.getpid()}/{_start_time(os.getpid())}"


def is_alive(owner: str, *, in_file: bool) -> bool | None:
    """Return True if the process is alive; None if that cannot be determined: on another system or without /proc.

    With `in_file` the lease is stored in a file, which processes of two boots cannot have open at the same time.
    The start time is compared because a pid may have been reused.
    """
    system, _, process = owner.partition("/")
    pid, _, started = process.partition("/")
    # Versions before stored the name of the host alone.
    if system not in {_system(), socket.gethostname()}:
        return False if in_file and _has_rebooted(system) else None
    if not pid.isdigit():
        return None
    try:
        os.kill(int(pid), 0)
    except ProcessLookupError:
        return False
    except PermissionError:
        pass
    except OSError:
        return None
    current_start = _start_time(int(pid))
    if not current_start or not started:
        return None
    # A zombie still has a pid, but it has ended.
    return _read_stat(int(pid))[:1] != ["Z"] and started == current_start


def is_holder_dead(ctx: DeskContext, owner: str | None, lease_until: datetime | None, max_lease: timedelta) -> bool:
    """Return True if the lease's holder is dead: by its process or, if that cannot be checked, by the lease.

    `max_lease` is the duration of the longest lease that is ever requested.
    """
    alive = is_alive(owner, in_file=not ctx.settings.database.url) if owner else None
    if alive is not None:
        return not alive
    now = ctx.clock()
    # A lease longer than any is of a clock that was ahead. Waiting for its end could take days.
    return lease_until is None or not now <= lease_until <= now + max_lease + CLOCK_TOLERANCE


def is_lease_held(ctx: DeskContext, owner: str | None, lease_until: datetime | None, max_lease: timedelta) -> bool:
    """Return True until the lease expires or its holder dies; `max_lease` as for `is_holder_dead`."""
    is_current = owner is not None and lease_until is not None and lease_until >= ctx.clock()
    return is_current and not is_holder_dead(ctx, owner, lease_until, max_lease)


def _system() -> str:
    """Return the id of the running system, in which a pid means one process: `host@pid namespace@boot`.

    Machines may have the same name, and a container may have that of its host.
    """
    return f"{socket.gethostname()}@{_namespace_and_boot()}"


@cache
def _namespace_and_boot() -> str:
    """Return what cannot change while this process runs; empty parts without /proc."""
    namespace = ""
    with suppress(OSError):
        namespace = str(Path("/proc/self/ns/pid").stat().st_ino)
    return f"{namespace}@{read_boot_id()}"


def _has_rebooted(system: str) -> bool:
    """Return True if `system` differs from this one in the boot only.

    The namespace has to be the same, because some containers are given a boot id of their own.
    """
    (place, _, boot), (own_place, _, own_boot) = system.rpartition("@"), _system().rpartition("@")
    return place == own_place and boot not in {"", own_boot} and own_boot != ""


def _start_time(pid: int) -> str:
    """Return the start time of the process in clock ticks since boot; empty without /proc."""
    return "".join(_read_stat(pid)[19:20])


def _read_stat(pid: int) -> list[str]:
    """Return the fields of /proc/PID/stat from the state on (proc_pid_stat(5)); empty without /proc."""
    with suppress(OSError):
        # The process name in parentheses may itself contain spaces and parentheses, so split after the last one.
        return Path(f"/proc/{pid}/stat").read_text(encoding="utf-8", errors="replace").rpartition(")")[2].split()
    return []


@asynccontextmanager
async def account_lease(ctx: DeskContext, account_id: str, *, wait: bool = False) -> AsyncIterator[str | None]:
    """Hold the account's lease for the block; yield its id, or None if a live worker has it or the account is gone.

    With `wait`, wait for a worker of this process: a post that is due must not be left for the next tick because the
    metrics of earlier ones are being read.
    """
    lock = ctx.shared.account_locks[account_id]
    if lock.locked() and not wait:
        yield None
        return
    async with lock:
        lease_id = await _acquire(ctx, account_id)
        try:
            yield lease_id
        finally:
            if lease_id is not None:
                await _release(ctx, account_id, lease_id)


async def _release(ctx: DeskContext, account_id: str, lease_id: str) -> None:
    # Until that is done, this process takes it over. Others have to wait until it expires, or this process has ended.
    ctx.shared.unreleased_leases.add(lease_id)
    with suppress(StoreError):
        await asyncio.shield(ctx.write(accounts.release_lease, account_id, lease_id))
        ctx.shared.unreleased_leases.discard(lease_id)


async def _acquire(ctx: DeskContext, account_id: str) -> str | None:
    """Try to acquire the lease; return its id or None."""
    current = await ctx.read(accounts.get_lease, account_id)
    if current is None:
        return None
    is_dead = is_holder_dead(ctx, current.owner, current.lease_until, ACCOUNT_LEASE_DURATION)
    now = ctx.clock()
    # One that has just expired is left to the write: its holder may renew it first.
    is_current = current.lease_until is not None and current.lease_until >= now
    is_abandoned = current.claim_id in ctx.shared.unreleased_leases or (is_dead and is_current)
    # Compare-and-set on the abandoned lease: of two workers that see it, one gets it.
    abandoned_id = current.claim_id if is_abandoned else None
    lease_id = new_id(now)
    lease = AccountLease(owner=current_owner(), claim_id=lease_id, lease_until=now + ACCOUNT_LEASE_DURATION)
    try:
        acquired = await ctx.write(accounts.acquire_lease, account_id, lease, now, abandoned_claim_id=abandoned_id)
    except StoreError:
        # It may have been committed all the same.
        ctx.shared.unreleased_leases.add(lease_id)
        raise
    except asyncio.CancelledError:
        await _release(ctx, account_id, lease_id)
        raise
    if acquired and current.claim_id is not None:
        ctx.shared.unreleased_leases.discard(current.claim_id)
    return lease_id if acquired else None
