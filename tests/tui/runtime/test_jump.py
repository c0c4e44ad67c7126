"""Tests for jump mode: letters on every tab, pane and row, which go there."""

import re
from pathlib import Path

import pytest

from console_driver import ConsoleDriver, FakeDesk, open_console
from copydesk.tui.jump import LETTERS, JumpDialog, list_targets, make_labels
from copydesk.tui.review.screen import ReviewScreen
from copydesk.tui.schedule.screen import ScheduleScreen
from review_driver import open_review


def labels_on_screen(ui: ConsoleDriver) -> dict[tuple[int, int], str]:
    """Return the letters by their cell."""
    assert isinstance(ui.app.screen, JumpDialog)
    return {(target.x, target.y): label for label, target in ui.app.screen._targets.items()}


async def jump_to(ui: ConsoleDriver, pattern: str, before: int = 0) -> None:
    """Jump to the letters `before` cells before the first text that matches."""
    y, x = next((y, found.start()) for y, line in enumerate(ui.lines) if (found := re.search(pattern, line)))
    await ui.press("semicolon")
    await ui.press(*labels_on_screen(ui)[x - before, y])


@pytest.mark.parametrize("count", [0, 1, 26, 27, 50, 300, 676, 900])
def test_no_label_begins_with_another(count: int) -> None:
    labels = make_labels(count)
    assert len(set(labels)) == min(count, len(LETTERS) ** 2)
    assert not any(other.startswith(label) for label in labels for other in labels if other != label)
    assert count > len(LETTERS) or all(len(label) == 1 for label in labels)


async def test_letters_go_to_rows_panes_and_tabs() -> None:
    async with open_console(FakeDesk(30), size=(120, 32)) as ui:
        screen = ui.app.screen
        assert isinstance(screen, ReviewScreen)
        await ui.press("semicolon")
        assert ui.lines[-1].strip() == "Esc cancel · type letters to go there"
        await ui.press("escape")
        await jump_to(ui, "Feeds outlive", before=5)
        assert screen.queue.cursor == 2
        await jump_to(ui, "─ Draft ─")
        assert screen.focused is screen.preview_pane.query_one("#draft")
        assert screen.queue.cursor == 2
        await jump_to(ui, "Approved", before=2)
        assert screen.queue_pane.tab == "approved"
        await jump_to(ui, "5 Engagement", before=2)
        assert ui.app.current_mode == "engagement"


async def test_rows_are_counted_from_the_scrolled_top() -> None:
    async with open_console(FakeDesk(60), size=(80, 24)) as ui:
        screen = ui.app.screen
        assert isinstance(screen, ReviewScreen)
        await ui.press("G", "k")
        rows = [target for target in list_targets(screen) if target.x == screen.queue.content_region.x]
        await ui.press("semicolon")
        await ui.press(*labels_on_screen(ui)[rows[-1].x, rows[-1].y])
        assert screen.queue.cursor == 59


async def test_hours_of_the_schedule_have_letters(tmp_path: Path) -> None:
    async with open_review(tmp_path) as ui:
        await ui.press("2")
        await jump_to(ui, "15:00", before=1)
        screen = ui.app.screen
        assert isinstance(screen, ScheduleScreen)
        assert screen.week_pane.grid.cursor is not None
        assert screen.week_pane.grid.cursor.hour.hour == 15


async def test_letters_are_over_the_screen_and_escape_leaves() -> None:
    async with open_console(FakeDesk(5), size=(80, 24)) as ui:
        before = ui.text
        await ui.press("semicolon")
        assert "Alt text takes" in ui.text
        for (x, y), label in labels_on_screen(ui).items():
            assert ui.lines[y][x : x + len(label)] == label
        assert "Esc cancel" in ui.lines[-1]
        await ui.press("0", "escape")
        assert ui.text == before


async def test_second_letter_narrows_what_is_shown() -> None:
    async with open_console(FakeDesk(60), size=(120, 60)) as ui:
        await ui.press("semicolon")
        labels = labels_on_screen(ui)
        pair = next(label for label in labels.values() if len(label) == 2)
        await ui.press(pair[0])
        shown = [cell for cell, label in labels.items() if ui.lines[cell[1]][cell[0] : cell[0] + 2] == label]
        assert shown == [cell for cell, label in labels.items() if label[0] == pair[0]]
        await ui.press(pair[1])
        assert isinstance(ui.app.screen, ReviewScreen)


async def test_letters_typed_at_once_arrive() -> None:
    async with open_console(FakeDesk(10), size=(80, 24)) as ui:
        screen = ui.app.screen
        assert isinstance(screen, ReviewScreen)
        cells = [target.y for target in list_targets(screen)]
        label = make_labels(len(cells))[cells.index(screen.queue.content_region.y + 4)]
        for key in ("semicolon", *label):
            ui.app.simulate_key(key)
        await ui.wait()
        assert screen.queue.cursor == 4


async def test_narrow_terminal_has_no_letters_for_hidden_panes() -> None:
    async with open_console(FakeDesk(3), size=(80, 24)) as ui:
        await ui.press("semicolon")
        # Six screens, the tabs, the queue and its rows.
        assert all(0 <= x < 80 and 0 <= y < 24 for x, y in labels_on_screen(ui))
        assert sum(y == 2 for _, y in labels_on_screen(ui)) == 1
