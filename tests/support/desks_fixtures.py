"""The desks of several users in one database, for tests."""

from collections.abc import AsyncIterator, Mapping
from contextlib import asynccontextmanager
from pathlib import Path

import httpx

from copydesk.desk import Desks, open_desks
from copydesk.desk.context import Clock
from copydesk.posting.platform import Platform
from desk_fixtures import Watch, settings_at


@asynccontextmanager
async def open_desks_at(
    home: Path,
    web: httpx.AsyncBaseTransport | None = None,
    clock: Clock | None = None,
    platforms: Mapping[str, Platform] | None = None,
    **overrides: str,
) -> AsyncIterator[Desks]:
    """Open the desks in `home`. Their clock stands still at NOW unless another is given."""
    settings = settings_at(home, **overrides)
    async with open_desks(settings, clock=clock or Watch(), transport=web, platforms=platforms) as desks:
        yield desks
