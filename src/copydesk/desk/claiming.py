"""The right to speak with an account's server as that account: one at a time, whichever process.

Its posts go out in order by that, and its tokens are renewed by one alone: some are good for one renewal only, and a
second one ends them all.
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
"""For so long somebody is thought to be at an account after the last sign of life, where he cannot be asked."""


@asynccontextmanager
async def claimed(ground: Ground, account_id: str) -> AsyncIterator[str | None]:
    """The claim, until the block ends; None where somebody who lives has it, or there is no such account."""
    claim_id = await _claim(ground, account_id)
    try:
        yield claim_id
    finally:
        if claim_id is not None:
            # What is not let go of is let go of by the lease, or by this process's end.
            with suppress(StoreError):
                await asyncio.shield(ground.write(accounts.release, account_id, claim_id))


async def _claim(ground: Ground, account_id: str) -> str | None:
    now = ground.clock()
    other = await ground.read(accounts.sending, account_id)
    if other is None:
        return None
    gone = other.claim_id if is_gone(other.owner, other.lease_until, now, LEASE) else None
    claim_id = new_id(now)
    mine = Sending(owner=me(), claim_id=claim_id, lease_until=now + LEASE)
    got = await ground.write(accounts.claim, account_id, mine, now, instead_of=gone)
    return claim_id if got else None
