"""Connect, check and remove the accounts that posts go to. Their credentials are stored in the vault only."""

import asyncio
from collections.abc import AsyncIterator, Mapping
from contextlib import AsyncExitStack, asynccontextmanager, suppress
from datetime import datetime
from typing import TYPE_CHECKING, Protocol, runtime_checkable

from msgspec.structs import replace

from copydesk.desk.accounts.credentials import login_error_hint, secret_name
from copydesk.desk.context import DeskContext
from copydesk.desk.leases import account_lease
from copydesk.desk.operation import operation
from copydesk.desk.permissions import needs
from copydesk.desk.publishing.metrics import METRIC_READ_DELAYS
from copydesk.errors import ConflictError, CopydeskError, CredentialsError, FieldError, InvalidError, NotFoundError
from copydesk.model.activity import MAX_APPROVALS
from copydesk.model.delivery import Account, ConnectedAccount, name_accounts, select_accounts
from copydesk.model.serialization import Struct
from copydesk.model.token import Scope
from copydesk.posting.platform import (
    RECONNECT_HINT,
    BrowserPlatform,
    ConnectResult,
    CredentialField,
    LoginError,
    NotSentError,
    Platform,
    ReadablePlatform,
    SignIn,
)
from copydesk.store import accounts, deliveries
from copydesk.store.database import Transaction
from copydesk.store.ids import new_id

if TYPE_CHECKING:
    from copydesk.credentials.vault import VaultStatus

LEASE_ATTEMPTS, LEASE_RETRY_SECONDS = 60, 0.5
"""Attempts, and seconds between them, to get the lease of an account that is being connected again."""

MAX_LISTED_POSTS = 100
"""Newest posts of an account that are read as examples of the user's voice."""


@runtime_checkable
class _SupportsRevoke(Protocol):
    """A platform that can revoke a credential."""

    async def disconnect(self, account: Account) -> None: ...


class ConnectMethod(Struct, frozen=True):
    """The way to connect an account of a platform: the fields to ask for, and the browser flow if there is one."""

    platform: str
    default_server: str
    """The default server; empty if the user has to name one."""
    credential_fields: tuple[CredentialField, ...]
    uses_browser: bool
    """Sign-in goes through the user's browser, unless a credential that replaces it was entered."""
    redirect_port: int | None
    """Port of the loopback redirect that has to be registered with the platform; None if any port will do."""
    manual_redirect_uri: str
    """Redirect URI of a page that shows the code; empty if the user pastes the address the browser ends at."""


