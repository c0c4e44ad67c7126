"""Tests for the key hints of forms: each is shown once, and not covered by toasts."""

from pathlib import Path

import pytest
from textual.widgets._toast import Toast

from console_driver import FakeDesk, open_console
from copydesk.tui.labels import SAMPLE_NOTICE
from copydesk.tui.review.draft_queue import DraftQueue
from copydesk.tui.widgets.key_hints import KeyHints, KeyLine
from copydesk.tui.widgets.lines import LineScrollView
from delayed_responses import wait_until
from review_driver import open_review

MESSAGE = "Nine drafts were written by the pipeline that runs every morning, and one of the sources could not be read."


@pytest.mark.parametrize("size", [(80, 24), (40, 24), (120, 40)])
@pytest.mark.parametrize("keys", [("c",), ("e",), ("6", "A", "enter"), ("6", "j", "e")])
async def test_toast_covers_no_dialog_keys(tmp_path: Path, keys: tuple[str, ...], size: tuple[int, int]) -> None:
    async with open_review(tmp_path, size=size) as review:
        await review.press(*keys)
        app = review.app
        app.notify(MESSAGE)
        await review.wait_for(lambda: app.screen.query(Toast))
        await review.wait()
        (toast,) = app.screen.query(Toast)
        assert "Nine drafts" in review.text
        assert MESSAGE[-5:] in review.text
        for line in (*app.screen.query(KeyHints), app.screen_stack[0].query_one(KeyLine)):
            assert line.region.height
            assert not line.region.intersection(toast.region)
        assert toast.region.bottom <= 4


@pytest.mark.parametrize("size", [(80, 24), (40, 24), (120, 40)])
@pytest.mark.parametrize("keys", [("c",), ("e",), ("6", "A", "enter"), ("6", "j", "e")])
async def test_form_shows_its_keys_once(tmp_path: Path, keys: tuple[str, ...], size: tuple[int, int]) -> None:
    async with open_review(tmp_path, size=size) as review:
        await review.press(*keys)
        assert review.text.count("Esc cancel") == 1


@pytest.mark.parametrize("size", [(80, 24), (120, 40)])
async def test_toast_of_an_undo_takes_one_line(tmp_path: Path, size: tuple[int, int]) -> None:
    async with open_review(tmp_path, size=size) as review:
        await review.press("a", "u")
        await review.wait_for(lambda: "Ctrl+R redo" in review.text)
        (line,) = (line for line in review.lines if "Ctrl+R redo" in line)
        assert "Undid approval of “" in line


@pytest.mark.parametrize("size", [(60, 24), (80, 24), (100, 30), (120, 40)])
@pytest.mark.parametrize("length", range(56, 112, 11))
async def test_toast_is_not_cut_off(tmp_path: Path, size: tuple[int, int], length: int) -> None:
    async with open_review(tmp_path, size=size) as review:
        message = ("word " * 30)[: length - 4] + " end"
        review.app.notify(message)
        await review.wait_for(lambda: review.app.screen.query(Toast))
        await review.wait()
        assert " end" in review.text


@pytest.mark.parametrize("size", [(40, 24), (80, 24), (120, 40)])
@pytest.mark.parametrize("keys", [(), ("enter",), ("2",), ("3",), ("4",), ("5",), ("6",), ("0",)])
async def test_toast_covers_no_text_of_a_screen(tmp_path: Path, keys: tuple[str, ...], size: tuple[int, int]) -> None:
    async with open_review(tmp_path, size=size) as review:
        await review.press(*keys)
        app = review.app
        panes = [pane for pane in app.screen.query(LineScrollView) if pane.region.height]
        heights = [pane.region.height for pane in panes]
        app.notify("Copied")
        await review.wait_for(lambda: app.screen.query(Toast))
        await review.wait()
        assert "Copied" in review.lines[-1]
        assert [pane.region.height for pane in panes] == heights
        app.clear_notifications()
        app.notify(MESSAGE)
        await review.wait_for(lambda: app.screen.query(Toast))
        await review.wait()
        (toast,) = app.screen.query(Toast)
        assert toast.region.bottom == size[1]
        assert MESSAGE[-5:] in review.text
        assert not any(pane.region.intersection(toast.region) for pane in panes)


@pytest.mark.parametrize("size", [(80, 24), (120, 40)])
async def test_no_key_is_cut_off_by_a_toast(tmp_path: Path, size: tuple[int, int]) -> None:
    async with open_review(tmp_path, size=size) as review:
        before = review.lines[-1]
        review.app.notify(SAMPLE_NOTICE)
        await review.wait_for(lambda: "Sample desk" in review.lines[-1])
        await review.wait()
        keys = review.lines[-1].partition("▌")[0].rstrip()
        *shown, help_key, leave_key = keys.strip().split("  ")
        assert (help_key, leave_key) == ("? help", "q quit")
        assert before.strip().split("  ")[: len(shown)] == shown
        assert len(shown) > 1 or size[0] == 80
        review.app.clear_notifications()
        await review.wait_for(lambda: review.lines[-1] == before)


@pytest.mark.parametrize("size", [(80, 24), (120, 40)])
async def test_toast_leaves_the_row_under_the_cursor_visible(size: tuple[int, int]) -> None:
    async with open_console(FakeDesk(100), size=size) as ui:
        for key in ("end", "home", "end"):
            await ui.press(key)
            ui.app.clear_notifications()
            ui.app.notify(MESSAGE)
            await wait_until(lambda: ui.app.screen.query(Toast), ui.wait)
            await ui.wait()
            (toast,) = ui.app.screen.query(Toast)
            queue = ui.app.screen.query_one(DraftQueue)
            row = queue.content_region.y + queue.cursor * queue.row_height - round(queue.scroll_y)
            assert not set(range(row, row + queue.row_height)) & set(range(toast.region.y, toast.region.bottom))
