"""The platforms that a desk can post to, and the accounts to which its drafts go."""

import asyncio
from collections.abc import Callable, Iterable, Mapping, Sequence
from datetime import datetime
from importlib import import_module
from typing import TYPE_CHECKING, Protocol, runtime_checkable

from copydesk.errors import FieldError, InvalidError
from copydesk.model.delivery import ConnectedAccount
from copydesk.model.draft import Format
from copydesk.model.targets import PostingTargets, select_targets
from copydesk.model.user import User

if TYPE_CHECKING:
    from copydesk.credentials.vault import Vault
    from copydesk.posting.client import Transport
    from copydesk.posting.platform import Platform, PlatformInfo


@runtime_checkable
class _SupportsClose(Protocol):
    """A platform that may hold tokens in memory that could not be stored."""

    async def close(self) -> None: ...


class Platforms:
    """The platforms of one desk by name; they share the HTTP connections of all desks.

    Those of `given` replace the real ones. The others are imported and created on first use.
    """

    def __init__(
        self,
        given: "Mapping[str, Platform]",
        *,
        transport: "Transport",
        open_vault: "Callable[[], Vault]",
        user: User,
        clock: Callable[[], datetime],
    ) -> None:
        self._given = given
        self._transport = transport
        self._open_vault = open_vault
        self._user = user
        self._clock = clock
        self._created: dict[str, Platform] = {}

    @property
    def names(self) -> tuple[str, ...]:
        """Names of all platforms to which an account can be connected."""
        from copydesk.posting.registry import PLATFORMS  # noqa: PLC0415 - see `_create`

        return tuple(dict.fromkeys((*PLATFORMS, *self._given)))

    def get(self, name: str) -> "Platform":
        """Return the platform with that name. Raise InvalidError if there is none."""
        if name in self._given:
            return self._given[name]
        if name not in self._created:
            self._created[name] = self._create(name)
        return self._created[name]

    @property
    def infos(self) -> "Mapping[str, PlatformInfo]":
        """The facts of all platforms by name, without importing their modules, which takes longer than a frame."""
        from copydesk.posting.registry import PLATFORMS  # noqa: PLC0415 - see `_create`

        return {**PLATFORMS, **{name: platform.info for name, platform in self._given.items()}}

    async def load(self, name: str) -> "Platform":
        """Return the platform as `get` does. Its module is imported in a thread, so that keys are not delayed."""
        if name not in self._given and name not in self._created:
            await asyncio.to_thread(_import_platform, name)
        return self.get(name)

    def select_targets(
        self, connected: Sequence[ConnectedAccount], names: Sequence[str], format: Format
    ) -> PostingTargets:
        """Return the accounts to which a draft goes: those that `names` select, or all that accept its format."""
        return select_targets(connected, names, format, self.infos)

    async def close(self) -> None:
        """Let the platforms store what they hold in memory."""
        await close_platforms(self._created.values())

    def _create(self, name: str) -> "Platform":
        from copydesk.desk.accounts.credentials import AccountCredentials  # noqa: PLC0415 - most commands do not need the keyring
        from copydesk.posting.client import PlatformClient  # noqa: PLC0415
        from copydesk.posting.registry import PLATFORMS, create_platform  # noqa: PLC0415

        if name not in PLATFORMS:
            raise InvalidError(FieldError("platform", f"must be one of {', '.join(PLATFORMS)}"))
        credentials = AccountCredentials(self._open_vault, self._user)
        return create_platform(name, PlatformClient(self._transport), credentials, self._clock)


def _import_platform(name: str) -> None:
    from copydesk.posting.registry import PLATFORMS, load_adapter  # noqa: PLC0415 - see `_create`

    import_module("copydesk.desk.accounts.credentials")
    if name in PLATFORMS:
        load_adapter(name)


async def close_platforms(platforms: "Iterable[Platform]") -> None:
    """Let the platforms store what they hold in memory."""
    for platform in platforms:
        if isinstance(platform, _SupportsClose):
            await platform.close()