class Accounts:
    """The accounts of one desk."""

    def __init__(self, ctx: DeskContext) -> None:
        self._ctx = ctx

    @operation
    async def list(self) -> tuple[ConnectedAccount, ...]:
        """Return the accounts, ordered by platform and name."""
        return await self._ctx.read(accounts.list_all)

    @operation
    def platforms(self) -> tuple[str, ...]:
        """Return the names of the platforms to which an account can be connected."""
        return self._ctx.platforms.names

    @operation
    async def connect_method(self, platform: str) -> ConnectMethod:
        """Return the way to connect an account of `platform`. Raise InvalidError if there is no such platform."""
        info = (await self._ctx.platforms.load(platform)).info
        return ConnectMethod(
            platform=platform,
            default_server=info.default_server,
            credential_fields=info.credential_fields,
            uses_browser=info.uses_browser,
            redirect_port=info.redirect_port,
            manual_redirect_uri=info.manual_redirect_uri,
        )

    @needs(Scope.PUBLISH)
    @operation
    async def connect(self, platform: str, credentials: Mapping[str, str], server: str = "") -> ConnectedAccount:
        """Log in with the given fields, store the credentials and return the account.

        Raise InvalidError for missing fields, the platform's LoginError, NotSentError and RefusedPostError, and
        CredentialsError if the credentials cannot be stored; nothing is connected then.
        """
        adapter, server_url = self._resolve_request(platform, credentials, server)
        try:
            connected = await adapter.connect(server_url, credentials)
        except LoginError as error:
            hint = "Check the values." if error.hint == RECONNECT_HINT else error.hint
            raise LoginError(error.message, hint=hint) from None
        env_secrets = await self._ctx.vault.read_environment(secret_name(connected.account, self._ctx.user))
        # Secrets given by the environment stay there; do not copy them to the vault.
        if env_secrets and env_secrets.items() <= connected.credentials.items():
            connected = replace(connected, credentials={})
        return await self._save(connected)

    @needs(Scope.PUBLISH)
    @operation
    async def start_sign_in(
        self, platform: str, credentials: Mapping[str, str], redirect_uri: str, server: str = ""
    ) -> SignIn:
        """Start to connect an account through the browser. Raises as `connect` does."""
        adapter, server_url = self._resolve_request(platform, credentials, server)
        return await _browser_platform(adapter).start_sign_in(server_url, credentials, redirect_uri)

    @needs(Scope.PUBLISH)
    @operation
    async def finish_sign_in(self, platform: str, sign_in: SignIn, code: str, server: str = "") -> ConnectedAccount:
        """Complete a sign-in with the code from the redirect and return the account. Raises as `connect` does."""
        adapter = self._ctx.platforms.get(platform)
        return await self._save(
            await _browser_platform(adapter).finish_sign_in(server or adapter.info.default_server, sign_in, code)
        )

    @operation
    async def check(self, name: str) -> ConnectedAccount:
        """Ask the account's server whether the credentials work, and return the account with fresh details.

        A rejected credential is recorded, and nothing is sent to the account until it is connected again; LoginError is
        raised. Raise NotSentError if the server cannot be asked.
        """
        account = await self.get(name)
        # Checking may refresh the token, so it needs the lease just as sending does.
        async with account_lease(self._ctx, account.id) as lease:
            if lease is None:
                raise NotSentError("A post is being sent to this account.", hint="Try again in a minute.")
            try:
                details = await self._ctx.platforms.get(account.details.platform).check(account.details)
            except LoginError as error:
                message = login_error_hint(error, account.details)
                await self._ctx.write(accounts.set_error, account, message)
                raise LoginError(message) from None
            await self._ctx.write(accounts.update_details, account.id, details, self._ctx.clock())
        return await self.get(account.id)

    @operation
    async def list_posts(self, name: str) -> tuple[str, ...]:
        """Return the account's newest posts that can be examples of the user's voice. Nothing is stored.

        Raise NotFoundError for an unknown account, InvalidError if its platform does not list posts, LoginError or
        NotSentError if its server cannot be read.
        """
        from copydesk.drafting.own_posts import select_examples  # noqa: PLC0415 - only needed here

        account = await self.get(name)
        platform = self._ctx.platforms.get(account.details.platform)
        if not isinstance(platform, ReadablePlatform):
            message = f"is on {platform.info.label}, whose posts cannot be read; import a file instead"
            raise InvalidError(FieldError("account", message))
        posts = await platform.list_posts(account.details, MAX_LISTED_POSTS)
        return await asyncio.to_thread(select_examples, posts[:MAX_LISTED_POSTS])

    @needs(Scope.PUBLISH)
    @operation
    async def require_approvals(self, name: str, count: int) -> ConnectedAccount:
        """Let the account take only drafts that `count` different reviewers have approved, 1 or 2; return it.

        Raise InvalidError for another number, NotFoundError.
        """
        if not 1 <= count <= MAX_APPROVALS:
            raise InvalidError(FieldError("count", f"takes 1 to {MAX_APPROVALS}"))
        account = await self.get(name)
        await self._ctx.write_durable(accounts.set_approvals, account.id, count)
        return replace(account, approvals=count)

    @needs(Scope.PUBLISH)
    @operation
    async def remove(self, name: str) -> ConnectedAccount:
        """Delete an account and its credentials and return it. Published posts stay, there and in the history.

        Raise ConflictError while a delivery to it is in progress, CredentialsError if its credentials cannot be
        deleted. If they are left after all, as by a process that is killed, the same call deletes them, and raises
        NotFoundError.
        """
        try:
            account = await self.get(name)
        except NotFoundError as error:
            platform = name.partition(":")[0]
            if not (platform in self._ctx.platforms.names and await self.delete_unused_credentials(platform)):
                raise
            hint = "The credentials that an interrupted removal had left are deleted."
            raise NotFoundError(error.message, hint=hint) from None
        vault_name = secret_name(account.details, self._ctx.user)
        await self._ctx.vault.check_access(vault_name)
        # The account first: with its credentials gone, a delivery that starts now could only fail.
        await self._ctx.write_durable(_remove, account)
        try:
            await self._revoke(account)
        finally:
            await self._delete_credentials(account, vault_name)
        return account

    @needs(Scope.PUBLISH)
    @operation
    async def delete_unused_credentials(self, platform: str = "") -> int:
        """Delete stored credentials of accounts, of one platform if given, that are not connected; return their number.

        A removal that was interrupted has left them. Do not connect an account meanwhile.
        """
        user, names = self._ctx.user, await self._ctx.vault.names()
        connected = await self._connected_names()
        prefix = "" if user.is_owner else f"{user.id}/"
        platforms = (platform,) if platform else self._ctx.platforms.names
        own = tuple(f"{prefix}{known}:" for known in platforms)
        # Without a server it is the secret of an event webhook, not a credential of the platform "webhook".
        unused = [name for name in names if name.startswith(own) and "@" in name and name not in connected]
        for name in unused:
            await self._ctx.vault.remove(name)
        return len(unused)

    @operation
    async def vault_status(self) -> "VaultStatus":
        """Return the backend that stores the credentials, and its state."""
        return await self._ctx.vault.status()

    @operation
    def allow_plaintext_vault(self) -> None:
        """Allow an unencrypted file for credentials if no better backend is available. The user confirmed it."""
        self._ctx.vault.allow_plain()

    async def _connected_names(self) -> set[str]:
        """Return the names under which the vault keeps the credentials of the connected accounts."""
        return {secret_name(account.details, self._ctx.user) for account in await self.list()}

    async def _revoke(self, account: ConnectedAccount) -> None:
        with suppress(CopydeskError):  # best effort: the user can revoke access on the platform too
            platform = self._ctx.platforms.get(account.details.platform)
            if isinstance(platform, _SupportsRevoke):
                await platform.disconnect(account.details)

    async def _delete_credentials(self, account: ConnectedAccount, vault_name: str) -> None:
        """Delete the credentials of an account that is removed. Raise CredentialsError."""
        # Connected again while its access was revoked.
        if vault_name in await self._connected_names():
            return
        try:
            await self._ctx.vault.remove(vault_name)
        except CredentialsError as error:
            message = f"{account.label} is disconnected, but its credentials are still stored. {error.message}"
            command = f"copydesk account remove {account.label}"
            raise CredentialsError(message, hint=f"{error.hint} Then delete them: {command}".strip()) from None

    def _resolve_request(self, platform: str, credentials: Mapping[str, str], server: str) -> tuple[Platform, str]:
        """Return the platform and the server's URL. Raise InvalidError for missing fields."""
        adapter = self._ctx.platforms.get(platform)
        missing = [
            field.name
            for field in adapter.info.credential_fields
            if not field.optional and not credentials.get(field.name, "").strip()
        ]
        if missing:
            raise InvalidError(*(FieldError(name, "is missing") for name in missing))
        server_url = server or adapter.info.default_server
        if not server_url:
            hint = f"Pass the address of your {adapter.info.label} server: --url https://…"
            raise InvalidError(FieldError("url", "is missing"), hint=hint)
        return adapter, server_url

    async def _save(self, connected: ConnectResult) -> ConnectedAccount:
        """Store the credentials first: an account without them could only fail."""
        async with self._exclusive_access(connected.account):
            if connected.credentials:
                await self._ctx.vault.save(secret_name(connected.account, self._ctx.user), connected.credentials)
            now = self._ctx.clock()
            account_id = await self._ctx.write_durable(_connect, new_id(now), connected.account, now)
        return await self.get(account_id)

    @asynccontextmanager
    async def _exclusive_access(self, account: Account) -> AsyncIterator[None]:
        """Hold the account's lease: a worker renewing its token would overwrite the new credentials."""
        identity = (account.platform, account.server, account.id)
        connected = await self.list()
        matching = [row for row in connected if (row.details.platform, row.details.server, row.details.id) == identity]
        async with AsyncExitStack() as stack:
            for row in matching:
                # A worker holds the lease only while it talks to the server, so a short wait is usually enough.
                for _ in range(LEASE_ATTEMPTS):
                    if await stack.enter_async_context(account_lease(self._ctx, row.id)) is not None:
                        break
                    await asyncio.sleep(LEASE_RETRY_SECONDS)
                else:
                    message = "A post is being sent to this account; it was not reconnected."
                    raise NotSentError(message, hint="Try again in a minute.")
            yield

    @operation
    async def get(self, name: str) -> ConnectedAccount:
        """Return the account with this id, name or label, or the only one of this platform.

        Raise NotFoundError, or InvalidError if there are several.
        """
        connected = await self.list()
        names = name_accounts(connected)
        matches = [account for account in connected if name in (account.id, names[account.id])]
        matches = matches or list(select_accounts(connected, [name]))
        if len(matches) == 1:
            return matches[0]
        if matches:
            several = ", ".join(names[account.id] for account in matches)
            raise InvalidError(FieldError("account", f"matches several accounts: {several}"))
        raise NotFoundError(f"No account {name[:200]!r}.", hint="List all accounts: `copydesk account list`.")


