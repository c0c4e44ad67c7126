"""Tests for work that is cancelled before it starts."""

from pathlib import Path

import pytest

from copydesk.desk.opml import Outline
from copydesk.model.source import SourceType
from copydesk.tui.asking import Work
from copydesk.tui.modals.feed_import import FeedImport
from desk_fixtures import TWO
from held_answers import HeldBack, so
from sources_on_screen import on_sources
from tui_fixtures import FakeDesk, finished, on_screen


@pytest.mark.parametrize(("of", "name"), [("sources", "list"), ("pipeline", "queue")])
async def test_run_cancelled_before_queueing_is_cancelled(of: str, name: str) -> None:
    """Also while it is not known yet whether there is a source to fetch."""
    desk = FakeDesk(3)
    desk.pipeline.result = finished()
    desk.pipeline.go_on.set()
    async with on_screen(desk) as ui:
        held = HeldBack(getattr(desk, of), name)
        ui.app.start_run()
        await held.asked()
        running = ui.app._last_run
        assert running is not None
        ui.app.cancel_run()
        await so(lambda: running._unwanted, lambda: ui._pilot.pause(0))
        held.go.set()
        await ui.wait()
        assert desk.pipeline.cancelled == ["run"]
        assert ui.app.run_view is not None
        assert not ui.app.run_view.under_way


async def test_import_closed_before_start_adds_nothing(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    async with on_sources(tmp_path) as ui:
        desk, captured = ui.app.desk, list[Work]()
        assert desk is not None
        monkeypatch.setattr(ui.app, "ask", lambda work, **_: captured.append(work))
        feeds = FeedImport((Outline(name="Second Site", url=TWO, type=SourceType.RSS),))
        ui.app.push_screen(feeds)
        await ui.wait()
        feeds.action_close()
        await captured[0](desk)
        await ui.wait()
        assert await desk.sources.list() == ()
