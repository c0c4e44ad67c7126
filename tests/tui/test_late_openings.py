"""What a key opens takes what is typed after it, and comes over no screen but the one that it was asked for on."""

import asyncio
from collections.abc import AsyncIterator
from contextlib import asynccontextmanager
from pathlib import Path

import pytest
from textual.screen import Screen

from copydesk.editor import TypedTexts
from copydesk.model.schedule import Slot
from copydesk.tui import composing
from copydesk.tui.app import Console
from copydesk.tui.kept_text import KeptText
from copydesk.tui.modals.compose import ComposeScreen
from copydesk.tui.modals.filters import FilterScreen
from copydesk.tui.modals.reading import ReadingScreen
from copydesk.tui.screens.week_changes import WeekChanges
from copydesk.tui.source_messages import FeedsRead
from copydesk.tui.widgets.typing import Typing
from deciding_fixtures import TEXTS, Review, reviewing
from held_answers import HeldBack, so, stays
from schedule_fixtures import put
from schedule_screen import on_schedule
from setup_screen import furnished, on_setup
from sources_on_screen import on_sources, three_sources
from tui_fixtures import NOW, FakeDesk, Seen, settled


@asynccontextmanager
async def held_compose(home: Path, monkeypatch: pytest.MonkeyPatch) -> AsyncIterator[tuple[Review, HeldBack]]:
    """The review, where the form of a new draft was asked for: it opens when the test lets it."""
    text = KeptText(TypedTexts(home / composing.FOLDER), composing.NEW)
    monkeypatch.setattr(composing, "KeptText", lambda *_: text)
    held = HeldBack(text, "find")
    async with reviewing(home, texts=TEXTS[:2]) as review:
        review.app.simulate_key("c")
        await held.asked()
        yield review, held


def top(seen: Seen) -> Screen[object]:
    """What is on top."""
    return seen.app.screen_stack[-1]


async def typed(seen: Seen, *keys: str) -> None:
    """Type keys that have to wait, one after the other."""
    for key in keys:
        waiting = [*seen.app.type_ahead._held]
        seen.app.simulate_key(key)
        await so(lambda before=waiting: [*seen.app.type_ahead._held] != before, lambda: seen._pilot.pause(0))


async def gone_elsewhere(seen: Seen, held: HeldBack) -> None:
    """The answer comes after the user went to another screen."""
    await held.asked()
    await seen.app.switch_mode("engagement")
    held.go.set()
    await seen.wait()


# Keys.


