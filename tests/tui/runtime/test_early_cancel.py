"""Tests for work that is cancelled before it starts."""

from pathlib import Path

import pytest

from console_driver import FakeDesk, open_console, successful_run
from copydesk.desk.sources.feed_import import Outline
from copydesk.tui.runtime.desk_tasks import DeskWork
from copydesk.tui.sources.feed_transfer import FeedImportDialog
from delayed_responses import DelayedResponse, wait_until
from desk_fixtures import URL_TWO
from sources_driver import open_sources


@pytest.mark.parametrize(("service", "name"), [("sources", "list"), ("pipeline", "queue")])
async def test_run_cancelled_before_queueing_is_cancelled(service: str, name: str) -> None:
    """Also while it is not known yet whether there is a source to fetch."""
    desk = FakeDesk(3)
    desk.pipeline.result = successful_run()
    desk.pipeline.resume.set()
    async with open_console(desk) as ui:
        held = DelayedResponse(getattr(desk, service), name)
        ui.app.start_run()
        await held.wait_until_called()
        running = ui.app._last_run
        assert running is not None
        ui.app.cancel_run()
        await wait_until(lambda: running._cancel_requested, lambda: ui.pilot.pause(0))
        held.released.set()
        await ui.wait()
        assert desk.pipeline.cancelled == ["run"]
        assert ui.app.run_view is not None
        assert not ui.app.run_view.is_active


async def test_import_closed_before_start_adds_nothing(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    async with open_sources(tmp_path) as ui:
        desk, captured = ui.app.desk, list[DeskWork]()
        assert desk is not None
        monkeypatch.setattr(ui.app, "run_desk_task", lambda work, **_: captured.append(work))
        feeds = FeedImportDialog((Outline(name="Second Site", url=URL_TWO, type="rss"),))
        ui.app.push_screen(feeds)
        await ui.wait()
        feeds.action_close()
        await captured[0](desk)
        await ui.wait()
        assert await desk.sources.list() == ()