def check_new_passphrase(text: str) -> None:
    """Raise CredentialsError if a new passphrase for the stored credentials is too short."""
    from copydesk.credentials.vault import check_new_passphrase  # noqa: PLC0415 - slow to import

    check_new_passphrase(text)


def _browser_platform(adapter: Platform) -> BrowserPlatform:
    if not hasattr(adapter, "start_sign_in"):
        raise InvalidError(FieldError("platform", "does not support sign-in with the browser"))
    return adapter  # type: ignore[return-value]  # a Protocol can only be checked by its methods at run time


def _connect(conn: Transaction, user_id: str, new_id: str, details: Account, now: datetime) -> str:
    """Store the account, and its deliveries from before it was removed as its own; return its id."""
    account_id = accounts.save(conn, user_id, new_id, details, now)
    metrics_since = now - METRIC_READ_DELAYS[-1]
    deliveries.assign_account(conn, user_id, details.identity, account_id, now, metrics_since=metrics_since)
    return account_id


def _raise_if_sending(conn: Transaction, user_id: str, account: ConnectedAccount) -> None:
    if deliveries.has_unfinished_for_account(conn, user_id, account.id):
        hint = "Wait until it is posted, or give it up: copydesk delivery list"
        raise ConflictError("A delivery to this account is in progress; the account was not removed.", hint=hint)


def _remove(conn: Transaction, user_id: str, account: ConnectedAccount) -> None:
    # In the same transaction: none can start in between.
    _raise_if_sending(conn, user_id, account)
    accounts.remove(conn, user_id, account.id)
