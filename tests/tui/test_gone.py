"""Test for drafts deleted with their source while the review shows them."""

import asyncio
from pathlib import Path

from copydesk.tui.chosen import one
from copydesk.tui.deciding.sending import APPROVE
from copydesk.tui.screens.deciding import Decides
from copydesk.tui.widgets.queue import Queue
from desk_fixtures import ONE, TWO, Watch, add, open_at
from held_answers import so
from sources_on_screen import console_at, small_web
from tui_fixtures import Seen, settled


async def test_rows_of_deleted_source_disappear(tmp_path: Path) -> None:
    async with open_at(tmp_path, small_web(), Watch()) as desk:
        deleted_source = await add(desk, ONE)
        await add(desk, TWO)
        await desk.pipeline.run()
    app = console_at(tmp_path, small_web())
    async with app.run_test(size=(120, 32), notifications=True) as pilot:
        await settled(pilot)
        ui = Seen(app, pilot)
        assert isinstance(app.screen, Decides)
        assert app.desk is not None
        queue = app.screen.query_one(Queue)
        rows_before = {row.id: row for row in queue.window.rows}
        await app.desk.sources.delete(deleted_source.id)
        remaining = {draft.id for draft in (await app.desk.drafts.list()).items}
        deleted_row = next(row for row_id, row in rows_before.items() if row_id not in remaining)

        app.screen.deciding.act(APPROVE, on=one(deleted_row))
        await so(lambda: {row.id for row in queue.window.rows} == remaining and ui.toasts, lambda: asyncio.sleep(0.005))
        await settled(pilot)
        assert {row.id for row in queue.window.rows} == remaining
        assert f"Queue · {len(remaining)}" in ui.text
        assert ui.toasts[-1] == "This draft is gone: its source was deleted."
