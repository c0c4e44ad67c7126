"""What every operation of the desk stands on."""

import random
from collections.abc import AsyncIterator, Callable, Mapping, Sequence
from contextlib import asynccontextmanager
from datetime import UTC, datetime
from functools import cached_property
from typing import TYPE_CHECKING, Concatenate, ParamSpec, TypeVar

from sqlalchemy import Connection

from copydesk import __version__
from copydesk.desk.platforms import Platforms
from copydesk.errors import CopydeskError, InvalidError
from copydesk.model.account import ConnectedAccount, named
from copydesk.model.draft import Format
from copydesk.settings import Settings
from copydesk.store import sources as kept_sources
from copydesk.store.engine import Engines
from copydesk.store.users import User

if TYPE_CHECKING:
    import httpx

    from copydesk.ingest.fetch import Fetcher
    from copydesk.ingest.visit import Credentials
    from copydesk.posting.platform import Platform
    from copydesk.secrets.vault import Ask, Vault

P = ParamSpec("P")
T = TypeVar("T")
A = TypeVar("A")
Clock = Callable[[], datetime]


def utc_now() -> datetime:
    """This moment in UTC, to the millisecond: what is stored is what is sent."""
    now = datetime.now(UTC)
    return now.replace(microsecond=now.microsecond // 1000 * 1000)


class Ground:
    """The settings, the store, the user, the clock and the way to the network of one open desk."""

    def __init__(
        self,
        settings: Settings,
        engines: Engines,
        user: User,
        *,
        clock: Clock = utc_now,
        transport: "httpx.AsyncBaseTransport | None" = None,
        platforms: "Mapping[str, Platform] | None" = None,
        ask: "Ask | None" = None,
    ) -> None:
        self.settings = settings
        self.engines = engines
        self.user = user
        self.clock = clock
        self.transport = transport
        self.ask = ask
        """Asks the user for the passphrase of the keys; None where nobody can be asked."""
        self.attended = False
        """Whether somebody works at the desk in this very process: what else goes on leaves room for the keys."""
        self.platforms = Platforms(self, platforms or {})
        self._random = random.Random()  # noqa: S311 - it spreads requests in time, and keeps no secret

    @property
    def user_id(self) -> str:
        """Whose rows are read and written."""
        return self.user.id

    async def read(self, work: Callable[Concatenate[Connection, str, P], T], *args: P.args, **kwargs: P.kwargs) -> T:
        """What `work` reads of this user's rows: it is given a connection, the user's id and the rest."""
        return await self.engines.read(work, self.user_id, *args, **kwargs)

    async def write(self, work: Callable[Concatenate[Connection, str, P], T], *args: P.args, **kwargs: P.kwargs) -> T:
        """As `read`, for what changes this user's rows: one transaction, see `Engines.write`."""
        return await self.engines.write(work, self.user_id, *args, **kwargs)

    async def write_through(
        self, work: Callable[Concatenate[Connection, str, P], T], *args: P.args, **kwargs: P.kwargs
    ) -> T:
        """As `write`, and on the disk itself when this returns."""
        return await self.engines.write_through(work, self.user_id, *args, **kwargs)

    async def write_each(self, work: Callable[[Connection, str, A], T], every: Sequence[A]) -> list[T | CopydeskError]:
        """As `write` for each of `every`: a transaction for each, an error in the place of what could not be done."""

        def mine(connection: Connection, each: A) -> T:
            return work(connection, self.user_id, each)

        return await self.engines.write_each(mine, every)

    def platform(self, name: str) -> "Platform":
        """A platform that posts go to, by its name; InvalidError where there is none of that name."""
        return self.platforms.of(name)

    def meant(
        self, connected: Sequence[ConnectedAccount], names: Sequence[str], format: Format
    ) -> tuple[ConnectedAccount, ...]:
        """The accounts that `names` mean; for none, all that take drafts of this format."""
        if names:
            return named(connected, names)
        return tuple(each for each in connected if self._takes(each, format))

    def _takes(self, account: ConnectedAccount, format: Format) -> bool:
        try:
            return format in self.platform(account.details.platform).limits.formats
        except InvalidError:  # another Copydesk's, whose platforms this one does not know
            return False

    @cached_property
    def vault(self) -> "Vault":
        """Where the keys to the accounts are kept."""
        from copydesk.desk.keys import vault_of  # noqa: PLC0415 - for those who post

        return vault_of(self.settings, self.ask)

    def jitter(self) -> float:
        """-1 to 1: keeps many desks from asking one publisher at the same moment."""
        return self._random.uniform(-1, 1)

    def credentials(self) -> "Credentials":
        """What the user has of other people's services."""
        from copydesk.ingest.visit import Credentials  # noqa: PLC0415 - beside httpx

        asked = self.settings
        return Credentials(
            reddit_client_id=asked.reddit.client_id or None,
            reddit_client_secret=asked.reddit.client_secret or None,
            twitter_bearer_token=asked.twitter.bearer_token or None,
            twitter_daily_reads=asked.twitter.daily_read_budget,
        )

    @asynccontextmanager
    async def network(self) -> AsyncIterator["Fetcher"]:
        """The guarded HTTP client. Hosts that asked to be left alone are remembered from one use to the next."""
        from copydesk.ingest.fetch import Fetcher, Limits  # noqa: PLC0415 - httpx costs as much as the rest

        asked = self.settings.network
        contact = f" (+{asked.contact})" if asked.contact else ""
        limits = Limits(
            timeout=asked.timeout,
            max_body=asked.max_body,
            concurrency=asked.concurrency,
            allow_private=asked.allow_private,
            user_agent=f"Copydesk/{__version__}{contact}",
        )
        async with Fetcher(limits, transport=self.transport, clock=self.clock) as fetcher:
            fetcher.cooldowns.update(await self.read(kept_sources.cooldowns, self.clock()))
            before = dict(fetcher.cooldowns)
            try:
                yield fetcher
            finally:
                if fetcher.cooldowns != before:
                    await self.write(kept_sources.save_cooldowns, dict(fetcher.cooldowns), self.clock())
