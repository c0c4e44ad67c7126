"""Snapshots of the review. `pytest --snapshot-update` accepts intended changes."""

import pytest

from console_driver import FakeDesk, make_console, partial_progress
from copydesk.errors import StoreBusyError
from copydesk.tui.themes import LIGHT
from snapshots import Compare, press_keys


@pytest.mark.parametrize("theme", ["", LIGHT.name], ids=["dark", "light"])
def test_full_queue(snap_compare: Compare, theme: str) -> None:
    assert snap_compare(
        make_console(FakeDesk(40)), terminal_size=(120, 32), run_before=press_keys("j", "j", "j", theme=theme)
    )


def test_wide_terminal(snap_compare: Compare) -> None:
    assert snap_compare(make_console(FakeDesk(12)), terminal_size=(160, 30), run_before=press_keys("tab"))


@pytest.mark.parametrize("keys", [("j",), ("j", "enter"), ("j", "tab", "tab")], ids=["queue", "draft", "source"])
def test_narrow_terminal(snap_compare: Compare, keys: tuple[str, ...]) -> None:
    assert snap_compare(make_console(FakeDesk(40)), terminal_size=(80, 24), run_before=press_keys(*keys))


def test_empty_queue(snap_compare: Compare) -> None:
    assert snap_compare(make_console(FakeDesk(0, sources=0)), terminal_size=(100, 20), run_before=press_keys())


def test_desk_with_open_error(snap_compare: Compare) -> None:
    desk = FakeDesk(0)
    desk.open_error = StoreBusyError(hint="Is Copydesk open elsewhere?")
    assert snap_compare(make_console(desk), terminal_size=(100, 20), run_before=press_keys())


def test_running_pipeline(snap_compare: Compare) -> None:
    desk = FakeDesk(12)
    desk.pipeline.progress = partial_progress()
    assert snap_compare(make_console(desk), terminal_size=(100, 28), run_before=press_keys("P"))


def test_help_screen(snap_compare: Compare) -> None:
    assert snap_compare(make_console(FakeDesk(3)), terminal_size=(80, 24), run_before=press_keys("question_mark"))
