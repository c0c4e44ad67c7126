"""The platforms that a desk can post to, each made when it is first asked for."""

import asyncio
from collections.abc import Mapping
from importlib import import_module
from typing import TYPE_CHECKING

from copydesk.errors import FieldError, InvalidError

if TYPE_CHECKING:
    from copydesk.desk.ground import Ground
    from copydesk.network.transport import GuardedTransport
    from copydesk.posting.platform import Platform


class Platforms:
    """The platforms of one desk, over one way to the network. `given` ones stand in for the real ones."""

    def __init__(self, ground: "Ground", given: Mapping[str, "Platform"]) -> None:
        self._ground = ground
        self._made: dict[str, Platform] = dict(given)
        self._transport: GuardedTransport | None = None

    @property
    def names(self) -> tuple[str, ...]:
        """Every platform that an account can be connected of."""
        from copydesk.posting.platforms import PLATFORMS  # noqa: PLC0415 - as in `_make`

        return tuple(dict.fromkeys((*PLATFORMS, *self._made)))

    def of(self, name: str) -> "Platform":
        """The platform of that name; InvalidError where there is none."""
        if name not in self._made:
            self._made[name] = self._make(name)
        return self._made[name]

    async def ready(self, name: str) -> "Platform":
        """As `of`; what it takes to make it is imported in a thread, for that is felt where somebody is typing."""
        if name not in self._made:
            await asyncio.to_thread(_imported, name)
        return self.of(name)

    async def close(self) -> None:
        """Close the connections that are kept."""
        if self._transport is not None:
            await self._transport.aclose()

    def _make(self, name: str) -> "Platform":
        from copydesk.desk.keys import Keys  # noqa: PLC0415 - httpx and the keyring are not for every command
        from copydesk.network.transport import GuardedTransport  # noqa: PLC0415
        from copydesk.posting.http import Caller  # noqa: PLC0415
        from copydesk.posting.platforms import PLATFORMS, platform  # noqa: PLC0415

        if name not in PLATFORMS:
            raise InvalidError(FieldError("platform", f"is none of {', '.join(PLATFORMS)}"))
        transport = self._ground.transport
        if transport is None:
            network = self._ground.settings.network
            self._transport = self._transport or GuardedTransport(
                allow_private=network.allow_private, concurrency=network.concurrency
            )
            transport = self._transport
        return platform(name, Caller(transport), Keys(self._ground), self._ground.clock)


def _imported(name: str) -> None:
    from copydesk.posting.platforms import PLATFORMS  # noqa: PLC0415 - as below

    for module in ("copydesk.desk.keys", "copydesk.network.transport", "copydesk.posting.http"):
        import_module(module)
    if name in PLATFORMS:
        import_module(PLATFORMS[name][0])
