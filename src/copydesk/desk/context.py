"""The context every desk operation runs in."""

import asyncio
import getpass
import random
from collections import defaultdict
from collections.abc import AsyncIterator, Callable, Iterator, Mapping, Sequence
from contextlib import asynccontextmanager, contextmanager
from contextvars import ContextVar
from datetime import UTC, datetime
from functools import cache, cached_property, wraps
from typing import TYPE_CHECKING, Concatenate, ParamSpec, Protocol, TypeVar, cast

from msgspec.structs import replace

from copydesk.desk.authentication import confirmed, current_token_name
from copydesk.desk.event_watcher import EventWatcher
from copydesk.desk.permissions import current_requirement
from copydesk.desk.platforms import Platforms, close_platforms
from copydesk.errors import CopydeskError, DeskClosedError, NotFoundError
from copydesk.model.role import Caller, Roles, check_role
from copydesk.model.source import SourceGroup
from copydesk.model.token import Scope
from copydesk.model.user import User
from copydesk.network import user_agent
from copydesk.settings import Network, Settings
from copydesk.store import sources, users
from copydesk.store.database import Transaction, run_separately
from copydesk.store.raw_sql import breaks_foreign_key

if TYPE_CHECKING:
    import httpx

    from copydesk.credentials.vault import PassphrasePrompt, Vault
    from copydesk.drafting.confidence import ConfidenceModel
    from copydesk.drafting.model_writer.client import ModelClient
    from copydesk.drafting.writer import Writer
    from copydesk.ingest.fetch_context import Credentials
    from copydesk.model.writer import Endpoint
    from copydesk.network.fetcher import Fetcher
    from copydesk.network.transport import GuardedTransport
    from copydesk.posting.platform import Platform
    from copydesk.store.postgresql.database import AnyDatabase

P = ParamSpec("P")
T = TypeVar("T")
A = TypeVar("A")
Clock = Callable[[], datetime]


class _LazyTransport:
    """The guarded transport, created with the first request: most commands never open a connection."""

    def __init__(self, network: Network) -> None:
        self._network = network
        self._transport: GuardedTransport | None = None

    async def handle_async_request(self, request: "httpx.Request") -> "httpx.Response":
        """Send `request` and return the response."""
        if self._transport is None:
            from copydesk.network.transport import GuardedTransport  # noqa: PLC0415 - as above

            network = self._network
            self._transport = GuardedTransport(
                allow_private=network.allow_private, concurrency=network.concurrency, proxy=network.proxy
            )
        return await self._transport.handle_async_request(request)

    async def close(self) -> None:
        """Close pooled connections."""
        if self._transport is not None:
            await self._transport.aclose()


class WriteGuard(Protocol):
    """Runs units of work of one request, in their transactions."""

    is_closed: bool
    """The request has ended: what is submitted from now on belongs to none."""

    def run(self, conn: Transaction, user_id: str, work: Callable[[], T]) -> T:
        """Return `work()`. An exception rolls the transaction back."""
        ...


_write_guard: ContextVar[WriteGuard | None] = ContextVar("write_guard", default=None)


@contextmanager
def guard_writes(guard: WriteGuard) -> Iterator[None]:
    """Let `guard` run every unit of work that writes during the block, in this task and in those that it starts."""
    token = _write_guard.set(guard)
    try:
        yield
    finally:
        _write_guard.reset(token)


def _guarded(
    work: Callable[Concatenate[Transaction, str, P], T],
) -> Callable[Concatenate[Transaction, str, P], T]:
    guard = _write_guard.get()
    if guard is None or guard.is_closed:
        return work

    def run(conn: Transaction, user_id: str, /, *args: P.args, **kwargs: P.kwargs) -> T:
        return guard.run(conn, user_id, lambda: work(conn, user_id, *args, **kwargs))

    return run


