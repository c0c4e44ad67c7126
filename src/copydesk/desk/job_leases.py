"""Leases of background jobs: each job runs in one process at a time."""

import asyncio
from collections.abc import Sequence
from contextlib import suppress
from datetime import timedelta

from msgspec.structs import replace

from copydesk.desk.confidence import REFRESH_EVERY
from copydesk.desk.context import DeskContext
from copydesk.desk.leases import current_owner, is_lease_held
from copydesk.desk.operation import operation
from copydesk.desk.publishing.grace import missed_cutoffs
from copydesk.errors import StoreError
from copydesk.model.job import DueWork, JobLease, JobName, JobState
from copydesk.store import jobs
from copydesk.store.connection_pool import shield_to_completion
from copydesk.store.ids import new_id
from copydesk.text import clean
from copydesk.text.redaction import describe_error

LEASE_DURATION = timedelta(seconds=60)
"""Time after its last heartbeat at which a process counts as dead, if it cannot be checked: on another host, or
without /proc.
"""
MAX_ERROR_LENGTH = 500


class JobLeases:
    """Background jobs of one desk. What is due and which process runs it are both stored in the database."""

    def __init__(self, ctx: DeskContext) -> None:
        self._ctx = ctx

    @operation
    async def due_work(self, *, settled: bool = False) -> DueWork:
        """Return what is due now and when the next draft is. One read, cheap enough for every tick.

        With `settled` after the changes that are being made to this desk: whoever makes one relies on this poll.
        """
        now = self._ctx.clock()
        cutoffs = missed_cutoffs(self._ctx.settings.schedule, now)
        # The turn of a write comes when those before it have been committed.
        load = self._ctx.write_unguarded if settled else self._ctx.read
        due_work = await load(jobs.load_due_work, now, cutoffs, REFRESH_EVERY)
        return replace(due_work, running=frozenset(state.name for state in due_work.jobs if self._is_held(state)))

    @operation
    async def states(self) -> tuple[JobState, ...]:
        """Return the state of every job that ever ran: its owner, when it last ended, and its last error."""
        return await self._ctx.read(jobs.list_states)

    @operation
    async def acquire(self, name: JobName, states: Sequence[JobState]) -> JobLease | None:
        """Acquire the lease of a job; return None if a live process holds it, or began it since `states` were read."""
        state = next((state for state in states if state.name == name), None)
        if state is not None and self._is_held(state):
            return None
        now = self._ctx.clock()
        lease = JobLease(id=new_id(now), job=name, owner=current_owner(), lease_until=now + LEASE_DURATION)
        try:
            acquired = await self._ctx.write(
                jobs.acquire_lease,
                lease,
                now,
                last_began_at=state.began_at if state else None,
                # Compare-and-set: of two processes that both found the owner dead, one gets the lease. One that has
                # just expired is left to the write: its owner may renew it first.
                abandoned_owner=state.owner if state and state.lease_until and state.lease_until >= now else None,
                # Its process died, perhaps because of the job, which waits if that happens again.
                repeats_killed=state is not None and state.owner is not None and state.is_unfinished,
            )
        except asyncio.CancelledError:
            # It may be committed all the same, and would look like the lease of a killed process. The writes of a user
            # are run in order.
            with suppress(StoreError):
                await shield_to_completion(self.release(lease, finished=False))
            raise
        return lease if acquired else None

    @operation
    async def renew(self, lease: JobLease) -> bool:
        """Extend the lease; return False if another process has taken it over."""
        return await self._ctx.write(jobs.renew_lease, lease, self._ctx.clock() + LEASE_DURATION)

    @operation
    async def release(self, lease: JobLease, *, finished: bool = True, error: Exception | None = None) -> None:
        """Release the lease. `finished` is False if the job was interrupted; with `error` it ended, but failed."""
        message = clean(describe_error(error))[:MAX_ERROR_LENGTH] if error is not None else None
        await self._ctx.write(jobs.release_lease, lease, self._ctx.clock(), finished=finished, error=message)

    def _is_held(self, state: JobState) -> bool:
        return is_lease_held(self._ctx, state.owner, state.lease_until, LEASE_DURATION)
