"""Open the desk: its database, its user and every operation on them."""

import logging
import os
from collections.abc import AsyncIterator, Mapping
from contextlib import asynccontextmanager, suppress
from functools import cached_property
from pathlib import Path
from typing import TYPE_CHECKING
from zoneinfo import ZoneInfo, ZoneInfoNotFoundError

from copydesk.desk.clock_guard import ClockGuard
from copydesk.desk.context import Clock, DeskContext, utc_now
from copydesk.desk.drafts.review import Review
from copydesk.desk.drafts.service import Drafts
from copydesk.desk.pipeline.service import Pipeline
from copydesk.desk.voice import Voices
from copydesk.errors import StoreError
from copydesk.model.validation import parse_line
from copydesk.settings import Settings
from copydesk.store import deliveries, users
from copydesk.store.connection_pool import shield_to_completion
from copydesk.store.database import Database, open_database
from copydesk.store.database_file import lock_shared
from copydesk.store.migrate import prepare_database
from copydesk.store.users import User

if TYPE_CHECKING:
    import httpx

    from copydesk.credentials.vault import AskPassphrase
    from copydesk.desk.accounts.service import Accounts
    from copydesk.desk.backups import Backups
    from copydesk.desk.engagement import Engagements
    from copydesk.desk.experiments import Experiments
    from copydesk.desk.generation.service import Generation
    from copydesk.desk.ids import Ids
    from copydesk.desk.job_leases import JobLeases
    from copydesk.desk.publishing.service import Posting
    from copydesk.desk.retention import Retention
    from copydesk.desk.schedule import Schedule
    from copydesk.desk.sources.service import Sources
    from copydesk.desk.stories import Stories
    from copydesk.posting.platform import Platform

__all__ = ["Desk", "open_desk"]

MAX_USER_NAME_LENGTH = 100

# Without a handler Python prints warnings to stderr, which is the console's screen. Applications add their own
# handlers.
for quiet in ("copydesk", "sqlalchemy"):
    logging.getLogger(quiet).addHandler(logging.NullHandler())


class Desk:
    """Every operation of Copydesk for one user.

    The resources that need httpx or the ingest, drafting and posting packages are imported on first access, so that the
    console can paint its first rows without them.
    """

    def __init__(self, context: DeskContext) -> None:
        self._context = context
        self._clock_guard = ClockGuard(context)
        self._review = Review(context)
        self.drafts = Drafts(context, self._review, lambda: self.posting)
        """Drafts: create, review, undo, list, search."""
        self.pipeline = Pipeline(context)
        """Runs from sources to drafts."""
        self.voice = Voices(context)
        """The voice profile."""

    @cached_property
    def sources(self) -> "Sources":
        """Sources, test fetches, lists of feeds."""
        from copydesk.desk.sources.service import Sources  # noqa: PLC0415

        return Sources(self._context)

    @cached_property
    def stories(self) -> "Stories":
        """The items that tell one event: merge, split."""
        from copydesk.desk.stories import Stories  # noqa: PLC0415

        return Stories(self._context)

    @cached_property
    def engagement(self) -> "Engagements":
        """Metrics of posts and their summaries."""
        from copydesk.desk.engagement import Engagements  # noqa: PLC0415

        return Engagements(self._context)

    @cached_property
    def generation(self) -> "Generation":
        """Drafts that wait to be written."""
        from copydesk.desk.generation.service import Generation  # noqa: PLC0415

        return Generation(self._context)

    @cached_property
    def schedule(self) -> "Schedule":
        """Slots, the time zone, conflicts, the automatic schedule."""
        from copydesk.desk.schedule import Schedule  # noqa: PLC0415

        return Schedule(self._context, self._review, self._clock_guard)

    @cached_property
    def posting(self) -> "Posting":
        """Posting, deliveries, previews, prices."""
        from copydesk.desk.publishing.service import Posting  # noqa: PLC0415

        return Posting(self._context, self._clock_guard)

    @cached_property
    def accounts(self) -> "Accounts":
        """Accounts that posts go to."""
        from copydesk.desk.accounts.service import Accounts  # noqa: PLC0415

        return Accounts(self._context)

    @cached_property
    def job_leases(self) -> "JobLeases":
        """Leases of the background jobs, and what is due."""
        from copydesk.desk.job_leases import JobLeases  # noqa: PLC0415

        return JobLeases(self._context)

    @cached_property
    def retention(self) -> "Retention":
        """Deletion of old data."""
        from copydesk.desk.retention import Retention  # noqa: PLC0415

        return Retention(self._context)

    @cached_property
    def backups(self) -> "Backups":
        """Backups of the database."""
        from copydesk.desk.backups import Backups  # noqa: PLC0415

        return Backups(self._context)

    @cached_property
    def experiments(self) -> "Experiments":
        """Experiments and their results."""
        from copydesk.desk.experiments import Experiments  # noqa: PLC0415

        return Experiments(self._context)

    @cached_property
    def ids(self) -> "Ids":
        """Ids by their ends, and short ids for lists."""
        from copydesk.desk.ids import Ids  # noqa: PLC0415

        return Ids(self._context)

    async def close(self) -> None:
        """Cancel runs, wait for requests in flight (interrupting one would leave its outcome unknown), and refuse
        every operation from then on.
        """
        if self._context.is_closed:
            return
        await self.pipeline.stop()
        if "posting" in self.__dict__:
            await self.posting.drain()
        with suppress(StoreError):  # the next start recovers runs that are still open
            await self.pipeline.save_pending_results()
        self._context.is_closed = True
        await self._context.platforms.close()

    async def change_counter(self) -> int:
        """Return a number that differs after every change to the database, whichever process made it."""
        self._context.check_open()
        return await self._context.database.change_counter()

    async def count_needing_user(self) -> int:
        """Return the number of deliveries that `posting.list_needing_user` lists; cheap enough for every change."""
        return await self._context.read(deliveries.count_needing_user)

    async def release_memory(self) -> bool:
        """Release cached memory while the desk is idle; return True if there was any to release."""
        self._context.check_open()
        return await self._context.database.close_idle()

    @property
    def settings(self) -> Settings:
        """The settings it was opened with."""
        return self._context.settings

    @property
    def user(self) -> User:
        """The user whose desk this is."""
        return self._context.user

    @property
    def clock(self) -> Clock:
        """Returns the current time, in UTC."""
        return self._context.clock

    def set_interactive(self, ask_passphrase: "AskPassphrase") -> None:
        """Tell the desk that a user works at it in this process, and can be asked for the passphrase of the vault.

        Background work then yields to the handling of keys.
        """
        self._context.is_interactive = True
        self._context.ask_passphrase = ask_passphrase