def utc_now() -> datetime:
    """Return the current time in UTC, cut to milliseconds: the precision of the JSON interface."""
    now = datetime.now(UTC)
    return now.replace(microsecond=now.microsecond // 1000 * 1000)


class FetchQueue(Protocol):
    """Fetches sources elsewhere, in jobs that call `Pipeline.fetch`."""

    def fetch(self, user_id: str, groups: Sequence[SourceGroup]) -> AsyncIterator[SourceGroup]:
        """Fetch groups of a user's sources; yield each once its job has ended, whether or not it fetched them."""
        ...


class SharedContext:
    """The resources shared by the desks of all users of one database."""

    def __init__(
        self,
        settings: Settings,
        database: "AnyDatabase",
        *,
        clock: Clock = utc_now,
        transport: "httpx.AsyncBaseTransport | None" = None,
        platforms: "Mapping[str, Platform] | None" = None,
        writer: "Writer | None" = None,
        prompt_passphrase: "PassphrasePrompt | None" = None,
    ) -> None:
        self.settings = settings
        self.database = database
        self.clock = clock
        self.transport = transport
        """The transport in place of the network."""
        self.http_transport = _LazyTransport(settings.network)
        self.local_transport = _LazyTransport(replace(settings.network, allow_private=True))
        """For servers that the user placed in their own network by name, and for nothing else."""
        self.platforms = dict(platforms or {})
        """Platforms by name in place of the real ones."""
        self.writer = writer
        """The writer in place of those that the user chose."""
        self.prompt_passphrase = prompt_passphrase
        """Asks the user for the vault's passphrase; None if nobody can be asked."""
        self.fetch_queue: FetchQueue | None = None
        """Fetches the sources of scheduled runs; None if their own process does."""
        self.event_watcher = EventWatcher(database)
        self.account_locks: defaultdict[str, asyncio.Lock] = defaultdict(asyncio.Lock)
        """Locks for the leases of accounts in this process, by account."""
        self.unreleased_leases: set[str] = set()
        """Ids of leases of accounts that this process may hold unused: a release failed, or a task was cancelled."""
        self.is_closed = False

    def check_open(self) -> None:
        """Raise DeskClosedError once the desks are closed."""
        if self.is_closed:
            raise DeskClosedError

    @cached_property
    def vault(self) -> "Vault":
        """The vault that stores the accounts' credentials, opened on first use."""
        from copydesk.desk.accounts.credentials import create_vault  # noqa: PLC0415 - only posting needs the keyring

        return create_vault(self.settings, self.prompt_passphrase)

    async def close(self) -> None:
        """Let the caller's platforms store what they hold in memory, and close pooled connections."""
        self.is_closed = True
        await self.event_watcher.close()
        await close_platforms(self.platforms.values())
        await self.http_transport.close()
        await self.local_transport.close()


@cache
def _login_name() -> str:
    try:
        return getpass.getuser()
    except (OSError, KeyError):  # no entry for the user's number, as in some containers
        return ""


class DeskContext:
    """The settings, database, user, clock and network access of one open desk."""

    def __init__(self, shared: SharedContext, user: User) -> None:
        self.shared = shared
        self.settings = shared.settings
        self.database = shared.database.of_user(user.id)
        self.clock = shared.clock
        self.transport = shared.transport
        self.user = user
        self.is_interactive = False
        """A user works at the desk in this process: background work yields to key handling."""
        self.platforms = Platforms(
            shared.platforms,
            transport=cast("httpx.AsyncBaseTransport", shared.transport or shared.http_transport),
            open_vault=lambda: shared.vault,
            user=user,
            clock=shared.clock,
        )
        self.confidence_model: tuple[object, ConfidenceModel] | None = None
        """The model of `desk.confidence` and the decisions that it is learnt from."""
        self.model_clients: dict[tuple[Endpoint, str], ModelClient] = {}
        """Clients of language models, by endpoint and key."""
        self.partial_texts: dict[str, str] = {}
        """Texts that are being written in this process, by draft, as far as they have arrived: shown, never stored."""
        self.is_closed = False
        self._random = random.Random()  # noqa: S311 - jitter, not cryptography

    def check_open(self) -> None:
        """Raise DeskClosedError once the desk is closed."""
        if self.is_closed:
            raise DeskClosedError

    @property
    def user_id(self) -> str:
        """Id of the user whose rows are read and written."""
        return self.user.id

    @property
    def reviewer(self) -> str:
        """The name under which the other reviewers of this desk see the caller."""
        return current_token_name() or self.settings.console.reviewer or _login_name() or self.user.name

    @property
    def caller(self) -> Caller:
        """The reviewer, and whether a token identifies them."""
        return Caller(self.reviewer, has_token=current_token_name() is not None)

    async def require(self, scope: Scope) -> None:
        """Raise RoleError unless the caller's role covers `scope`."""
        self.check_open()
        check_role(await self.read(users.load_roles), self.caller, scope)

    async def read(self, work: Callable[Concatenate[Transaction, str, P], T], *args: P.args, **kwargs: P.kwargs) -> T:
        """Run `work(connection, user_id, ...)` in a read transaction and return its result."""
        self.check_open()
        return await self.database.read(confirmed(work), self.user_id, *args, **kwargs)

    async def write(self, work: Callable[Concatenate[Transaction, str, P], T], *args: P.args, **kwargs: P.kwargs) -> T:
        """Run `work(connection, user_id, ...)` in one write transaction; see `Database.write`.

        Raise NotFoundError if the user was removed meanwhile.
        """
        return await self.database.write(self._as_write(work), self.user_id, *args, **kwargs)

    async def write_unguarded(
        self, work: Callable[Concatenate[Transaction, str, P], T], *args: P.args, **kwargs: P.kwargs
    ) -> T:
        """Run `work` as `write` does, but not as an effect of the caller's request: what it writes may be repeated."""
        return await self.database.write(self._as_write(work, is_effect=False), self.user_id, *args, **kwargs)

    async def write_durable(
        self, work: Callable[Concatenate[Transaction, str, P], T], *args: P.args, **kwargs: P.kwargs
    ) -> T:
        """Run `work` as `write` does, and flush the transaction to disk before returning."""
        return await self.database.write_durable(self._as_write(work), self.user_id, *args, **kwargs)

    async def write_batch(
        self, work: Callable[[Transaction, str, A], T], items: Sequence[A]
    ) -> list[T | CopydeskError]:
        """Run `work` for each element as an atomic unit; return results, with errors in place of failed ones."""

        def run_group(conn: Transaction, user_id: str, group: Sequence[A]) -> list[T | CopydeskError]:
            return run_separately(conn, lambda connection, item: work(connection, user_id, item), group)

        return await self.write_groups(run_group, items)

    async def write_groups(
        self, work: Callable[[Transaction, str, Sequence[A]], list[T | CopydeskError]], items: Sequence[A]
    ) -> list[T | CopydeskError]:
        """Run `work` for groups of the elements, each as an atomic unit; see `Database.write_groups`."""
        checked = self._as_write(work)
        return await self.database.write_groups(lambda conn, group: checked(conn, self.user_id, group), items)

    def _as_write(
        self, work: Callable[Concatenate[Transaction, str, P], T], *, is_effect: bool = True
    ) -> Callable[Concatenate[Transaction, str, P], T]:
        """Return `work` with what is checked in its transaction. Raise DeskClosedError.

        From the outside in: the token of the request, before anything is read; the user and the role; and, if the work
        is an effect of the request, its idempotency key, whose row is part of the transaction.
        """
        self.check_open()
        return confirmed(self._unless_removed(_guarded(work) if is_effect else work))

    def _unless_removed(
        self, work: Callable[Concatenate[Transaction, str, P], T]
    ) -> Callable[Concatenate[Transaction, str, P], T]:
        """Return `work`, which raises NotFoundError if another process has removed the user, and RoleError if the
        caller's role does not cover what the operation needs.
        """
        requirement, caller = current_requirement(), self.caller

        @wraps(work)
        def guarded(conn: Transaction, user_id: str, /, *args: P.args, **kwargs: P.kwargs) -> T:
            # Looked at last: a server's answer comes together with that to the first query of `work`.
            find_roles = users.query_roles(conn, user_id)

            def check(roles: Roles | None) -> None:
                if roles is None:
                    raise self._removed_error()
                if requirement is not None:
                    requirement.check(roles, caller)

            try:
                result, roles = work(conn, user_id, *args, **kwargs), find_roles()
            except Exception as error:
                # Of a user who is gone nothing is found, and nothing can be added. A role refuses before anything else.
                if isinstance(error, CopydeskError) or breaks_foreign_key(error):
                    check(find_roles())
                raise
            check(roles)
            return result

        return guarded

    def _removed_error(self) -> NotFoundError:
        return NotFoundError(f"The user {self.user.name} was removed; nothing changed.")

    @property
    def vault(self) -> "Vault":
        """The vault that stores the accounts' credentials."""
        return self.shared.vault

    def jitter(self) -> float:
        """Return a random number from -1 to 1; it keeps many desks from fetching one host at the same time."""
        return self._random.uniform(-1, 1)

    def credentials(self) -> "Credentials":
        """Return the user's credentials for source APIs."""
        from copydesk.ingest.fetch_context import Credentials  # noqa: PLC0415 - brings in httpx

        settings = self.settings
        return Credentials(
            reddit_client_id=settings.reddit.client_id or None,
            reddit_client_secret=settings.reddit.client_secret or None,
            twitter_bearer_token=settings.twitter.bearer_token or None,
            twitter_daily_reads=settings.twitter.daily_read_budget,
        )

    @asynccontextmanager
    async def network(self, cooldowns: Mapping[str, datetime] | None = None) -> AsyncIterator["Fetcher"]:
        """Open the guarded HTTP client. Hosts in cooldown are loaded before, unless given, and saved after."""
        from copydesk.network.fetcher import Fetcher, FetchLimits  # noqa: PLC0415 - httpx doubles the import time

        options = self.settings.network
        limits = FetchLimits(
            timeout=options.timeout,
            max_body=options.max_body,
            concurrency=options.concurrency,
            allow_private=options.allow_private,
            proxy=options.proxy,
            user_agent=user_agent(options.contact),
        )
        # With a queue, many jobs fetch a few sources each: what takes long to set up is shared.
        transport = self.transport
        if transport is None and self.shared.fetch_queue is not None:
            # Has the method that the client calls.
            transport = cast("httpx.AsyncBaseTransport", self.shared.http_transport)
        hold_host = self.database.hold_host
        async with Fetcher(limits, transport=transport, clock=self.clock, hold_host=hold_host) as fetcher:
            # Cooldowns are stored, so that a restart does not shorten the wait a host asked for.
            if cooldowns is None:
                cooldowns = await self.read(sources.list_cooldowns, self.clock())
            fetcher.cooldowns.update(cooldowns)
            # A copy, because the fetcher changes the mapping in place; usually there is nothing to write.
            before = dict(fetcher.cooldowns)
            try:
                yield fetcher
            finally:
                # Also after an error or a cancellation: the hosts still expect the wait.
                if fetcher.cooldowns != before:
                    await self.write_unguarded(sources.save_cooldowns, dict(fetcher.cooldowns), self.clock())
