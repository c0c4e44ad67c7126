"""A real desk with a fixed clock and data for every screen and dialog."""

from collections.abc import AsyncIterator
from contextlib import asynccontextmanager
from pathlib import Path

from copydesk.desk import Desk, open_desk
from copydesk.posting.fake import FakePlatform, FakeServer
from copydesk.tui.app import Console
from desk_fixtures import NOW, ONE, THREE, Watch, add, settings_at
from posting_fixtures import connect
from schedule_fixtures import put, put_one
from sources_on_screen import small_web
from tui_fixtures import TEXTS

OPML = f"""<opml version="2.0"><body><outline text="The Ferry Gazette" xmlUrl="{ONE}"/>
<outline text="Gone Quiet" xmlUrl="{THREE}"/><outline text="Nowhere" xmlUrl="ftp://nowhere.example/"/></body></opml>"""


@asynccontextmanager
async def furnished_desk(home: Path) -> AsyncIterator[Desk]:
    """Open the desk in `home`."""
    platforms = {"fake": FakePlatform(FakeServer())}
    settings = settings_at(home)
    async with open_desk(settings, clock=Watch(), transport=small_web(), platforms=platforms) as desk:
        yield desk


async def furnish(home: Path) -> None:
    """Create drafts, the last of them edited; an account, a source, and two reasons for rejection."""
    async with furnished_desk(home) as desk:
        await add(desk, ONE, name="The Ferry Gazette", tags=["sea"])
        await connect(desk, called="harbour.example")
        for text in ("Too long.", "We said that last week."):
            (rejected,) = await put(desk, status="pending_review", text="Rejected.")
            await desk.drafts.reject(rejected, text)
        drafts = [
            await put_one(desk, status="pending_review", text=text, confidence=0.9 - number / 10)
            for number, text in enumerate(TEXTS)
        ]
        await desk.drafts.edit(drafts[-1], TEXTS[-1].replace("two things", "three things"))


def furnished_console(home: Path) -> Console:
    """The console before that desk."""
    return Console(lambda: furnished_desk(home), clock=lambda: NOW)
