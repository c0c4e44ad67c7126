"""Events of one user: read them, and wait for the next ones."""

from typing import Annotated

import msgspec

from copydesk.desk.context import DeskContext
from copydesk.desk.operation import operation
from copydesk.model.event import Event, EventRange
from copydesk.model.page import PageSize
from copydesk.store import events

EventId = Annotated[int, msgspec.Meta(ge=0, le=2**63 - 1, description="takes the number of an event")]


class Events:
    """The events of one desk, as long as retention keeps them."""

    def __init__(self, ctx: DeskContext) -> None:
        self._ctx = ctx

    @operation
    async def list(self, after: EventId = 0, limit: PageSize = 100) -> tuple[Event, ...]:
        """Return the events that follow the one with the number `after`, oldest first."""
        return await self._ctx.read(events.list_after, after, limit)

    @operation
    async def wait(self, after: EventId, limit: PageSize = 100) -> tuple[Event, ...]:
        """Return the events as `list` does, and wait until there is one."""
        while not (found := await self.list(after, limit)):
            await self._ctx.shared.event_watcher.wait(self._ctx.user_id, after)
        return found

    @operation
    async def range(self) -> EventRange:
        """Return the numbers of the oldest and the newest event."""
        return await self._ctx.read(events.get_range)
