"""Account credentials for the platforms, read from the vault."""

import os
from collections.abc import Mapping
from importlib import import_module
from typing import TYPE_CHECKING

from copydesk.errors import SecretsError
from copydesk.model.delivery import Account
from copydesk.posting.platform import CONNECT_AGAIN, LoginError, NotSentError
from copydesk.posting.platforms import PLATFORMS
from copydesk.secrets.redaction import KNOWN, watch_crashes, watch_logs
from copydesk.secrets.vault import open_vault

if TYPE_CHECKING:
    from copydesk.desk.ground import Ground
    from copydesk.secrets.vault import Ask, Vault
    from copydesk.settings import Settings

_SYSTEMD_DIRECTORY = "CREDENTIALS_DIRECTORY"
"""Names the directory in which systemd passes credentials to a service."""


class Keys:
    """The credentials of one desk. Nothing is sent while they are unavailable, and sending is retried."""

    def __init__(self, ground: "Ground") -> None:
        self._ctx = ground

    async def read(self, account: Account) -> Mapping[str, str]:
        """Return an account's secrets. Raise LoginError if there are none, NotSentError if the vault is unavailable."""
        try:
            secrets = await self._vault.read(name_of(account))
        except SecretsError as error:
            raise NotSentError(error.message, hint=error.hint) from None
        if secrets is None:
            command = f"copydesk account connect {account.platform}"
            raise LoginError(
                f"There is no key to {account.platform}:{account.name}.", hint=f"Connect it again: {command}"
            )
        return secrets

    async def keep(self, account: Account, secrets: Mapping[str, str]) -> None:
        """Replace an account's secrets. Raise NotSentError if they cannot be stored."""
        try:
            await self._vault.keep(name_of(account), secrets)
        except SecretsError as error:
            raise NotSentError(error.message, hint=error.hint) from None

    @property
    def _vault(self) -> "Vault":
        return self._ctx.vault


def name_of(account: Account) -> str:
    """Return the vault key of an account's secrets; it does not change when the account is renamed."""
    return f"{account.platform}:{account.id}@{account.server}"


def vault_of(settings: "Settings", ask: "Ask | None") -> "Vault":
    """Open the desk's vault. From now on secrets are redacted from logs and crash reports."""
    # Before the first secret is read.
    watch_logs()
    watch_crashes()
    KNOWN.add(settings.reddit.client_secret, settings.twitter.bearer_token)
    KNOWN.add(settings.images_a.key, settings.images_b.key)
    return open_vault(settings, ask=ask, single=_single_value_fields())


def trouble_of(error: LoginError, account: Account) -> str:
    """Return why an account cannot be posted to and how to fix it, with secrets redacted."""
    hint = (
        f"Connect it again: copydesk account connect {account.platform}" if error.hint == CONNECT_AGAIN else error.hint
    )
    # A platform may repeat the credential in its error message.
    return redacted(f"{error.message} {hint}".strip())


def redacted(text: str) -> str:
    """Return `text` without the secrets this process has read."""
    return KNOWN.redact(text)


def _single_value_fields() -> dict[str, str]:
    """Return, by platform, the field a single environment value stands for, where such a value is set."""
    fields: dict[str, str] = {}
    # Import a platform's module only if the environment names it: all of them would be slow.
    for name, (module, class_name) in PLATFORMS.items():
        if _SYSTEMD_DIRECTORY in os.environ or f"COPYDESK_SECRET_{name.upper()}" in os.environ:
            credential_fields = getattr(import_module(module), class_name).wants
            fields[name] = next(field.name for field in credential_fields if field.secret)
    return fields
