"""Tests for relative times on the screen: they advance without any key or change."""

import asyncio
from collections.abc import Callable
from datetime import timedelta
from pathlib import Path

import pytest
from textual.pilot import Pilot

from console_driver import NOW, FakeDesk, screen_text, wait_until_idle
from copydesk.tui import desk_screen
from copydesk.tui.app import Console
from copydesk.tui.review.draft_queue import DraftQueue
from copydesk.tui.widgets.line_list import LineList
from copydesk.tui.widgets.lines import LinePainter, LineScrollView
from copydesk.tui.widgets.page import Page
from desk_fixtures import Watch, open_desk_at
from experiments_desk import make_experiments_console
from posted_desk import make_posted_console
from sources_driver import add_three_sources, make_sources_console, sample_web

DEADLINE = 60
WIDGETS_WITHOUT_AGES = {"metrics", "runs"}


def sources_console(home: Path) -> Console:
    return make_sources_console(home, sample_web())


@pytest.fixture(autouse=True)
def fast_clock_ticks(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(desk_screen, "AGE_REFRESH_INTERVAL", 0.01)


async def test_draft_age_advances_in_row_and_page() -> None:
    watch = Watch(NOW)
    app = Console(FakeDesk(3).open, clock=watch)
    async with app.run_test(size=(120, 32)) as pilot:
        await wait_until_idle(pilot)
        assert " · 2h · " in first_row(app)
        assert " · offline, 7 min ago" in screen_text(app)
        watch.now = NOW + timedelta(hours=9)
        await wait_until(pilot, lambda: " · 11h · " in first_row(app))
        await wait_until(pilot, lambda: " · offline, 9 h 7 min ago" in screen_text(app))


@pytest.mark.parametrize(
    ("name", "make_console"),
    [("experiments", make_experiments_console), ("engagement", make_posted_console), ("sources", sources_console)],
)
async def test_ages_advance_on_other_screens(
    tmp_path: Path, name: str, make_console: Callable[[Path], Console]
) -> None:
    app = make_console(tmp_path)
    if name == "sources":
        async with open_desk_at(tmp_path, sample_web(), Watch()) as desk:
            await add_three_sources(desk)
    watch = Watch(app.clock())
    app.clock = watch
    async with app.run_test(size=(120, 32)) as pilot:
        await wait_until_idle(pilot)
        await app.switch_mode(name)
        await wait_until_idle(pilot)
        texts_before = pane_texts(app)
        watch.now += timedelta(days=23, hours=5)
        await wait_until(
            pilot,
            lambda: all(old_text != new_text for old_text, new_text in zip(texts_before, pane_texts(app), strict=True)),
        )


async def test_unchanged_ages_repaint_nothing(monkeypatch: pytest.MonkeyPatch) -> None:
    app = Console(FakeDesk(3).open, clock=lambda: NOW)
    async with app.run_test(size=(120, 32)) as pilot:
        await wait_until_idle(pilot)
        updates, repaints, original = list[DraftQueue](), list[LinePainter](), DraftQueue.refresh_times

        def record_update(self: DraftQueue) -> None:
            updates.append(self)
            original(self)

        monkeypatch.setattr(DraftQueue, "refresh_times", record_update)
        monkeypatch.setattr(LinePainter, "redraw", repaints.append)
        await wait_until(pilot, lambda: len(updates) > 3)
        assert not repaints


async def wait_until(pilot: Pilot[int], is_ready: Callable[[], bool]) -> None:
    async with asyncio.timeout(DEADLINE):
        while not is_ready():
            await pilot.pause()


def pane_texts(app: Console) -> list[str]:
    """Return the texts of the widgets that display ages."""
    widgets = [
        widget
        for widget in app.screen.query(LineScrollView)
        if isinstance(widget, LineList | Page) and widget.id not in WIDGETS_WITHOUT_AGES
    ]
    return ["\n".join(widget.render_line(y).text for y in range(widget.drawable_size.height)) for widget in widgets]


def first_row(app: Console) -> str:
    """Return the queue's first row: two lines."""
    return "\n".join(screen_text(app).splitlines()[3:5])
