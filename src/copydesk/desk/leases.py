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
from pathlib import Path

from copydesk.desk.context import DeskContext
from copydesk.errors import StoreError
from copydesk.store import accounts
from copydesk.store.accounts import AccountLease
from copydesk.store.ids import new_id

ACCOUNT_LEASE_DURATION = timedelta(minutes=5)
"""An owner whose process cannot be inspected counts as dead this long after its last sign of life."""


def current_owner() -> str:
    """Return the id of this process as stored in leases: `host/pid/start time`."""
    return f"{socket.gethostname()}/{os.getpid()}/{_start_time(os.getpid())}"


def is_alive(owner: str) -> bool | None:
    """Return True if the process is alive; None if that cannot be determined, on another host or without /proc.

    The start time is compared because a pid may have been reused.
    """
    host, _, rest = owner.partition("/")
    pid, _, started = rest.partition("/")
    if host != socket.gethostname() or not pid.isdigit():
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


def is_lease_abandoned(owner: str | None, lease_until: datetime | None, now: datetime, max_lease: timedelta) -> bool:
    """Return True if the lease's holder is dead, or the lease cannot be trusted.

    `max_lease` is the duration of the longest lease that is ever requested.
    """
    alive = is_alive(owner) if owner else None
    # A lease this long is never requested, so the clock was ahead when it was written.
    from_future = lease_until is not None and lease_until > now + max_lease
    return alive is False or (alive is None and from_future)


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
                try:
                    await asyncio.shield(ctx.write(accounts.release_lease, account_id, lease_id))
                except StoreError:
                    # This process takes it over. Others have to wait until it expires, or this process has ended.
                    ctx.shared.unreleased_leases.add(lease_id)


async def _acquire(ctx: DeskContext, account_id: str) -> str | None:
    """Try to acquire the lease; return its id or None."""
    now = ctx.clock()
    current = await ctx.read(accounts.get_lease, account_id)
    if current is None:
        return None
    # Compare-and-set on the abandoned lease: of two workers that see it, one gets it.
    is_abandoned = current.claim_id in ctx.shared.unreleased_leases or is_lease_abandoned(
        current.owner, current.lease_until, now, ACCOUNT_LEASE_DURATION
    )
    abandoned_id = current.claim_id if is_abandoned else None
    lease_id = new_id(now)
    lease = AccountLease(owner=current_owner(), claim_id=lease_id, lease_until=now + ACCOUNT_LEASE_DURATION)
    try:
        acquired = await ctx.write(accounts.acquire_lease, account_id, lease, now, abandoned_claim_id=abandoned_id)
    except (StoreError, asyncio.CancelledError):
        # It may have been committed all the same.
        ctx.shared.unreleased_leases.add(lease_id)
        raise
    if acquired and current.claim_id is not None:
        ctx.shared.unreleased_leases.discard(current.claim_id)
    return lease_id if acquired else None
