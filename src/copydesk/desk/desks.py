"""Open the database: the desk of one user, or the desks of all its users."""

import asyncio
import logging
from collections.abc import AsyncIterator, Mapping
from contextlib import asynccontextmanager
from datetime import timedelta
from typing import TYPE_CHECKING, cast

from copydesk.credentials.log_redaction import redact_secrets
from copydesk.desk.authentication import Authentication, RememberedTokens
from copydesk.desk.context import Clock, DeskContext, FetchQueue, SharedContext, utc_now
from copydesk.desk.desk import Desk
from copydesk.desk.publishing.grace import missed_cutoffs
from copydesk.desk.users import Users, delete_user, local_zone
from copydesk.errors import NotFoundError, SettingsError, StoreBusyError, StoreTooNewError
from copydesk.model.token import Access, hash_secret
from copydesk.model.totals import Totals
from copydesk.model.user import MAX_USER_NAME_LENGTH, User
from copydesk.model.validation import parse_line
from copydesk.settings import Settings
from copydesk.store import jobs, tokens, totals, users
from copydesk.store.database_file import HEAD_REVISION
from copydesk.store.opening import open_prepared

if TYPE_CHECKING:
    import httpx

    from copydesk.credentials.vault import PassphrasePrompt
    from copydesk.drafting.writer import Writer
    from copydesk.posting.platform import Platform
    from copydesk.store.postgresql.database import PostgresDatabase

# Without a handler Python prints warnings to stderr, which is the console's screen. Applications add their own
# handlers.
for quiet in ("copydesk", "sqlalchemy", "psycopg"):
    logging.getLogger(quiet).addHandler(logging.NullHandler())

PREPARE_ATTEMPTS = 20
"""Each waits up to half a second for changes that are under way."""


class Desks:
    """The desks of all users of one database, opened on first use. They share connections, vault and network access."""

    def __init__(self, ctx: SharedContext, owner: User) -> None:
        self._ctx = ctx
        self._owner = owner
        self._desks: dict[str, Desk] = {}
        # A desk is opened once, and not while its user is being removed.
        self._lock = asyncio.Lock()
        self._tokens = RememberedTokens()
        self.users = Users(ctx, self._remove)
        """The users: list, add, remove."""

    @property
    def owner(self) -> User:
        """The first user: the one of the console and the command line on this machine."""
        return self._owner

    async def get(self, user: str | User) -> Desk:
        """Return the desk of a user, given by id. Raise NotFoundError if there is none, or not any more.

        A User is taken for one that was read just now, as by `authenticate`: if their desk is open, nothing is read.
        """
        self._ctx.check_open()
        user_id = user if isinstance(user, str) else user.id
        if isinstance(user, User) and user_id in self._desks:
            return self._desks[user_id]
        found = await self._ctx.database.read(users.get, user_id)
        if found is None:
            # Removed by another process.
            await self._close(user_id)
            raise NotFoundError(f"No user {user_id[:200]!r}.", hint="List all users: `copydesk user list`.")
        async with self._lock:
            return await self._open(found)

    def find_open(self, user_id: str) -> Desk | None:
        """Return the desk of a user if it is open. The user may have been removed since."""
        self._ctx.check_open()
        return self._desks.get(user_id)

    async def authenticate(self, token: str) -> Access | None:
        """Return what an API token allows, and to whom; None if it is unknown, malformed, revoked or expired.

        Reads the database each time, so that a revoked token stops working at once.
        """
        self._ctx.check_open()
        secret_hash = hash_secret(token)
        if secret_hash is None:
            return None
        return await self._ctx.database.read(tokens.find_access, secret_hash, self._ctx.clock())

    async def start_request(self, token: str) -> Authentication | None:
        """Return what an API token allows like `authenticate`, without reading the database if it was used before.

        The caller confirms it, with the first unit of work of the request or by `confirm`, before it responds.
        """
        self._ctx.check_open()
        secret_hash = hash_secret(token)
        if secret_hash is None:
            return None
        remembered = self._tokens.get(secret_hash)
        if remembered is not None:
            return Authentication(remembered, lambda conn: tokens.find_access(conn, secret_hash, self._ctx.clock()))
        access = await self.authenticate(token)
        if access is None:
            return None
        self._tokens.add(secret_hash, access)
        return Authentication(access)

    async def confirm(self, authentication: Authentication) -> None:
        """Confirm what a request started with, if no unit of work did. Raise InvalidTokenError."""
        self._ctx.check_open()
        if not authentication.is_confirmed:
            await self._ctx.database.read(authentication.confirm)

    async def has_tokens(self) -> bool:
        """Return True if any user has a token that is neither revoked nor expired."""
        self._ctx.check_open()
        return await self._ctx.database.read(tokens.exist, self._ctx.clock())

    async def change_counter(self) -> int:
        """Return a number that differs after every change to the database, whichever process made it."""
        self._ctx.check_open()
        return await self._ctx.database.change_counter()

    async def totals(self) -> Totals:
        """Return the numbers of what is in the database, of all users together."""
        self._ctx.check_open()
        return await self._ctx.database.read(totals.load_totals, self._ctx.clock())

    async def prepare_queue(self, version: str, queue: FetchQueue) -> None:
        """Create the queue of workers in the database if there is none, and let `queue` fetch the sources of runs.

        `version` is that of Procrastinate. Raise StoreError if a newer one has migrated the queue, SettingsError if the
        database is a file.
        """
        self._ctx.check_open()
        if not self._ctx.settings.database.url:
            raise SettingsError(
                "Workers share a PostgreSQL database, and this desk is a file.",
                hint="Run its jobs with `copydesk daemon`, or name a database in database.url.",
            )
        from copydesk.store.postgresql import work_queue  # noqa: PLC0415 - an extra

        database = cast("PostgresDatabase", self._ctx.database)
        for attempts_left in reversed(range(PREPARE_ATTEMPTS)):
            try:
                await database.upgrade(lambda connection: work_queue.prepare(connection, version))
                break
            except StoreBusyError:
                # Others are changing the tables to which it adds triggers.
                if not attempts_left:
                    raise
        self._ctx.fetch_queue = queue

    async def list_users_with_work(self, within: timedelta) -> tuple[str, ...]:
        """Return the ids of all users for whom something may be due now, or a draft within that time."""
        self._ctx.check_open()
        now = self._ctx.clock()
        cutoffs = missed_cutoffs(self._ctx.settings.schedule, now)
        return await self._ctx.database.read(jobs.list_users_with_work, now, cutoffs, within)

    async def list_users_with_texts(self) -> tuple[str, ...]:
        """Return the ids of all users who have drafts that wait for their text."""
        self._ctx.check_open()
        return await self._ctx.database.read(jobs.list_users_with_texts)

    async def check(self) -> None:
        """Raise StoreError if the database cannot be read, or another version has migrated its file meanwhile."""
        self._ctx.check_open()
        revision = await self._ctx.database.read(totals.read_revision)
        # On a server, upgrades only add: the first process to upgrade must not take all the others out of service.
        if revision != HEAD_REVISION and not self._ctx.settings.database.url:
            raise StoreTooNewError(
                f"Another version of Copydesk has migrated {self._ctx.database.name}.",
                hint="Restart with that version.",
            )

    async def release_memory(self) -> bool:
        """Release cached memory while nothing is going on; return True if there was any to release."""
        self._ctx.check_open()
        return await self._ctx.database.close_idle()

    async def close(self) -> None:
        """Close all desks as `Desk.close` does, and refuse every operation from then on."""
        if self._ctx.is_closed:
            return
        await asyncio.gather(*(self._close(user_id) for user_id in list(self._desks)))
        await self._ctx.close()

    async def _open(self, user: User) -> Desk:
        """Return the user's desk, opened if it is not open yet."""
        self._ctx.check_open()
        if user.id not in self._desks:
            desk = Desk(DeskContext(self._ctx, user))
            # Mark runs whose process died as interrupted, or the queue would wait for them.
            if not self._ctx.database.read_only:
                await desk.pipeline.recover()
            self._desks[user.id] = desk
        return self._desks[user.id]

    async def _close(self, user_id: str) -> None:
        desk = self._desks.pop(user_id, None)
        if desk is not None:
            await desk.close()

    async def _remove(self, user: User) -> None:
        async with self._lock:
            await delete_user(await self._open(user), self._ctx)
            await self._close(user.id)