async def test_what_is_typed_right_after_compose_is_for_the_form(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    async with held_compose(tmp_path, monkeypatch) as (review, held):
        await typed(review, *"quick3")
        held.go.set()
        await review.wait()
        form = top(review)
        assert isinstance(form, ComposeScreen)
        assert form.query_one("#text", Typing).text == "quick3"
        assert not review.app._exit


@pytest.mark.parametrize("key", ["f", "H"])
async def test_a_number_right_after_a_key_that_opens_something_leads_to_no_other_screen(
    tmp_path: Path, key: str
) -> None:
    async with reviewing(tmp_path, texts=TEXTS[:2]) as review:
        held = HeldBack(review.desk.sources, "list") if key == "f" else HeldBack(review.desk.drafts, "history")
        review.app.simulate_key(key)
        await held.asked()
        await typed(review, "3")
        held.go.set()
        await review.wait()
        assert review.app.current_mode == "review"
        assert isinstance(top(review), FilterScreen | ReadingScreen)


async def test_what_was_typed_for_a_form_that_takes_too_long_does_nothing_else(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    async with held_compose(tmp_path, monkeypatch) as (review, held):
        await typed(review, *"quick")
        review.app.type_ahead._give_up(next(iter(review.app.type_ahead._awaited)))
        await stays(review, lambda: not review.app._exit)
        held.go.set()
        await review.wait()
        assert isinstance(top(review), ComposeScreen)


async def test_compose_waits_until_the_desk_is_open() -> None:
    desk, go = FakeDesk(3), asyncio.Event()

    @asynccontextmanager
    async def opened_later() -> AsyncIterator[FakeDesk]:
        await go.wait()
        async with desk.open():
            yield desk

    app = Console(opened_later, clock=lambda: NOW)  # type: ignore[arg-type]
    async with app.run_test(size=(120, 32), notifications=True) as pilot:
        seen = Seen(app, pilot)
        await typed(seen, "c", *"quick")
        go.set()
        await settled(pilot)
        form = top(seen)
        assert isinstance(form, ComposeScreen)
        assert form.query_one("#text", Typing).text == "quick"


async def test_what_waits_only_for_a_reading_still_lets_one_go_elsewhere(tmp_path: Path) -> None:
    async with reviewing(tmp_path, texts=TEXTS[:2]) as review:
        held = HeldBack(review.desk.drafts, "window")
        review.app.simulate_key("full_stop")
        await held.asked()
        review.app.simulate_key("3")
        await so(lambda: review.app.current_mode == "sources", lambda: review._pilot.pause(0))
        held.go.set()
        await review.wait()


# Another screen.


@pytest.mark.parametrize(("key", "of", "name"), [("f", "sources", "list"), ("H", "drafts", "history")])
async def test_what_is_asked_for_on_the_review_does_not_come_over_another_screen(
    tmp_path: Path, key: str, of: str, name: str
) -> None:
    async with reviewing(tmp_path, texts=TEXTS[:2]) as review:
        held = HeldBack(getattr(review.desk, of), name)
        review.app.simulate_key(key)
        await gone_elsewhere(review, held)
        assert len(review.app.screen_stack) == 1


async def test_what_changed_does_not_come_over_another_screen(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    async with reviewing(tmp_path, texts=TEXTS[:2]) as review:
        first, second = (row.id for row in review.screen.rows.window.rows)

        async def versions(*_: object) -> tuple[str, str]:
            return first, second

        monkeypatch.setattr(review.screen.deciding, "_versions", versions)
        held = HeldBack(review.desk.drafts, "difference")
        review.app.simulate_key("d")
        await gone_elsewhere(review, held)
        assert len(review.app.screen_stack) == 1


async def test_the_form_of_a_new_draft_does_not_come_over_another_screen(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    async with held_compose(tmp_path, monkeypatch) as (review, held):
        await gone_elsewhere(review, held)
        assert len(review.app.screen_stack) == 1


async def test_what_is_asked_for_does_not_come_over_what_was_opened_meanwhile(tmp_path: Path) -> None:
    async with reviewing(tmp_path, texts=TEXTS[:2]) as review:
        held = HeldBack(review.desk.sources, "list")
        review.app.simulate_key("f")
        await held.asked()
        review.app.action_help()
        held.go.set()
        await review.wait()
        assert len(review.app.screen_stack) == 2
        assert not isinstance(top(review), FilterScreen)


@pytest.mark.parametrize(("key", "of", "name"), [("s", "drafts", "list"), ("A", "schedule", "auto")])
async def test_what_is_offered_on_the_schedule_does_not_come_over_another_screen(
    tmp_path: Path, key: str, of: str, name: str
) -> None:
    async with on_schedule(tmp_path) as seen:
        await seen.press("]")
        await put(seen.desk)
        await seen.desk.schedule.set_slots([Slot(day_of_week=1, hour=9, minute=0)])
        assert seen.app.desk is not None
        held = HeldBack(getattr(seen.app.desk, of), name)
        seen.app.simulate_key(key)
        await gone_elsewhere(seen, held)
        assert len(seen.app.screen_stack) == 1


async def test_the_platforms_do_not_come_over_another_screen(tmp_path: Path) -> None:
    async with on_setup(tmp_path, furnished) as seen:
        assert seen.app.desk is not None
        held = HeldBack(seen.app.desk.ground.platforms, "ready")
        seen.app.screen._ask_rest("keyed")
        await gone_elsewhere(seen, held)
        assert len(seen.app.screen_stack) == 1


async def test_the_voice_does_not_come_over_another_screen(tmp_path: Path) -> None:
    async with on_setup(tmp_path, furnished) as seen:
        assert seen.app.desk is not None
        held = HeldBack(seen.app.desk.voice, "read")
        seen.app.ask(seen.app.screen._edit_voice, opens=True)
        await gone_elsewhere(seen, held)
        assert len(seen.app.screen_stack) == 1


@pytest.mark.parametrize("on", ["schedule", "setup"])
async def test_a_zone_that_is_refused_is_said_on_another_screen_and_not_asked_for_there(
    tmp_path: Path, on: str
) -> None:
    async with on_setup(tmp_path, furnished) as seen:
        desk = seen.app.desk
        assert desk is not None
        held = HeldBack(desk.schedule, "set_zone")
        if on == "schedule":
            await seen.press("2")
            assert isinstance(seen.app.screen, WeekChanges)
            seen.app.screen._set_zone("Europe/Nowhere")
        else:
            screen = seen.app.screen
            seen.app.carry_out(lambda desk: screen._set_zone(desk, "Europe/Prague", "Europe/Nowhere"))
        await gone_elsewhere(seen, held)
        assert len(seen.app.screen_stack) == 1
        assert any("Europe/Nowhere" in said for said in seen.toasts)


async def test_a_list_of_feeds_is_not_added_from_another_screen(tmp_path: Path) -> None:
    async with on_sources(tmp_path, three_sources) as seen:
        sources = seen.app.screen
        await seen.app.switch_mode("engagement")
        sources.post_message(FeedsRead(()))
        await seen.wait()
        assert len(seen.app.screen_stack) == 1


async def test_whether_to_write_over_a_file_is_not_asked_on_another_screen_and_said_there(tmp_path: Path) -> None:
    there = tmp_path / "there.opml"
    there.write_text("mine")
    async with on_sources(tmp_path, three_sources) as seen:
        assert seen.app.desk is not None
        held = HeldBack(seen.app.desk.sources, "export_opml")
        seen.app.screen._export(f"{there}")
        await gone_elsewhere(seen, held)
        assert len(seen.app.screen_stack) == 1
        assert any("is there already" in said for said in seen.toasts)
        assert there.read_text() == "mine"