@asynccontextmanager
async def open_desk(
    settings: Settings,
    *,
    user: str | None = None,
    clock: Clock = utc_now,
    transport: "httpx.AsyncBaseTransport | None" = None,
    platforms: "Mapping[str, Platform] | None" = None,
    ask_passphrase: "AskPassphrase | None" = None,
) -> AsyncIterator[Desk]:
    """Open the desk that `settings` name, create or migrate its database, and close it on exit.

    `user` chooses by name whose sources, drafts and accounts are read and written; a new name gets an empty desk. By
    default it is the owner, as on the command line and in the console. Nobody sees what belongs to somebody else.

    `transport` replaces the network and `platforms` (by name) the real platforms, both for the sample desk and tests.
    `ask_passphrase` prompts for the passphrase of the credentials file. Raise StoreError if the database cannot be
    used, InvalidError if `user` is no name.
    """
    engines = open_database(settings.database_file, busy_timeout=settings.database.busy_timeout)
    # Before any connection: a restore must not exchange the file below one.
    lock = await lock_shared(engines.path.parent, settings.database.busy_timeout)
    try:
        await prepare_database(settings.database_file, engines, clock())
        account = await _load_user(engines, user, clock)
        desk = Desk(
            DeskContext(
                settings,
                engines,
                account,
                clock=clock,
                transport=transport,
                platforms=platforms,
                ask_passphrase=ask_passphrase,
            )
        )
        # Mark runs whose process died as interrupted, or the queue would wait for them.
        if not engines.read_only:
            await desk.pipeline.recover()
        try:
            yield desk
        finally:
            await desk.close()
    finally:
        # Close even if this task is cancelled: an open SQLite connection keeps its thread and its WAL file.
        try:
            await shield_to_completion(engines.close())
        finally:
            os.close(lock)


async def _load_user(database: Database, name: str | None, clock: Clock) -> User:
    """Return the user with that name, or the owner, created if missing."""
    if name is not None:
        name = parse_line("user", name, 1, MAX_USER_NAME_LENGTH)
    # Reading first: a write would wait for another process that holds the lock.
    found = await (database.read(users.get_owner) if name is None else database.read(users.get_by_name, name))
    if found is not None:
        return found
    return await database.write(users.get_or_create, name or users.OWNER_NAME, clock(), local_zone())


_MACHINE_ZONES = frozenset({"localtime", "posixrules"})
"""Names in the zone database whose meaning differs from machine to machine."""


def local_zone() -> str:
    """Return the IANA name of the machine's time zone: from TZ, /etc/timezone or /etc/localtime, else `UTC`."""
    # Debian has /etc/timezone; elsewhere /etc/localtime links into the zone database.
    candidates = [os.environ.get("TZ", "").lstrip(":"), _read_text("/etc/timezone"), _zone_of_link("/etc/localtime")]
    return next((name for name in candidates if _is_valid_zone(name)), "UTC")


def _is_valid_zone(name: str) -> bool:
    # Looked up by name: `available_timezones` reads the whole zone database, which takes longer than opening the desk.
    if not name or name in _MACHINE_ZONES or name.startswith(("posix/", "right/")):
        return False
    try:
        ZoneInfo(name)
    except (ValueError, OSError, ZoneInfoNotFoundError):
        return False
    return True


def _read_text(path: str) -> str:
    try:
        return Path(path).read_text(encoding="utf-8").strip()
    except (OSError, UnicodeDecodeError):
        return ""


def _zone_of_link(path: str) -> str:
    target = os.path.realpath(path)
    return target.partition("/zoneinfo/")[2]