@asynccontextmanager
async def open_desks(
    settings: Settings,
    *,
    clock: Clock = utc_now,
    transport: "httpx.AsyncBaseTransport | None" = None,
    platforms: "Mapping[str, Platform] | None" = None,
    writer: "Writer | None" = None,
    prompt_passphrase: "PassphrasePrompt | None" = None,
) -> AsyncIterator[Desks]:
    """Open the database that `settings` name for all its users; create or migrate it, and close it on exit.

    The arguments are those of `open_desk`. Raise StoreError if the database cannot be used.
    """
    # Before the server of the database is reached: an error may name its password.
    redact_secrets(settings)
    async with open_prepared(settings, clock()) as database:
        # Reading first: a write would wait for another process that holds the lock.
        owner = await database.read(users.get_owner)
        if owner is None:
            owner = await database.write(users.get_or_create_owner, clock(), local_zone())
        context = SharedContext(
            settings,
            database,
            clock=clock,
            transport=transport,
            platforms=platforms,
            writer=writer,
            prompt_passphrase=prompt_passphrase,
        )
        desks = Desks(context, owner)
        try:
            yield desks
        finally:
            await desks.close()


@asynccontextmanager
async def open_desk(
    settings: Settings,
    *,
    user: str | None = None,
    clock: Clock = utc_now,
    transport: "httpx.AsyncBaseTransport | None" = None,
    platforms: "Mapping[str, Platform] | None" = None,
    writer: "Writer | None" = None,
    prompt_passphrase: "PassphrasePrompt | None" = None,
) -> AsyncIterator[Desk]:
    """Open the desk that `settings` name, create or migrate its database, and close it on exit.

    `user` chooses by name whose sources, drafts and accounts are read and written; a new name gets an empty desk. By
    default it is the owner, as on the command line and in the console. Nobody sees what belongs to somebody else.

    `transport` replaces the network, `platforms` (by name) the real platforms and `writer` the chosen writers, for the
    sample desk and tests: FakePlatform in `copydesk.posting.fake`, FakeWriter in `copydesk.drafting.fake_writer`.
    `prompt_passphrase` prompts for the passphrase of the credentials file. Raise StoreError if the database cannot be
    used, InvalidError if `user` is no name.
    """
    if user is not None:
        user = parse_line("user", user, 1, MAX_USER_NAME_LENGTH)
    async with open_desks(
        settings,
        clock=clock,
        transport=transport,
        platforms=platforms,
        writer=writer,
        prompt_passphrase=prompt_passphrase,
    ) as desks:
        found = desks.owner if user is None else await desks.users.get_or_create(user)
        yield await desks.get(found)
