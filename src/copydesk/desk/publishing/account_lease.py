"""The account lease: one worker at a time, in any process, talks to a server as one account.

It keeps an account's posts in order, and token refresh safe: some refresh tokens work once, and using one twice revokes
every token of the account.
"""

import asyncio
from collections.abc import AsyncIterator
from contextlib import asynccontextmanager, suppress
from datetime import timedelta

from copydesk.desk.context import DeskContext
from copydesk.desk.process import current_owner, is_lease_abandoned
from copydesk.errors import StoreError
from copydesk.store import accounts
from copydesk.store.accounts import AccountLease
from copydesk.store.ids import new_id

LEASE_DURATION = timedelta(minutes=5)
"""An owner whose process cannot be inspected counts as dead this long after its last sign of life."""


@asynccontextmanager
async def account_lease(ctx: DeskContext, account_id: str) -> AsyncIterator[str | None]:
    """Hold the account's lease for the block; yield its id, or None if a live worker has it or the account is gone."""
    lease_id = await _acquire(ctx, account_id)
    try:
        yield lease_id
    finally:
        if lease_id is not None:
            # If releasing fails, the lease expires, or is taken over once this process has ended.
            with suppress(StoreError):
                await asyncio.shield(ctx.write(accounts.release_lease, account_id, lease_id))


async def _acquire(ctx: DeskContext, account_id: str) -> str | None:
    """Try to acquire the lease; return its id or None."""
    now = ctx.clock()
    current = await ctx.read(accounts.get_lease, account_id)
    if current is None:
        return None
    # Compare-and-set on the abandoned lease: of two workers that see it, one gets it.
    abandoned_id = (
        current.claim_id if is_lease_abandoned(current.owner, current.lease_until, now, LEASE_DURATION) else None
    )
    lease_id = new_id(now)
    lease = AccountLease(owner=current_owner(), claim_id=lease_id, lease_until=now + LEASE_DURATION)
    acquired = await ctx.write(accounts.acquire_lease, account_id, lease, now, abandoned_claim_id=abandoned_id)
    return lease_id if acquired else None
