"""Tests for preloading: the next draft's source and preview are loaded before it is displayed."""

import asyncio
from typing import Any

import pytest
from msgspec.structs import replace

from console_driver import ConsoleDriver, FakeDesk, FakePosting, open_console
from copydesk.errors import CopydeskError
from copydesk.model.confidence import DecisionProgress
from copydesk.model.delivery import Preview, PreviewPart
from copydesk.tui.messages import DeskChanged
from copydesk.tui.review import preview_pane
from delayed_responses import wait_until


class FakePreviews(FakePosting):
    """Previews of one account, which a test can delay, fail or empty."""

    def __init__(self) -> None:
        self.account = "bluesky:first.example"
        self.requested_texts: list[str] = []
        self.failing_text = ""
        self.empty = False
        self.release = asyncio.Event()
        self.release.set()

    async def preview(self, *args: Any, **_: object) -> tuple[Preview, ...]:  # type: ignore[override]
        """Return one preview once `release` is set."""
        text, account = args[0], self.account
        self.requested_texts.append(text)
        await self.release.wait()
        if text == self.failing_text:
            raise CopydeskError("This cannot be previewed.")
        if self.empty:
            return ()
        part = PreviewPart(text=text, length=12, limit=300)
        return (Preview(account=account, platform="bluesky", connected=True, parts=(part,)),)


def make_desk(count: int) -> tuple[FakeDesk, FakePreviews]:
    """Return a desk with `count` drafts, and its previews."""
    fake, previews = FakeDesk(count), FakePreviews()
    fake.posting = previews
    return fake, previews


async def notify_change(ui: ConsoleDriver) -> None:
    """Let the console notice a write of another process."""
    ui.app.change_count += 1
    ui.app.screen.post_message(DeskChanged())
    await ui.wait()


async def test_next_draft_is_displayed_from_cache() -> None:
    fake, previews = make_desk(5)
    async with open_console(fake) as ui:
        await ui.press("j")
        first = ui.text
        previews.release.clear()
        ui.app.simulate_key("j")
        await wait_until(lambda: ui.app.screen.queue.cursor == 2 and ui.text != first, ui.pilot.pause)
        assert "first.example" in ui.text
        assert fake.drafts.items["item-2"].entry.url in ui.text
        previews.release.set()


async def test_moving_up_preloads_previous_draft() -> None:
    fake, previews = make_desk(9)
    async with open_console(fake) as ui:
        await ui.press("G", "k")
        cursor = ui.app.screen.queue.cursor
        assert previews.requested_texts[-1] == fake.drafts.all[cursor - 1].text


async def test_skipped_drafts_are_not_loaded() -> None:
    fake, previews = make_desk(60)
    async with open_console(fake) as ui:
        previews.release.clear()
        for _ in range(40):
            ui.app.screen.queue.action_move(1)
        await wait_until(lambda: ui.app.screen.queue.cursor == 40, ui.pilot.pause)
        previews.release.set()
        await ui.wait()
        assert len(previews.requested_texts) < 10
        assert "first.example" in ui.text


async def test_change_invalidates_preloaded_data() -> None:
    fake, previews = make_desk(5)
    async with open_console(fake) as ui:
        previews.account = "bluesky:other.example"
        await notify_change(ui)
        assert "other.example" in ui.text
        await ui.press("j")
        assert "other.example" in ui.text
        assert "first.example" not in ui.text


async def test_preload_error_is_reported_when_displayed() -> None:
    fake, previews = make_desk(5)
    previews.failing_text = fake.drafts.all[2].text
    async with open_console(fake) as ui:
        await ui.press("j")
        assert ui.toasts == []
        await ui.press("j")
        assert ui.toasts == ["This cannot be previewed."]


async def test_unchanged_preview_does_not_repaint() -> None:
    fake, previews = make_desk(5)
    async with open_console(fake) as ui:
        updates: list[object] = []
        ui.app.screen.preview_pane.page.show_more = updates.append
        count = len(previews.requested_texts)
        await notify_change(ui)
        assert len(previews.requested_texts) == count + 2
        assert not updates
        previews.account = "bluesky:other.example"
        await notify_change(ui)
        assert len(updates) == 1


async def test_removed_previews_leave_page() -> None:
    fake, previews = make_desk(5)
    async with open_console(fake) as ui:
        previews.empty = True
        await notify_change(ui)
        assert "first.example" not in ui.text


async def test_preloading_keeps_displayed_items(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(preview_pane, "_ITEM_CACHE_SIZE", 4)
    fake, _ = make_desk(12)
    async with open_console(fake) as ui:
        screen = ui.app.screen
        for key in "jjjjjjjjjkkkkkkk":
            await ui.press(key)
            assert screen.queue.current.item_id in screen.item_pane._items


class CountedLearning:
    """Counts how often the decisions are counted."""

    def __init__(self) -> None:
        self.count = 0

    async def progress(self) -> DecisionProgress:
        self.count += 1
        return DecisionProgress(decisions=self.count, needed=20)


async def test_decisions_are_counted_once_until_something_changes() -> None:
    fake, _ = make_desk(9)
    fake.learning = learning = CountedLearning()
    fake.drafts.all = [replace(draft, confidence_known=False) for draft in fake.drafts.all]
    async with open_console(fake) as ui:
        await ui.press("j", "j", "j")
        assert learning.count == 1
        assert "1 of 20 decisions" in ui.text
        await notify_change(ui)
        assert learning.count == 2
        assert "2 of 20 decisions" in ui.text


async def test_rows_show_the_confidence_that_decisions_have_changed() -> None:
    fake, _ = make_desk(2)
    async with open_console(fake) as ui:
        assert "93%" in ui.lines[4]
        fake.drafts.all = [replace(draft, confidence=0.5) for draft in fake.drafts.all]
        await notify_change(ui)
        assert "50%" in ui.lines[4]
