"""The account lease: one worker at a time, in any process, talks to a server as one account.

It keeps an account's posts in order, and token refresh safe: some refresh tokens work once, and using one twice revokes
every token of the account.
"""

import asyncio
from collections.abc import AsyncIterator
from contextlib import asynccontextmanager, suppress
from datetime import timedelta

from copydesk.desk.ground import Ground
from copydesk.desk.process import is_gone, me
from copydesk.errors import StoreError
from copydesk.store import accounts
from copydesk.store.accounts import Sending
from copydesk.store.ids import new_id

LEASE = timedelta(minutes=5)
"""An owner whose process cannot be inspected counts as dead this long after its last sign of life."""


@asynccontextmanager
async def claimed(ground: Ground, account_id: str) -> AsyncIterator[str | None]:
    """Hold the account's lease for the block; yield its id, or None if a live worker has it or the account is gone."""
    lease_id = await _acquire(ground, account_id)
    try:
        yield lease_id
    finally:
        if lease_id is not None:
            # If releasing fails, the lease expires, or is taken over once this process has ended.
            with suppress(StoreError):
                await asyncio.shield(ground.write(accounts.release, account_id, lease_id))


async def _acquire(ctx: Ground, account_id: str) -> str | None:
    """Try to acquire the lease; return its id or None."""
    now = ctx.clock()
    current = await ctx.read(accounts.sending, account_id)
    if current is None:
        return None
    # Compare-and-set on the abandoned lease: of two workers that see it, one gets it.
    abandoned_id = current.claim_id if is_gone(current.owner, current.lease_until, now, LEASE) else None
    lease_id = new_id(now)
    lease = Sending(owner=me(), claim_id=lease_id, lease_until=now + LEASE)
    acquired = await ctx.write(accounts.claim, account_id, lease, now, instead_of=abandoned_id)
    return lease_id if acquired else None
