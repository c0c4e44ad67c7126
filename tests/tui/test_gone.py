"""Drafts that are deleted with their source while the review shows them."""

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


async def test_rows_leave_with_their_source_and_who_acts_on_one_is_told(tmp_path: Path) -> None:
    async with open_at(tmp_path, small_web(), Watch()) as desk:
        gone = await add(desk, ONE)
        await add(desk, TWO)
        await desk.pipeline.run()
    app = console_at(tmp_path, small_web())
    async with app.run_test(size=(120, 32), notifications=True) as pilot:
        await settled(pilot)
        seen = Seen(app, pilot)
        assert isinstance(app.screen, Decides)
        assert app.desk is not None
        queue = app.screen.query_one(Queue)
        before = {row.id: row for row in queue.window.rows}
        await app.desk.sources.delete(gone.id)
        left = {draft.id for draft in (await app.desk.drafts.list()).items}
        ghost = next(row for row_id, row in before.items() if row_id not in left)

        app.screen.deciding.act(APPROVE, on=one(ghost))
        await so(lambda: {row.id for row in queue.window.rows} == left and seen.toasts, lambda: asyncio.sleep(0.005))
        await settled(pilot)
        assert {row.id for row in queue.window.rows} == left
        assert f"Queue · {len(left)}" in seen.text
        assert seen.toasts[-1] == "This draft is gone: its source was deleted."
