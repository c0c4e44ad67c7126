"""The keys to the accounts, as platforms ask for them, out of the vault."""

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

_CREDENTIALS = "CREDENTIALS_DIRECTORY"
"""Where systemd puts what it hands to a service."""


class Keys:
    """The keys of one desk. Where they cannot be reached nothing is sent, and it is tried again."""

    def __init__(self, ground: "Ground") -> None:
        self._ground = ground

    async def read(self, account: Account) -> Mapping[str, str]:
        """The secrets of an account; LoginError where there are none, NotSentError where nobody can get at them."""
        try:
            found = await self._vault.read(name_of(account))
        except SecretsError as error:
            raise NotSentError(error.message, hint=error.hint) from None
        if found is None:
            again = f"copydesk account connect {account.platform}"
            raise LoginError(
                f"There is no key to {account.platform}:{account.name}.", hint=f"Connect it again: {again}"
            )
        return found

    async def keep(self, account: Account, secrets: Mapping[str, str]) -> None:
        """Replace the secrets of an account; NotSentError where they cannot be kept."""
        try:
            await self._vault.keep(name_of(account), secrets)
        except SecretsError as error:
            raise NotSentError(error.message, hint=error.hint) from None

    @property
    def _vault(self) -> "Vault":
        return self._ground.vault


def name_of(account: Account) -> str:
    """What the secrets of an account are kept under; the same whatever the account is called by now."""
    return f"{account.platform}:{account.id}@{account.server}"


def vault_of(settings: "Settings", ask: "Ask | None") -> "Vault":
    """The vault of a desk. From now on no secret gets into a log or into what a crash leaves behind."""
    watch_logs()
    watch_crashes()
    KNOWN.add(settings.reddit.client_secret, settings.twitter.bearer_token)
    KNOWN.add(settings.images_a.key, settings.images_b.key)
    return open_vault(settings, ask=ask, single=_single())


def trouble_of(error: LoginError, account: Account) -> str:
    """Why nothing can go to an account, and how that is put right; without the key that a platform may have said."""
    hint = (
        f"Connect it again: copydesk account connect {account.platform}" if error.hint == CONNECT_AGAIN else error.hint
    )
    return redacted(f"{error.message} {hint}".strip())


def redacted(text: str) -> str:
    """`text` without the secrets that this process has read."""
    return KNOWN.redact(text)


def _single() -> dict[str, str]:
    """By platform, the secret that one value in the environment stands for, where there may be such a value."""
    found: dict[str, str] = {}
    for name, (module, kind) in PLATFORMS.items():
        if _CREDENTIALS in os.environ or f"COPYDESK_SECRET_{name.upper()}" in os.environ:
            wants = getattr(import_module(module), kind).wants
            found[name] = next(each.name for each in wants if each.secret)
    return found
