"""The accounts that posts go to: connected, checked, removed. Their keys go to the vault, and nowhere else."""

import asyncio
from collections.abc import AsyncIterator, Mapping
from contextlib import AsyncExitStack, asynccontextmanager, suppress
from typing import TYPE_CHECKING, Protocol, runtime_checkable

from msgspec.structs import replace
from sqlalchemy import Connection

from copydesk.desk.claiming import claimed
from copydesk.desk.ground import Ground
from copydesk.desk.keys import name_of, trouble_of
from copydesk.errors import ConflictError, CopydeskError, FieldError, InvalidError, NotFoundError
from copydesk.model.account import ConnectedAccount, named
from copydesk.model.delivery import Account
from copydesk.model.wire import Struct
from copydesk.posting.platform import (
    CONNECT_AGAIN,
    BrowserPlatform,
    Connected,
    LoginError,
    NotSentError,
    Platform,
    SignIn,
    Wanted,
)
from copydesk.store import accounts, deliveries
from copydesk.store.ids import new_id

if TYPE_CHECKING:
    from copydesk.secrets.vault import Whereabouts

TRIES, BETWEEN = 60, 0.5
"""How often, and how many seconds apart, it is tried to speak alone for an account that is connected anew."""


@runtime_checkable
class _Leaving(Protocol):
    """A platform that can be told that a key is not used any more."""

    async def disconnect(self, account: Account) -> None: ...


class WayIn(Struct, frozen=True):
    """How accounts of a platform are connected."""

    platform: str
    server: str
    """Where its accounts are unless the user says otherwise; empty where the user has to."""
    wants: tuple[Wanted, ...]
    browser: bool
    """Whether the way leads through the user's browser, unless everything that is optional was given."""
    port: int | None
    """Of the loopback address that has to be registered with the platform; None where any will do."""
    by_hand: str
    """The redirect that shows the code instead; empty where the address that the browser ends at is pasted."""


