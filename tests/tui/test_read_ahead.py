"""The draft that is likely to be next is read ahead: with its source and where it would go, before it is looked at."""

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
    """Every draft would go to one account."""

    def __init__(self) -> None:
        self.account = "bluesky:first.example"
        self.asked: list[str] = []
        self.fails_for = ""
        self.none = False
        self.answer = asyncio.Event()
        self.answer.set()

    async def preview(self, *asked: Any, **_: object) -> tuple[Preview, ...]:  # type: ignore[override]
        """What would go there."""
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
    """Some drafts, and the account."""
    made, places = FakeDesk(count), Places()
    made.posting = places
    return made, places


async def written(seen: Seen) -> None:
    """Somebody wrote something to the desk, and the console has noticed."""
    seen.app.changes += 1
    seen.app.screen.post_message(DeskChanged())
    await seen.wait()


async def test_the_next_draft_is_there_whole_before_anything_is_answered() -> None:
    fake, places = desk(5)
    async with on_screen(fake) as seen:
        await seen.press("j")
        first = seen.text
        places.answer.clear()
        seen.app.simulate_key("j")
        await so(lambda: seen.app.screen.queue.cursor == 2 and seen.text != first, seen._pilot.pause)
        assert "bluesky:first.example" in seen.text
        assert fake.drafts.items["item-2"].entry.url in seen.text
        places.answer.set()


async def test_going_up_the_one_above_is_read() -> None:
    fake, places = desk(9)
    async with on_screen(fake) as seen:
        await seen.press("G", "k")
        cursor = seen.app.screen.queue.cursor
        assert places.asked[-1] == fake.drafts.all[cursor - 1].text


async def test_nothing_is_read_of_a_draft_that_was_passed_by() -> None:
    fake, places = desk(60)
    async with on_screen(fake) as seen:
        places.answer.clear()
        for _ in range(40):
            seen.app.screen.queue.action_move(1)
        await so(lambda: seen.app.screen.queue.cursor == 40, seen._pilot.pause)
        places.answer.set()
        await seen.wait()
        assert len(places.asked) < 10
        assert "bluesky:first.example" in seen.text


async def test_what_was_read_ahead_before_something_was_written_is_read_again() -> None:
    fake, places = desk(5)
    async with on_screen(fake) as seen:
        places.account = "bluesky:other.example"
        await written(seen)
        assert "bluesky:other.example" in seen.text
        await seen.press("j")
        assert "bluesky:other.example" in seen.text
        assert "bluesky:first.example" not in seen.text


async def test_what_cannot_be_read_ahead_is_told_when_it_is_looked_at() -> None:
    fake, places = desk(5)
    places.fails_for = fake.drafts.all[2].text
    async with on_screen(fake) as seen:
        await seen.press("j")
        assert seen.toasts == []
        await seen.press("j")
        assert seen.toasts == ["This cannot be previewed."]


async def test_an_answer_that_says_nothing_new_changes_nothing_on_the_page() -> None:
    fake, places = desk(5)
    async with on_screen(fake) as seen:
        shown: list[object] = []
        seen.app.screen.draft_pane.show_more = shown.append
        asked = len(places.asked)
        await written(seen)
        assert len(places.asked) == asked + 2
        assert not shown
        places.account = "bluesky:other.example"
        await written(seen)
        assert len(shown) == 1


async def test_places_that_are_no_more_leave_the_page() -> None:
    fake, places = desk(5)
    async with on_screen(fake) as seen:
        places.none = True
        await written(seen)
        assert "bluesky:first.example" not in seen.text


async def test_reading_ahead_never_throws_away_what_is_looked_at(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(review, "_KEPT_ITEMS", 4)
    fake, _ = desk(12)
    async with on_screen(fake) as seen:
        screen = seen.app.screen
        for key in "jjjjjjjjjkkkkkkk":
            await seen.press(key)
            assert screen.queue.current.item_id in screen._items
