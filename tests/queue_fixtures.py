"""The review's queue before a real desk, to which another process writes."""

from collections.abc import AsyncIterator
from contextlib import asynccontextmanager
from pathlib import Path

from sqlalchemy import Connection

from copydesk.desk import Desk, open_desk
from copydesk.settings import load
from copydesk.store import drafts
from copydesk.store.drafts import NewDraft
from copydesk.store.ids import new_id
from copydesk.store.tables import Origin
from copydesk.tui.app import Console
from copydesk.tui.messages import DeskChanged
from copydesk.tui.screens.review import ReviewScreen
from desk_fixtures import Watch
from store_fixtures import add_item, add_source
from tui_fixtures import NOW, Seen, draft, settled

NUMBER = 450


@asynccontextmanager
async def review(
    home: Path, number: int = NUMBER, size: tuple[int, int] = (120, 32)
) -> AsyncIterator[tuple[Seen, Desk]]:
    """The console, and a second desk on the same database: another process."""
    async with open_desk(load({}, home), clock=Watch()) as other:
        await other.ground.write(fill, 0, number)
        app = Console(lambda: open_desk(load({}, home), clock=Watch()), clock=lambda: NOW)
        async with app.run_test(size=size, notifications=True) as pilot:
            await settled(pilot)
            yield Seen(app, pilot), other


def fill(conn: Connection, user: str, first: int, last: int) -> None:
    """Drafts with their numbers in their texts, the first one the best."""
    source = add_source(conn, user, name="The Lighthouse")
    for number in range(first, last):
        values = {"text": f"Draft number {number} is here", "tags": ("even",) if number % 2 == 0 else ()}
        made = draft(number, id=new_id(NOW), item_id=add_item(conn, user, source), **values)
        new = NewDraft(draft=made, source_id=source, source_type="rss", story_id=made.item_id, origin=Origin.DIRECT)
        drafts.add(conn, user, new)
        best = {"score": 1 - number / 100_000, "id": made.id}
        conn.exec_driver_sql("UPDATE draft SET total_score = :score WHERE id = :id", best)


def screen(seen: Seen) -> ReviewScreen:
    """The review."""
    assert isinstance(seen.app.screen, ReviewScreen)
    return seen.app.screen


def number(seen: Seen) -> int:
    """The number of the draft under the cursor."""
    current = screen(seen).queue.current
    assert current is not None
    return int(current.text.split()[2])


async def chosen(seen: Seen, desk: Desk) -> list[int]:
    """The numbers of the drafts that an action is for."""
    asked = screen(seen).chosen()
    assert asked is not None
    ids = (asked.draft.id,) if asked.draft is not None else (await asked.find(desk)).ids
    known = {each.id: int(each.text.split()[2]) for each in await desk.drafts.these(tuple(ids))}
    assert asked.number == len(ids)
    return [known[draft_id] for draft_id in ids]


async def typed(seen: Seen, words: str) -> None:
    """Type words, and wait for what they find."""
    await seen._pilot.press(*("space" if letter == " " else letter for letter in words))
    await seen.wait()


async def noticed(seen: Seen) -> None:
    """Let the console notice now what another process wrote, as it does by itself within half a second."""
    seen.app.changes += 1
    seen.app._tell(DeskChanged())
    await seen.wait()
