"""The platforms that a desk can post to, each made when it is first asked for."""

import asyncio
from collections.abc import Mapping
from importlib import import_module
from typing import TYPE_CHECKING

from copydesk.errors import FieldError, InvalidError

if TYPE_CHECKING:
    import httpx

    from copydesk.desk.ground import Ground
    from copydesk.network.transport import GuardedTransport
    from copydesk.posting.platform import Platform


class Platforms:
    """The platforms of one desk, over one way to the network. `given` ones stand in for the real ones."""

    def __init__(self, ground: "Ground", given: Mapping[str, "Platform"]) -> None:
        self._ground = ground
        self._made: dict[str, Platform] = dict(given)
        self._network = _Network(ground)

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
        await self._network.close()

    def _make(self, name: str) -> "Platform":
        from copydesk.desk.keys import Keys  # noqa: PLC0415 - the keyring is not for every command
        from copydesk.posting.http import Caller  # noqa: PLC0415
        from copydesk.posting.platforms import PLATFORMS, platform  # noqa: PLC0415

        if name not in PLATFORMS:
            raise InvalidError(FieldError("platform", f"is none of {', '.join(PLATFORMS)}"))
        caller = Caller(self._ground.transport or self._network)
        return platform(name, caller, Keys(self._ground), self._ground.clock)


class _Network:
    """The way to the network, made when something is sent: to look at a draft none is needed."""

    def __init__(self, ground: "Ground") -> None:
        self._ground = ground
        self._transport: GuardedTransport | None = None

    async def handle_async_request(self, request: "httpx.Request") -> "httpx.Response":
        """What the server says."""
        if self._transport is None:
            from copydesk.network.transport import GuardedTransport  # noqa: PLC0415 - as above

            network = self._ground.settings.network
            self._transport = GuardedTransport(allow_private=network.allow_private, concurrency=network.concurrency)
        return await self._transport.handle_async_request(request)

    async def close(self) -> None:
        """Close the connections that are kept."""
        if self._transport is not None:
            await self._transport.aclose()


def _imported(name: str) -> None:
    from copydesk.posting.platforms import PLATFORMS  # noqa: PLC0415 - as above

    import_module("copydesk.desk.keys")
    if name in PLATFORMS:
        import_module(PLATFORMS[name][0])
