"""Opens the desk: its database, its user, and every operation on them."""

import logging
from collections.abc import AsyncIterator, Mapping
from contextlib import asynccontextmanager, suppress
from functools import cached_property
from typing import TYPE_CHECKING

from copydesk.desk.drafts import Drafts
from copydesk.desk.ground import Clock, Ground, utc_now
from copydesk.desk.pipeline import Pipeline
from copydesk.desk.voice import Voices
from copydesk.desk.zone import local_zone
from copydesk.errors import StoreError
from copydesk.settings import Settings
from copydesk.store import users
from copydesk.store.engine import open_engines
from copydesk.store.lanes import to_the_end
from copydesk.store.migrate import prepare

if TYPE_CHECKING:
    import httpx

    from copydesk.desk.accounts import Accounts
    from copydesk.desk.engagement import Engagements
    from copydesk.desk.experiments import Experiments
    from copydesk.desk.generating import Generation
    from copydesk.desk.posting import Posting
    from copydesk.desk.schedule import Schedule
    from copydesk.desk.sources import Sources
    from copydesk.desk.work import Work
    from copydesk.posting.platform import Platform
    from copydesk.secrets.vault import Ask

__all__ = ["Desk", "open_desk"]

# Whoever wants to see what is logged says so; without this Python would print it on the terminal.
for quiet in ("copydesk", "sqlalchemy"):
    logging.getLogger(quiet).addHandler(logging.NullHandler())


class Desk:
    """Everything that can be done, for one user."""

    def __init__(self, ground: Ground) -> None:
        self.ground = ground
        self.drafts = Drafts(ground)
        self.pipeline = Pipeline(ground)
        self.voice = Voices(ground)

    @cached_property
    def sources(self) -> "Sources":
        """The sources; what it takes to read one is imported with them, and is not for the console's first rows."""
        from copydesk.desk.sources import Sources  # noqa: PLC0415

        return Sources(self.ground)

    @cached_property
    def engagement(self) -> "Engagements":
        """What came back of what was posted; imported when it is asked for, as the sources are."""
        from copydesk.desk.engagement import Engagements  # noqa: PLC0415

        return Engagements(self.ground)

    @cached_property
    def generation(self) -> "Generation":
        """What writes the texts that were asked for; imported when it is asked for, as the sources are."""
        from copydesk.desk.generating import Generation  # noqa: PLC0415

        return Generation(self.ground)

    @cached_property
    def schedule(self) -> "Schedule":
        """When drafts go out; imported when it is asked for, as the sources are."""
        from copydesk.desk.schedule import Schedule  # noqa: PLC0415

        return Schedule(self.ground, self.drafts)

    @cached_property
    def posting(self) -> "Posting":
        """How drafts reach the accounts; imported when it is asked for, as the sources are."""
        from copydesk.desk.posting import Posting  # noqa: PLC0415

        return Posting(self.ground, self.schedule.clock)

    @cached_property
    def accounts(self) -> "Accounts":
        """Where posts go; imported when it is asked for, as the sources are."""
        from copydesk.desk.accounts import Accounts  # noqa: PLC0415

        return Accounts(self.ground)

    async def end_posting(self) -> None:
        """Wait for what is being sent this moment: to break it off would leave its outcome unknown."""
        if "posting" in self.__dict__:
            await self.posting.finish()
        await self.ground.platforms.close()

    @cached_property
    def work(self) -> "Work":
        """What is to be done without being asked, and who does it."""
        from copydesk.desk.work import Work  # noqa: PLC0415

        return Work(self.ground)

    @cached_property
    def experiments(self) -> "Experiments":
        """What the user tries out; imported when it is asked for, as the sources are."""
        from copydesk.desk.experiments import Experiments  # noqa: PLC0415

        return Experiments(self.ground)

    async def changes(self) -> int:
        """A number that is another one after each change of the desk, whichever process made it."""
        return await self.ground.engines.changes()

    async def rest(self) -> bool:
        """Give back memory that is held to be quick, where nobody is waiting; whether there was any."""
        return await self.ground.engines.rest()

    @property
    def settings(self) -> Settings:
        """What the desk was opened with."""
        return self.ground.settings


@asynccontextmanager
async def open_desk(
    settings: Settings,
    *,
    clock: Clock = utc_now,
    transport: "httpx.AsyncBaseTransport | None" = None,
    platforms: "Mapping[str, Platform] | None" = None,
    ask: "Ask | None" = None,
) -> AsyncIterator[Desk]:
    """Open the desk that `settings` name, making or migrating its database; close it at the end.

    `transport` stands in for the network, `platforms` by their names for those that posts go to; `ask` asks for
    the passphrase of the keys to accounts. Raises StoreError where the database cannot be used.
    """
    engines = open_engines(settings.database_file, busy_timeout=settings.database.busy_timeout)
    try:
        await prepare(settings.database_file, engines, clock())
        user = await engines.read(users.owner)
        if user is None:
            user = await engines.write(users.add_owner, clock(), local_zone())
        desk = Desk(Ground(settings, engines, user, clock=clock, transport=transport, platforms=platforms, ask=ask))
        await desk.pipeline.recover()
        try:
            yield desk
        finally:
            await desk.end_posting()
            with suppress(StoreError):  # the next start finds what is left open
                await desk.pipeline.catch_up()
    finally:
        await to_the_end(engines.close())
