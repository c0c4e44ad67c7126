"""Texts that are written in the background: what waits is claimed, written, and kept, by one process at a time.

Nothing is lost by a kill: what was claimed by a process that died is taken over by the next one that looks.
"""

import asyncio
from collections.abc import AsyncIterator, Sequence
from contextlib import asynccontextmanager, suppress
from datetime import timedelta
from typing import TYPE_CHECKING

from copydesk.desk.ground import Ground
from copydesk.desk.process import is_alive, me
from copydesk.errors import StoreError
from copydesk.model.wire import Struct
from copydesk.store import generation
from copydesk.store.generation import Claim, Waiting
from copydesk.store.ids import new_id
from copydesk.store.parts import in_parts

if TYPE_CHECKING:
    from copydesk.drafting.subject import Known

MARGIN = timedelta(seconds=60)
"""What a claim lasts longer than its work may."""
LOOK = 0.2
"""Seconds between two looks whether another process is done."""


class Commission(Struct, frozen=True):
    """The texts of one item that one process writes: their page is read once."""

    claim: Claim
    texts: tuple[Waiting, ...]


class Generation:
    """What writes the texts that were asked for."""

    def __init__(self, ground: Ground) -> None:
        self._ground = ground
        self._slots = asyncio.Semaphore(ground.settings.generation.at_once)

    async def work_off(self, draft_ids: Sequence[str] | None = None) -> int:
        """Write every text that waits and that nobody else is at, or those of `draft_ids`.

        How many came to an end, well or not: why not is said by the draft. Raises StoreError; what was begun then is
        done again by the next call, or by another process.
        """
        if draft_ids is None:
            return await self._side_by_side(None)
        # Each claim looks at all that may be claimed: of many at once that would be each for each.
        return sum([await self._side_by_side(some) for some in in_parts(draft_ids)])

    async def finish(self, draft_ids: Sequence[str]) -> None:
        """Write these texts, and wait for those that another process is at."""
        await self.work_off(draft_ids)
        # What was written is not looked for again: it may be nearly all.
        while left := [each.draft_id for each in await self._ground.read(generation.waiting, draft_ids)]:
            draft_ids = left
            await asyncio.sleep(LOOK)
            await self.work_off(draft_ids)

    async def _side_by_side(self, draft_ids: Sequence[str] | None) -> int:
        known: Known = {}
        try:
            async with asyncio.TaskGroup() as group:
                each = range(self._ground.settings.generation.at_once)
                workers = [group.create_task(self._until_none_is_left(draft_ids, known)) for _ in each]
        except ExceptionGroup as failed:
            # The first one says it all.
            raise failed.exceptions[0] from failed
        return sum(worker.result() for worker in workers)

    async def _until_none_is_left(self, draft_ids: Sequence[str] | None, known: "Known") -> int:
        ended = 0
        while True:
            async with self._slots:
                commission = await self._claim(draft_ids)
                if commission is None:
                    return ended
                ended += await self._carry_out(commission, known)

    async def _claim(self, draft_ids: Sequence[str] | None) -> Commission | None:
        """The texts of the first item that can be had; None where there are none."""
        waiting = await self._ground.read(generation.waiting, draft_ids)
        by_item: dict[str, list[Waiting]] = {}
        for text in filter(self._is_free, waiting):
            by_item.setdefault(text.item_id, []).append(text)
        for texts in by_item.values():
            claim = self._new_claim(len(texts))
            async with self._freed_on_error(claim):
                # Cancelled here it may be written all the same.
                got = await self._ground.write(generation.claim, texts, claim)
            if got:
                return Commission(claim=claim, texts=got)
        return None

    def _new_claim(self, texts: int) -> Claim:
        now = self._ground.clock()
        longest = timedelta(seconds=self._ground.settings.generation.deadline * (1 + texts))
        return Claim(id=new_id(now), owner=me(), lease_until=now + longest + MARGIN)

    def _is_free(self, text: Waiting) -> bool:
        """Whether nobody is at it: its process is dead, or has had all the time that there is."""
        if text.owner is None or text.lease_until is None:
            return True
        return is_alive(text.owner) is False or text.lease_until < self._ground.clock()

    async def _carry_out(self, commission: Commission, known: "Known") -> int:
        from copydesk.desk.composing import compose  # noqa: PLC0415 - the crafts are for those who write

        async with self._freed_on_error(commission.claim):
            return await compose(self._ground, commission, known)

    @asynccontextmanager
    async def _freed_on_error(self, claim: Claim) -> AsyncIterator[None]:
        """Free what is claimed where this is broken off: this process lives, and nobody would take it over."""
        try:
            yield
        except BaseException:
            with suppress(StoreError):  # the lease ends by itself
                await self._ground.write(generation.release, claim.id)
            raise
