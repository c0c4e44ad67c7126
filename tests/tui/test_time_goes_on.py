"""Tests for relative times on the screen: they advance without any key or change."""

import asyncio
from collections.abc import Callable
from datetime import timedelta
from pathlib import Path

import pytest
from textual.pilot import Pilot

from copydesk.tui.app import Console
from copydesk.tui.screens import desk_screen
from copydesk.tui.widgets.aged import Aged
from copydesk.tui.widgets.drawn import Drawn
from copydesk.tui.widgets.ink import Ink
from copydesk.tui.widgets.page import Page
from copydesk.tui.widgets.queue import Queue
from desk_fixtures import Watch, open_at
from posted_desk import posted_console
from sources_on_screen import console_at, small_web, three_sources
from tried_desk import tried_console
from tui_fixtures import NOW, FakeDesk, screen_text, settled

DEADLINE = 60
NO_AGES = {"figures", "runs"}


def sources_console(home: Path) -> Console:
    return console_at(home, small_web())


@pytest.fixture(autouse=True)
def soon(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(desk_screen, "MINUTE", 0.01)


async def test_draft_age_advances_in_row_and_page() -> None:
    watch = Watch(NOW)
    app = Console(FakeDesk(3).open, clock=watch)
    async with app.run_test(size=(120, 32)) as pilot:
        await settled(pilot)
        assert " 7m " in row(app)
        text_before = screen_text(app)
        watch.now = NOW + timedelta(hours=9)
        await until(pilot, lambda: " 9h " in row(app))
        await until(pilot, lambda: "7 minutes" not in screen_text(app) and screen_text(app) != text_before)


@pytest.mark.parametrize(
    ("name", "made"), [("experiments", tried_console), ("engagement", posted_console), ("sources", sources_console)]
)
async def test_ages_advance_on_other_screens(tmp_path: Path, name: str, made: Callable[[Path], Console]) -> None:
    app = made(tmp_path)
    if name == "sources":
        async with open_at(tmp_path, small_web(), Watch()) as desk:
            await three_sources(desk)
    watch = Watch(app.clock())
    app.clock = watch
    async with app.run_test(size=(120, 32)) as pilot:
        await settled(pilot)
        await app.switch_mode(name)
        await settled(pilot)
        texts_before = panes(app)
        watch.now += timedelta(days=23, hours=5)
        await until(
            pilot,
            lambda: all(old_text != new_text for old_text, new_text in zip(texts_before, panes(app), strict=True)),
        )


async def test_unchanged_ages_repaint_nothing(monkeypatch: pytest.MonkeyPatch) -> None:
    app = Console(FakeDesk(3).open, clock=lambda: NOW)
    async with app.run_test(size=(120, 32)) as pilot:
        await settled(pilot)
        updates, repaints, original = list[Queue](), list[Ink](), Queue.tell_time

        def record_update(self: Queue) -> None:
            updates.append(self)
            original(self)

        monkeypatch.setattr(Queue, "tell_time", record_update)
        monkeypatch.setattr(Ink, "forget_lines", repaints.append)
        await until(pilot, lambda: len(updates) > 3)
        assert not repaints


async def until(pilot: Pilot[int], there: Callable[[], bool]) -> None:
    async with asyncio.timeout(DEADLINE):
        while not there():
            await pilot.pause()


def panes(app: Console) -> list[str]:
    """Return the texts of the widgets that display ages."""
    widgets = [
        widget for widget in app.screen.query(Drawn) if isinstance(widget, Aged | Page) and widget.id not in NO_AGES
    ]
    return ["\n".join(widget.render_line(y).text for y in range(widget.room.height)) for widget in widgets]


def row(app: Console) -> str:
    """Return the queue's first row."""
    return screen_text(app).splitlines()[3]
