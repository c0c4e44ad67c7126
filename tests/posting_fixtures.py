"""A desk with fake platforms that can be made to fail."""

from collections.abc import Mapping
from contextlib import AbstractAsyncContextManager
from datetime import datetime
from pathlib import Path

from copydesk.desk import Desk, open_desk
from copydesk.desk.ground import Clock
from copydesk.model.delivery import Account
from copydesk.model.draft import Status
from copydesk.posting.fake import FakePlatform, FakeServer
from copydesk.posting.platform import Platform
from copydesk.settings import load
from copydesk.store import accounts
from copydesk.store.ids import new_id
from desk_fixtures import NOW

ME, YOU = "fake:me", "fake:you"


def open_posting(
    folder: Path, platforms: Mapping[str, Platform], *, clock: Clock = lambda: NOW, **settings: str
) -> AbstractAsyncContextManager[Desk]:
    """Open the desk in `folder` with these platforms and no network."""
    return open_desk(load(settings, folder), clock=clock, platforms=platforms)


def fake(server: FakeServer | None = None, **options: object) -> dict[str, FakePlatform]:
    """Return the platforms of a desk with one, named `fake`."""
    return {"fake": FakePlatform(server or FakeServer(), **options)}


async def connect(
    desk: Desk, name: str = "me", platform: str = "fake", now: datetime = NOW, *, called: str = ""
) -> str:
    """Store a connected account; return its id."""
    details = Account(platform=platform, server=f"https://{platform}.example", id=name, name=called or name)
    return await desk.ground.write(accounts.connect, new_id(now), details, now)


async def approved(desk: Desk, text: str = "One thing worth saying.", format: str = "SHORT", **more: object) -> str:
    """Create and approve a draft; return its id."""
    created = await desk.drafts.create({"text": text, "format": format, **more})
    draft_id = created.drafts[0].id
    await desk.drafts.approve(draft_id)
    return draft_id


async def status_of(desk: Desk, draft_id: str) -> Status:
    """Return the draft's status."""
    return (await desk.drafts.get(draft_id)).status
