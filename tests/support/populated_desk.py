"""A real desk with a fixed clock and data for every screen and dialog."""

from collections.abc import AsyncIterator
from contextlib import asynccontextmanager
from pathlib import Path

from console_driver import TEXTS
from copydesk.desk import Desk, open_desk
from copydesk.posting.fake import FakePlatform, FakeServer
from copydesk.tui.app import Console
from desk_fixtures import NOW, URL_ONE, URL_THREE, Watch, create_source, settings_at
from posting_fixtures import connect_account
from schedule_fixtures import insert_draft, insert_drafts
from sources_driver import sample_web

OPML = f"""<opml version="2.0"><body><outline text="The Ferry Gazette" xmlUrl="{URL_ONE}"/>
<outline text="Gone Quiet" xmlUrl="{URL_THREE}"/><outline text="Nowhere" xmlUrl="ftp://nowhere.example/"/></body></opml>"""


@asynccontextmanager
async def open_populated_desk(home: Path) -> AsyncIterator[Desk]:
    """Open the desk in `home`."""
    platforms = {"fake": FakePlatform(FakeServer())}
    settings = settings_at(home)
    async with open_desk(settings, clock=Watch(), transport=sample_web(), platforms=platforms) as desk:
        yield desk


async def populate(home: Path) -> None:
    """Create drafts, the last of them edited; an account, a source, and two reasons for rejection."""
    async with open_populated_desk(home) as desk:
        await create_source(desk, URL_ONE, name="The Ferry Gazette", tags=["sea"])
        await connect_account(desk, display_name="harbour.example")
        for text in ("Too long.", "We said that last week."):
            (rejected,) = await insert_drafts(desk, status="pending_review", text="Rejected.")
            await desk.drafts.reject(rejected, text)
        drafts = [
            await insert_draft(desk, status="pending_review", text=text, confidence=0.9 - number / 10)
            for number, text in enumerate(TEXTS)
        ]
        await desk.drafts.edit(drafts[-1], TEXTS[-1].replace("two things", "three things"))


def make_populated_console(home: Path) -> Console:
    """The console before that desk."""
    return Console(lambda: open_populated_desk(home), clock=lambda: NOW)
