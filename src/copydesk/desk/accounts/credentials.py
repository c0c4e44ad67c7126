"""Account credentials for the platforms, read from the vault."""

import os
import socket
from collections.abc import Callable, Mapping
from typing import TYPE_CHECKING

from copydesk.credentials.vault import open_vault
from copydesk.errors import CredentialsError
from copydesk.model.delivery import Account
from copydesk.model.user import User
from copydesk.posting.platform import RECONNECT_HINT, LoginError, NotSentError
from copydesk.posting.registry import PLATFORMS
from copydesk.text.redaction import DEFAULT_REDACTION

if TYPE_CHECKING:
    from copydesk.credentials.vault import PassphrasePrompt, Vault
    from copydesk.settings import Settings

_SYSTEMD_DIRECTORY = "CREDENTIALS_DIRECTORY"
"""Names the directory in which systemd passes credentials to a service."""


class AccountCredentials:
    """The credentials of one desk. Nothing is sent while they are unavailable, and sending is retried."""

    def __init__(self, get_vault: "Callable[[], Vault]", user: User) -> None:
        # Not the vault itself: opening it may ask for the passphrase.
        self._get_vault = get_vault
        self._user = user

    async def read(self, account: Account) -> Mapping[str, str]:
        """Return an account's secrets. Raise LoginError if there are none, NotSentError if the vault is unavailable."""
        try:
            secrets = await self._get_vault().load(secret_name(account, self._user))
        except CredentialsError as error:
            raise NotSentError(error.message, hint=error.hint) from None
        if secrets is None:
            command = f"copydesk account connect {account.platform}"
            # Workers share the account and may run on several machines, of which only this one lacks them.
            message = f"No credentials for {account.platform}:{account.name} on {socket.gethostname()}."
            raise LoginError(message, hint=f"Connect it there: `{command}`.")
        return secrets

    async def save(self, account: Account, credentials: Mapping[str, str]) -> None:
        """Replace an account's secrets. Raise NotSentError if they cannot be stored."""
        try:
            await self._get_vault().save(secret_name(account, self._user), credentials)
        except CredentialsError as error:
            raise NotSentError(error.message, hint=error.hint) from None


def secret_name(account: Account, user: User) -> str:
    """Return the vault key of an account's secrets; it does not change when the account is renamed.

    Two users may connect the same account, each with credentials of their own. Those in the environment, which are
    found by the start of the key, are the owner's.
    """
    name = f"{account.platform}:{account.id}@{account.server}"
    return name if user.is_owner else f"{user.id}/{name}"


def create_vault(settings: "Settings", prompt_passphrase: "PassphrasePrompt | None") -> "Vault":
    """Open the desk's vault."""
    return open_vault(settings, prompt_passphrase=prompt_passphrase, single=_single_value_fields())


def login_error_hint(error: LoginError, account: Account) -> str:
    """Return why an account cannot be posted to and how to fix it, with secrets redacted."""
    command = f"Connect it again: `copydesk account connect {account.platform}`."
    hint = error.hint.replace(RECONNECT_HINT, command)
    # A platform may repeat the credential in its error message.
    return DEFAULT_REDACTION.redact(f"{error.message} {hint}".strip())


def _single_value_fields() -> dict[str, str]:
    """Return, by platform, the field a single environment value stands for, where such a value is set."""
    # As `secret_name` in `copydesk.desk.writers.open_writer` and its KEY.
    fields = {"writer": "key"}
    for name, info in PLATFORMS.items():
        if _SYSTEMD_DIRECTORY in os.environ or f"COPYDESK_SECRET_{name.upper()}" in os.environ:
            fields[name] = next(field.name for field in info.credential_fields if field.secret)
    return fields
