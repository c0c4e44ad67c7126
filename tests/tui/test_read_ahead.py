"""Tests for preloading: the next draft's source and preview are loaded before it is displayed."""

import asyncio
from typing import Any

import pytest

from copydesk.errors import CopydeskError
from copydesk.model.posting import Preview, PreviewPart
from copydesk.tui.messages import DeskChanged
from copydesk.tui.screens import review
from held_answers import so
from tui_fixtures import FakeDesk, FakePosting, Seen, on_screen


class Places(FakePosting):
    """Previews of one account, which a test can delay, fail or empty."""

    def __init__(self) -> None:
        self.account = "bluesky:first.example"
        self.asked: list[str] = []
        self.fails_for = ""
        self.none = False
        self.answer = asyncio.Event()
        self.answer.set()

    async def preview(self, *asked: Any, **_: object) -> tuple[Preview, ...]:  # type: ignore[override]
        """Return one preview once `release` is set."""
        text, account = asked[0], self.account
        self.asked.append(text)
        await self.answer.wait()
        if text == self.fails_for:
            raise CopydeskError("This cannot be previewed.")
        if self.none:
            return ()
        part = PreviewPart(text=text, length=12, limit=300)
        return (Preview(account=account, platform="bluesky", connected=True, parts=(part,)),)


def desk(count: int) -> tuple[FakeDesk, Places]:
    """Return a desk with `count` drafts, and its previews."""
    fake, previews = FakeDesk(count), Places()
    fake.posting = previews
    return fake, previews


async def written(seen: Seen) -> None:
    """Let the console notice a write of another process."""
    seen.app.changes += 1
    seen.app.screen.post_message(DeskChanged())
    await seen.wait()


async def test_next_draft_is_displayed_from_cache() -> None:
    fake, previews = desk(5)
    async with on_screen(fake) as ui:
        await ui.press("j")
        first = ui.text
        previews.answer.clear()
        ui.app.simulate_key("j")
        await so(lambda: ui.app.screen.queue.cursor == 2 and ui.text != first, ui._pilot.pause)
        assert "bluesky:first.example" in ui.text
        assert fake.drafts.items["item-2"].entry.url in ui.text
        previews.answer.set()


async def test_moving_up_preloads_previous_draft() -> None:
    fake, previews = desk(9)
    async with on_screen(fake) as ui:
        await ui.press("G", "k")
        cursor = ui.app.screen.queue.cursor
        assert previews.asked[-1] == fake.drafts.all[cursor - 1].text


async def test_skipped_drafts_are_not_loaded() -> None:
    fake, previews = desk(60)
    async with on_screen(fake) as ui:
        previews.answer.clear()
        for _ in range(40):
            ui.app.screen.queue.action_move(1)
        await so(lambda: ui.app.screen.queue.cursor == 40, ui._pilot.pause)
        previews.answer.set()
        await ui.wait()
        assert len(previews.asked) < 10
        assert "bluesky:first.example" in ui.text


async def test_change_invalidates_preloaded_data() -> None:
    fake, previews = desk(5)
    async with on_screen(fake) as ui:
        previews.account = "bluesky:other.example"
        await written(ui)
        assert "bluesky:other.example" in ui.text
        await ui.press("j")
        assert "bluesky:other.example" in ui.text
        assert "bluesky:first.example" not in ui.text


async def test_preload_error_is_reported_when_displayed() -> None:
    fake, previews = desk(5)
    previews.fails_for = fake.drafts.all[2].text
    async with on_screen(fake) as ui:
        await ui.press("j")
        assert ui.toasts == []
        await ui.press("j")
        assert ui.toasts == ["This cannot be previewed."]


async def test_unchanged_preview_does_not_repaint() -> None:
    fake, previews = desk(5)
    async with on_screen(fake) as ui:
        updates: list[object] = []
        ui.app.screen.draft_pane.show_more = updates.append
        count = len(previews.asked)
        await written(ui)
        assert len(previews.asked) == count + 2
        assert not updates
        previews.account = "bluesky:other.example"
        await written(ui)
        assert len(updates) == 1


async def test_removed_previews_leave_page() -> None:
    fake, previews = desk(5)
    async with on_screen(fake) as ui:
        previews.none = True
        await written(ui)
        assert "bluesky:first.example" not in ui.text


async def test_preloading_keeps_displayed_items(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(review, "_KEPT_ITEMS", 4)
    fake, _ = desk(12)
    async with on_screen(fake) as ui:
        screen = ui.app.screen
        for key in "jjjjjjjjjkkkkkkk":
            await ui.press(key)
            assert screen.queue.current.item_id in screen._items
