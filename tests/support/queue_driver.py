"""The review queue on a real desk that another process writes to."""

from collections.abc import AsyncIterator
from contextlib import asynccontextmanager
from pathlib import Path

from sqlalchemy import Connection

from console_driver import NOW, ConsoleDriver, make_draft, wait_until_idle
from copydesk.desk import Desk, open_desk
from copydesk.settings import load
from copydesk.store import drafts
from copydesk.store.drafts import NewDraft
from copydesk.store.ids import new_id
from copydesk.store.tables import DraftOrigin
from copydesk.tui.app import Console
from copydesk.tui.messages import DeskChanged
from copydesk.tui.review.screen import ReviewScreen
from desk_fixtures import Watch
from store_fixtures import add_item, add_source, database_variables

DRAFT_COUNT = 450


@asynccontextmanager
async def open_queue(
    home: Path, count: int = DRAFT_COUNT, size: tuple[int, int] = (120, 32)
) -> AsyncIterator[tuple[ConsoleDriver, Desk]]:
    """Open the console, and a second desk on the same database in place of another process."""
    async with open_desk(load(database_variables(home), home), clock=Watch()) as other:
        await other._context.write(insert_drafts, 0, count)
        app = Console(lambda: open_desk(load(database_variables(home), home), clock=Watch()), clock=lambda: NOW)
        async with app.run_test(size=size, notifications=True) as pilot:
            await wait_until_idle(pilot)
            yield ConsoleDriver(app, pilot), other


def insert_drafts(conn: Connection, user: str, first: int, last: int) -> None:
    """Insert drafts numbered `first` to `last` (exclusive) in their texts, the first one with the highest score."""
    source = add_source(conn, user, name="The Lighthouse")
    for number in range(first, last):
        values = {"text": f"Draft number {number} is here", "tags": ("even",) if number % 2 == 0 else ()}
        new_draft = make_draft(number, id=new_id(NOW), item_id=add_item(conn, user, source), **values)
        row = NewDraft(
            draft=new_draft, source_id=source, source_type="rss", story_id=new_draft.item_id, origin=DraftOrigin.DIRECT
        )
        drafts.add(conn, user, row)
        score_update = {"score": 1 - number / 100_000, "id": new_draft.id}
        conn.exec_driver_sql("UPDATE draft SET total_score = :score WHERE id = :id", score_update)


def review_screen(ui: ConsoleDriver) -> ReviewScreen:
    """Return the review screen."""
    assert isinstance(ui.app.screen, ReviewScreen)
    return ui.app.screen


def current_number(ui: ConsoleDriver) -> int:
    """Return the number of the draft under the cursor."""
    current = review_screen(ui).queue.current
    assert current is not None
    return int(current.text.split()[2])


async def selected_numbers(ui: ConsoleDriver, desk: Desk) -> list[int]:
    """Return the numbers of the drafts an action would apply to."""
    selection = review_screen(ui).queue_pane.selection()
    assert selection is not None
    ids = (selection.draft.id,) if selection.draft is not None else (await selection.resolve(desk)).ids
    numbers = {draft.id: int(draft.text.split()[2]) for draft in await desk.drafts.views.by_ids(tuple(ids))}
    assert selection.number == len(ids)
    return [numbers[draft_id] for draft_id in ids]


async def type_search(ui: ConsoleDriver, text: str) -> None:
    """Type `text`, and wait for its search results."""
    await ui.pilot.press(*("space" if character == " " else character for character in text))
    await ui.wait()


async def detect_changes(ui: ConsoleDriver) -> None:
    """Let the console detect another process's writes now; it polls every half second."""
    ui.app.change_count += 1
    ui.app._post_to_screen(DeskChanged())
    await ui.wait()
