"""Generate texts in the background: waiting texts are claimed, written and stored, each by one process at a time.

Nothing is lost by a kill: texts claimed by a process that died are taken over by the next one that polls.
"""

import asyncio
from collections.abc import AsyncIterator, Sequence
from contextlib import asynccontextmanager, suppress
from datetime import timedelta
from typing import TYPE_CHECKING

from copydesk.desk.context import DeskContext
from copydesk.desk.leases import current_owner, is_lease_held
from copydesk.desk.operation import operation
from copydesk.errors import StoreError
from copydesk.model.serialization import Struct
from copydesk.store import generation
from copydesk.store.generation import GenerationClaim, PendingGeneration
from copydesk.store.ids import new_id
from copydesk.store.raw_sql import chunked

if TYPE_CHECKING:
    from copydesk.drafting.check_context import TrigramCache

LEASE_MARGIN = timedelta(seconds=60)
"""The time by which a claim outlasts the work it covers."""
MAX_LEASE = timedelta(hours=12)
"""The longest claim: ten texts, each of which takes the longest time that can be set."""
POLL_INTERVAL = 0.2
"""Seconds between polls for texts that another process is writing."""


class GenerationJob(Struct, frozen=True):
    """The texts of one item, written by one process so that their page is fetched once."""

    claim: GenerationClaim
    texts: tuple[PendingGeneration, ...]


class Generation:
    """The writer of requested texts."""

    def __init__(self, ctx: DeskContext) -> None:
        self._ctx = ctx
        # For all callers of this process: two requests at a time must not double the load on a local model.
        self._slots = asyncio.Semaphore(ctx.settings.generation.at_once)

    @operation
    async def drain(self, draft_ids: Sequence[str] | None = None) -> list[bool]:
        """Write every waiting text that no live process holds, or only those of `draft_ids`.

        Return for each text that came to an end whether it was written; a failed draft has the reason. Raise
        StoreError; texts started by then are written again by the next call, or by another process.
        """
        if draft_ids is None:
            return await self._run_workers(None)
        # Every claim scans all texts it may take: chunks keep that from growing quadratically.
        return [written for chunk in chunked(draft_ids) for written in await self._run_workers(chunk)]

    @operation
    def partial_text(self, draft_id: str) -> str:
        """Return the text of a draft as far as it has arrived, empty unless this process is writing it."""
        return self._ctx.partial_texts.get(draft_id, "")

    @operation
    async def finish(self, draft_ids: Sequence[str]) -> None:
        """Write these texts, and wait for those that another process is writing."""
        await self.drain(draft_ids)
        # Poll only for what is left: after the first pass that is usually little.
        while unfinished := [text.draft_id for text in await self._ctx.read(generation.list_pending, draft_ids)]:
            draft_ids = unfinished
            await asyncio.sleep(POLL_INTERVAL)
            await self.drain(draft_ids)

    async def _run_workers(self, draft_ids: Sequence[str] | None) -> list[bool]:
        cache: TrigramCache = {}
        try:
            async with asyncio.TaskGroup() as group:
                slots = range(self._ctx.settings.generation.at_once)
                workers = [group.create_task(self._run_worker(draft_ids, cache)) for _ in slots]
        except ExceptionGroup as group_error:
            # Callers expect a plain StoreError; the first one is as good as all.
            raise group_error.exceptions[0] from group_error
        return [written for worker in workers for written in worker.result()]

    async def _run_worker(self, draft_ids: Sequence[str] | None, cache: "TrigramCache") -> list[bool]:
        completed: list[bool] = []
        while True:
            async with self._slots:
                job = await self._claim_next(draft_ids)
                if job is None:
                    return completed
                completed += await self._run_job(job, cache)

    async def _claim_next(self, draft_ids: Sequence[str] | None) -> GenerationJob | None:
        """Claim the texts of the first free item, or return None if there is none."""
        waiting = await self._ctx.read(generation.list_pending, draft_ids)
        # All texts of an item in one claim: its page is fetched once, and its formats know the same text.
        by_item: dict[str, list[PendingGeneration]] = {}
        for text in filter(self._is_claimable, waiting):
            by_item.setdefault(text.item_id, []).append(text)
        for texts in by_item.values():
            claim = self._new_claim(len(texts))
            async with self._released_on_error(claim):
                # If cancelled here, the claim may be committed all the same.
                claimed = await self._ctx.write(generation.claim_pending, texts, claim)
            if claimed:
                return GenerationJob(claim=claim, texts=claimed)
        return None

    def _new_claim(self, text_count: int) -> GenerationClaim:
        now = self._ctx.clock()
        # One more than the texts, for fetching the page. The lease must outlast the work, or two processes write the
        # same.
        max_duration = timedelta(seconds=self._ctx.settings.generation.deadline * (1 + text_count))
        lease = min(max_duration + LEASE_MARGIN, MAX_LEASE)
        return GenerationClaim(id=new_id(now), owner=current_owner(), lease_until=now + lease)

    def _is_claimable(self, text: PendingGeneration) -> bool:
        """Return True if nobody works on the text: its owner is dead, or its lease has expired."""
        return not is_lease_held(self._ctx, text.owner, text.lease_until, MAX_LEASE)

    async def _run_job(self, job: GenerationJob, cache: "TrigramCache") -> list[bool]:
        from copydesk.desk.generation.worker import write_texts  # noqa: PLC0415 - brings in the writers

        async with self._released_on_error(job.claim):
            return await write_texts(self._ctx, job.texts, job.claim.id, cache)

    @asynccontextmanager
    async def _released_on_error(self, claim: GenerationClaim) -> AsyncIterator[None]:
        """Release the claim on failure: this process is alive, so nobody else would take it over."""
        try:
            yield
        except BaseException:
            with suppress(StoreError):  # the lease expires by itself
                await self._ctx.write(generation.release_claim, claim.id)
            raise
