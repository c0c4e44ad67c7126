"""Test for drafts deleted with their source while the review shows them."""

import asyncio
from pathlib import Path

from console_driver import ConsoleDriver, wait_until_idle
from copydesk.tui.review.draft_queue import DraftQueue
from copydesk.tui.review.marks import select_draft
from copydesk.tui.review.publish_actions import APPROVE
from copydesk.tui.review.screen import ReviewScreen
from delayed_responses import wait_until
from desk_fixtures import URL_ONE, URL_TWO, Watch, create_source, open_desk_at
from sources_driver import make_sources_console, sample_web


async def test_rows_of_deleted_source_disappear(tmp_path: Path) -> None:
    async with open_desk_at(tmp_path, sample_web(), Watch()) as desk:
        deleted_source = await create_source(desk, URL_ONE)
        await create_source(desk, URL_TWO)
        await desk.pipeline.run()
    app = make_sources_console(tmp_path, sample_web())
    async with app.run_test(size=(120, 32), notifications=True) as pilot:
        await wait_until_idle(pilot)
        ui = ConsoleDriver(app, pilot)
        assert isinstance(app.screen, ReviewScreen)
        assert app.desk is not None
        queue = app.screen.query_one(DraftQueue)
        rows_before = {row.id: row for row in queue.window.rows}
        await app.desk.sources.delete(deleted_source.id)
        remaining = {draft.id for draft in (await app.desk.drafts.list()).items}
        deleted_row = next(row for row_id, row in rows_before.items() if row_id not in remaining)

        app.screen.review_actions.runner.apply(APPROVE, target=select_draft(deleted_row))
        await wait_until(
            lambda: {row.id for row in queue.window.rows} == remaining and ui.toasts, lambda: asyncio.sleep(0.005)
        )
        await wait_until_idle(pilot)
        assert {row.id for row in queue.window.rows} == remaining
        assert f"Queue · {len(remaining)}" in ui.text
        assert ui.toasts[-1] == "This draft was deleted with its source."
