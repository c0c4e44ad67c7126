"""A desk with fake platforms that can be made to fail."""

from collections.abc import Mapping
from contextlib import AbstractAsyncContextManager
from datetime import datetime
from pathlib import Path

from copydesk.desk import Desk, open_desk
from copydesk.desk.context import Clock
from copydesk.model.delivery import Account
from copydesk.model.draft import Status
from copydesk.posting.fake import FakePlatform, FakeServer
from copydesk.posting.platform import Platform
from copydesk.settings import load
from copydesk.store import accounts
from copydesk.store.ids import new_id
from desk_fixtures import NOW
from store_fixtures import database_variables

ME, YOU = "fake:me", "fake:you"


def open_posting_desk(
    folder: Path, platforms: Mapping[str, Platform], *, clock: Clock = lambda: NOW, **settings: str
) -> AbstractAsyncContextManager[Desk]:
    """Open the desk in `folder` with these platforms and no network."""
    return open_desk(load(database_variables(folder) | settings, folder), clock=clock, platforms=platforms)


def fake_platforms(server: FakeServer | None = None, **options: object) -> dict[str, FakePlatform]:
    """Return the platforms of a desk with one, named `fake`."""
    return {"fake": FakePlatform(server or FakeServer(), **options)}


async def connect_account(
    desk: Desk,
    name: str = "me",
    platform: str = "fake",
    now: datetime = NOW,
    *,
    display_name: str = "",
    server: str = "",
    max_length: int | None = None,
) -> str:
    """Store a connected account; return its id."""
    server = server or f"https://{platform}.example"
    details = Account(platform=platform, server=server, id=name, name=display_name or name, max_length=max_length)
    return await desk._context.write(accounts.save, new_id(now), details, now)


async def create_approved_draft(
    desk: Desk, text: str = "One thing worth saying.", format: str = "SHORT", **more: object
) -> str:
    """Create and approve a draft; return its id."""
    created = await desk.drafts.create({"text": text, "format": format, **more})
    draft_id = created.drafts[0].id
    await desk.drafts.approve(draft_id)
    return draft_id


async def draft_status(desk: Desk, draft_id: str) -> Status:
    """Return the draft's status."""
    return (await desk.drafts.get(draft_id)).status