class Accounts:
    """The accounts of one desk."""

    def __init__(self, ground: Ground) -> None:
        self._ground = ground

    async def list(self) -> tuple[ConnectedAccount, ...]:
        """The accounts, by platform and name."""
        return await self._ground.read(accounts.every)

    def way_in(self, platform: str) -> WayIn:
        """How an account of a platform is connected; InvalidError where there is no such platform."""
        one = self._ground.platform(platform)
        browser = hasattr(one, "begin")
        return WayIn(
            platform=platform,
            server=one.home,
            wants=one.wants,
            browser=browser,
            port=getattr(one, "fixed_port", None),
            by_hand=getattr(one, "by_hand", ""),
        )

    async def connect(self, platform: str, given: Mapping[str, str], server: str = "") -> ConnectedAccount:
        """Get into an account with what was asked for, and keep its keys.

        Raises InvalidError for what is missing, LoginError, NotSentError and RefusedPostError of the platform, and
        SecretsError where the keys cannot be kept: then nothing is connected.
        """
        one, where = self._asked(platform, given, server)
        try:
            connected = await one.connect(where, given)
        except LoginError as error:
            hint = "Check what you gave." if error.hint == CONNECT_AGAIN else error.hint
            raise LoginError(error.message, hint=hint) from None
        found = await self._ground.vault.given(name_of(connected.account))
        if found and found.items() <= connected.secrets.items():  # they stay where they are
            connected = replace(connected, secrets={})
        return await self._keep(connected)

    async def begin(self, platform: str, given: Mapping[str, str], redirect: str, server: str = "") -> SignIn:
        """Begin to connect an account through the browser; raises as `connect`."""
        one, where = self._asked(platform, given, server)
        return await _through_browser(one).begin(where, given, redirect)

    async def finish(self, platform: str, sign_in: SignIn, code: str, server: str = "") -> ConnectedAccount:
        """End what was begun, with the code that came back; raises as `connect`."""
        one = self._ground.platform(platform)
        return await self._keep(await _through_browser(one).finish(server or one.home, sign_in, code))

    async def check(self, name: str) -> ConnectedAccount:
        """Ask an account's server whether it works; NotSentError where it cannot be asked.

        Where the key is not good any more that is kept, and nothing is sent there until it is connected again.
        """
        kept = await self._one(name)
        async with claimed(self._ground, kept.id) as claim_id:
            if claim_id is None:
                raise NotSentError("Something is being sent there at this moment.", hint="Try again in a minute.")
            try:
                details = await self._ground.platform(kept.details.platform).check(kept.details)
            except LoginError as error:
                says = trouble_of(error, kept.details)
                await self._ground.write(accounts.set_trouble, kept, says)
                raise LoginError(says) from None
            await self._ground.write(accounts.checked, kept.id, details, self._ground.clock())
        return await self._one(kept.id)

    async def remove(self, name: str) -> ConnectedAccount:
        """Forget an account and its keys; what was posted there stays, here and there.

        ConflictError while something is on its way there.
        """
        kept = await self._one(name)
        await self._ground.read(_refuse_under_way, kept)
        with suppress(CopydeskError):  # whoever wants to be sure takes the access back there
            platform = self._ground.platform(kept.details.platform)
            if isinstance(platform, _Leaving):
                await platform.disconnect(kept.details)
        # The keys first: an account that is not known any more could not be named to forget them.
        await self._ground.vault.remove(name_of(kept.details))
        await self._ground.write(_remove, kept)
        return kept

    async def keys(self) -> "Whereabouts":
        """Where the keys are kept."""
        return await self._ground.vault.where()

    def allow_plain_keys(self) -> None:
        """The user said yes to keys in a file that is not encrypted, where there is no better place."""
        self._ground.vault.allow_plain()

    def _asked(self, platform: str, given: Mapping[str, str], server: str) -> tuple[Platform, str]:
        one = self._ground.platform(platform)
        missing = [each.name for each in one.wants if not each.optional and not given.get(each.name, "").strip()]
        if missing:
            raise InvalidError(*(FieldError(name, "is missing") for name in missing))
        where = server or one.home
        if not where:
            raise InvalidError(FieldError("url", f"is missing: say where your {platform} is, with --url https://…"))
        return one, where

    async def _keep(self, connected: Connected) -> ConnectedAccount:
        """Keep the keys first: an account whose keys are lost could only fail."""
        async with self._alone(connected.account):
            if connected.secrets:
                await self._ground.vault.keep(name_of(connected.account), connected.secrets)
            now = self._ground.clock()
            kept = await self._ground.write(accounts.connect, new_id(now), connected.account, now)
        return await self._one(kept)

    @asynccontextmanager
    async def _alone(self, account: Account) -> AsyncIterator[None]:
        """Nobody else speaks for the account meanwhile: who renews its token would overwrite the new keys."""
        same = (account.platform, account.server, account.id)
        every = await self.list()
        known = [each for each in every if (each.details.platform, each.details.server, each.details.id) == same]
        async with AsyncExitStack() as stack:
            for each in known:
                for _ in range(TRIES):
                    if await stack.enter_async_context(claimed(self._ground, each.id)) is not None:
                        break
                    await asyncio.sleep(BETWEEN)
                else:
                    says = "Something is being sent there at this moment; the account was not connected anew."
                    raise NotSentError(says, hint="Try again in a minute.")
            yield

    async def _one(self, name: str) -> ConnectedAccount:
        """The account by its id or its label, or a platform's only one."""
        every = await self.list()
        found = [each for each in every if each.id == name] or list(named(every, [name]))
        if len(found) == 1:
            return found[0]
        if found:
            which = ", ".join(each.label for each in found)
            raise InvalidError(FieldError("account", f"means several; name one of {which}"))
        raise NotFoundError(f"There is no account {name[:200]!r}.", hint="`copydesk account list` shows them all.")


def _through_browser(one: Platform) -> BrowserPlatform:
    if not hasattr(one, "begin"):
        raise InvalidError(FieldError("platform", "is not connected through the browser"))
    return one  # type: ignore[return-value]  # Protocols cannot be told apart at run time but by their methods


def _refuse_under_way(conn: Connection, user_id: str, kept: ConnectedAccount) -> None:
    if deliveries.under_way(conn, user_id, kept.id):
        hint = "Wait until it is there, or give it up: copydesk delivery list"
        raise ConflictError("Something is on its way to this account; it was not removed.", hint=hint)


def _remove(conn: Connection, user_id: str, kept: ConnectedAccount) -> None:
    _refuse_under_way(conn, user_id, kept)
    accounts.remove(conn, user_id, kept.id)
