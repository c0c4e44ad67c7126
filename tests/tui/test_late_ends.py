"""What is stopped before it has begun does not begin."""

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
async def test_a_run_that_is_cancelled_before_it_is_queued_is_cancelled_when_it_is(of: str, name: str) -> None:
    """Be it that nobody knows yet whether there is a source to read."""
    desk = FakeDesk(3)
    desk.pipeline.result = finished()
    desk.pipeline.go_on.set()
    async with on_screen(desk) as seen:
        held = HeldBack(getattr(desk, of), name)
        seen.app.start_run()
        await held.asked()
        running = seen.app._last_run
        assert running is not None
        seen.app.cancel_run()
        await so(lambda: running._unwanted, lambda: seen._pilot.pause(0))
        held.go.set()
        await seen.wait()
        assert desk.pipeline.cancelled == ["run"]
        assert seen.app.run_view is not None
        assert not seen.app.run_view.under_way


async def test_an_import_that_is_closed_before_it_begins_adds_nothing(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    async with on_sources(tmp_path) as seen:
        desk, begun = seen.app.desk, list[Work]()
        assert desk is not None
        monkeypatch.setattr(seen.app, "ask", lambda work, **_: begun.append(work))
        feeds = FeedImport((Outline(name="Second Site", url=TWO, type=SourceType.RSS),))
        seen.app.push_screen(feeds)
        await seen.wait()
        feeds.action_close()
        await begun[0](desk)
        await seen.wait()
        assert await desk.sources.list() == ()
