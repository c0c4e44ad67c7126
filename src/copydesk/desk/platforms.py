"""Platforms that a desk can post to, created on first use."""

import asyncio
from collections.abc import Mapping
from importlib import import_module
from typing import TYPE_CHECKING

from copydesk.errors import FieldError, InvalidError

if TYPE_CHECKING:
    import httpx

    from copydesk.desk.ground import DeskContext
    from copydesk.network.transport import GuardedTransport
    from copydesk.posting.platform import Platform


class Platforms:
    """Platform objects of one desk by name, sharing one HTTP connection pool. Entries of `overrides`
    replace the real ones.
    """

    def __init__(self, ctx: "DeskContext", overrides: Mapping[str, "Platform"]) -> None:
        self._ctx = ctx
        self._by_name: dict[str, Platform] = dict(overrides)
        self._transport_pool = _LazyTransport(ctx)

    @property
    def names(self) -> tuple[str, ...]:
        """Names of all platforms to which an account can be connected."""
        from copydesk.posting.platforms import PLATFORMS  # noqa: PLC0415 - see `_create`

        return tuple(dict.fromkeys((*PLATFORMS, *self._by_name)))

    def get(self, name: str) -> "Platform":
        """Return the platform with that name. Raise InvalidError if there is none."""
        if name not in self._by_name:
            self._by_name[name] = self._create(name)
        return self._by_name[name]

    async def load(self, name: str) -> "Platform":
        """Return the platform with that name like `get`, importing its module in a thread so that
        typing is not delayed.
        """
        if name not in self._by_name:
            await asyncio.to_thread(_import_platform, name)
        return self.get(name)

    async def close(self) -> None:
        """Close pooled connections."""
        await self._transport_pool.close()

    def _create(self, name: str) -> "Platform":
        from copydesk.desk.keys import AccountCredentials  # noqa: PLC0415 - most commands do not need the keyring
        from copydesk.posting.http import PlatformClient  # noqa: PLC0415
        from copydesk.posting.platforms import PLATFORMS, create_platform  # noqa: PLC0415

        if name not in PLATFORMS:
            raise InvalidError(FieldError("platform", f"is none of {', '.join(PLATFORMS)}"))
        caller = PlatformClient(self._ctx.transport or self._transport_pool)
        return create_platform(name, caller, AccountCredentials(self._ctx), self._ctx.clock)


class _LazyTransport:
    """The guarded transport, created with the first request: most commands never open a connection."""

    def __init__(self, ctx: "DeskContext") -> None:
        self._ctx = ctx
        self._transport: GuardedTransport | None = None

    async def handle_async_request(self, request: "httpx.Request") -> "httpx.Response":
        """Send `request` and return the response."""
        if self._transport is None:
            from copydesk.network.transport import GuardedTransport  # noqa: PLC0415 - as above

            network = self._ctx.settings.network
            self._transport = GuardedTransport(allow_private=network.allow_private, concurrency=network.concurrency)
        return await self._transport.handle_async_request(request)

    async def close(self) -> None:
        """Close pooled connections."""
        if self._transport is not None:
            await self._transport.aclose()


def _import_platform(name: str) -> None:
    from copydesk.posting.platforms import PLATFORMS  # noqa: PLC0415 - as above

    import_module("copydesk.desk.keys")
    if name in PLATFORMS:
        import_module(PLATFORMS[name][0])
