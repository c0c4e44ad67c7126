"""Tests for dialogs that open late: typed keys wait for them, and they open only on their own screen."""

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
    """Press c on the review; the form opens when the yielded handle is released."""
    text = KeptText(TypedTexts(home / composing.FOLDER), composing.NEW)
    monkeypatch.setattr(composing, "KeptText", lambda *_: text)
    held = HeldBack(text, "find")
    async with reviewing(home, texts=TEXTS[:2]) as review:
        review.app.simulate_key("c")
        await held.asked()
        yield review, held


def top(seen: Seen) -> Screen[object]:
    return seen.app.screen_stack[-1]


async def typed(seen: Seen, *keys: str) -> None:
    """Type keys one after another; each must be queued."""
    for key in keys:
        held_before = [*seen.app.type_ahead._held]
        seen.app.simulate_key(key)
        await so(lambda before=held_before: [*seen.app.type_ahead._held] != before, lambda: seen._pilot.pause(0))


async def gone_elsewhere(seen: Seen, held: HeldBack) -> None:
    """Switch to another screen, then release the answer."""
    await held.asked()
    await seen.app.switch_mode("engagement")
    held.go.set()
    await seen.wait()


# Keys


async def test_keys_after_compose_go_to_form(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    async with held_compose(tmp_path, monkeypatch) as (review, held):
        await typed(review, *"quick3")
        held.go.set()
        await review.wait()
        form = top(review)
        assert isinstance(form, ComposeScreen)
        assert form.query_one("#text", Typing).text == "quick3"
        assert not review.app._exit


@pytest.mark.parametrize("key", ["f", "H"])
async def test_number_after_opening_key_does_not_switch_screen(tmp_path: Path, key: str) -> None:
    async with reviewing(tmp_path, texts=TEXTS[:2]) as review:
        held = HeldBack(review.desk.sources, "list") if key == "f" else HeldBack(review.desk.drafts, "history")
        review.app.simulate_key(key)
        await held.asked()
        await typed(review, "3")
        held.go.set()
        await review.wait()
        assert review.app.current_mode == "review"
        assert isinstance(top(review), FilterScreen | ReadingScreen)


async def test_keys_for_slow_form_do_nothing_else(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    async with held_compose(tmp_path, monkeypatch) as (review, held):
        await typed(review, *"quick")
        review.app.type_ahead._give_up(next(iter(review.app.type_ahead._awaited)))
        await stays(review, lambda: not review.app._exit)
        held.go.set()
        await review.wait()
        assert isinstance(top(review), ComposeScreen)


async def test_compose_waits_for_open_desk() -> None:
    desk, opened = FakeDesk(3), asyncio.Event()

    @asynccontextmanager
    async def open_later() -> AsyncIterator[FakeDesk]:
        await opened.wait()
        async with desk.open():
            yield desk

    app = Console(open_later, clock=lambda: NOW)  # type: ignore[arg-type]
    async with app.run_test(size=(120, 32), notifications=True) as pilot:
        ui = Seen(app, pilot)
        await typed(ui, "c", *"quick")
        opened.set()
        await settled(pilot)
        form = top(ui)
        assert isinstance(form, ComposeScreen)
        assert form.query_one("#text", Typing).text == "quick"


async def test_screen_switch_does_not_wait_for_reads(tmp_path: Path) -> None:
    async with reviewing(tmp_path, texts=TEXTS[:2]) as review:
        held = HeldBack(review.desk.drafts, "window")
        review.app.simulate_key("full_stop")
        await held.asked()
        review.app.simulate_key("3")
        await so(lambda: review.app.current_mode == "sources", lambda: review._pilot.pause(0))
        held.go.set()
        await review.wait()


# Another screen


@pytest.mark.parametrize(("key", "of", "name"), [("f", "sources", "list"), ("H", "drafts", "history")])
async def test_dialog_of_review_does_not_open_elsewhere(tmp_path: Path, key: str, of: str, name: str) -> None:
    async with reviewing(tmp_path, texts=TEXTS[:2]) as review:
        held = HeldBack(getattr(review.desk, of), name)
        review.app.simulate_key(key)
        await gone_elsewhere(review, held)
        assert len(review.app.screen_stack) == 1


async def test_diff_does_not_open_elsewhere(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    async with reviewing(tmp_path, texts=TEXTS[:2]) as review:
        first, second = (row.id for row in review.screen.rows.window.rows)

        async def versions(*_: object) -> tuple[str, str]:
            return first, second

        monkeypatch.setattr(review.screen.deciding, "_versions", versions)
        held = HeldBack(review.desk.drafts, "difference")
        review.app.simulate_key("d")
        await gone_elsewhere(review, held)
        assert len(review.app.screen_stack) == 1


async def test_compose_form_does_not_open_elsewhere(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    async with held_compose(tmp_path, monkeypatch) as (review, held):
        await gone_elsewhere(review, held)
        assert len(review.app.screen_stack) == 1


async def test_dialog_does_not_open_over_newer_one(tmp_path: Path) -> None:
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
async def test_schedule_dialog_does_not_open_elsewhere(tmp_path: Path, key: str, of: str, name: str) -> None:
    async with on_schedule(tmp_path) as ui:
        await ui.press("]")
        await put(ui.desk)
        await ui.desk.schedule.set_slots([Slot(day_of_week=1, hour=9, minute=0)])
        assert ui.app.desk is not None
        held = HeldBack(getattr(ui.app.desk, of), name)
        ui.app.simulate_key(key)
        await gone_elsewhere(ui, held)
        assert len(ui.app.screen_stack) == 1


async def test_platform_list_does_not_open_elsewhere(tmp_path: Path) -> None:
    async with on_setup(tmp_path, furnished) as ui:
        assert ui.app.desk is not None
        held = HeldBack(ui.app.desk.ground.platforms, "ready")
        ui.app.screen._ask_rest("keyed")
        await gone_elsewhere(ui, held)
        assert len(ui.app.screen_stack) == 1


async def test_voice_form_does_not_open_elsewhere(tmp_path: Path) -> None:
    async with on_setup(tmp_path, furnished) as ui:
        assert ui.app.desk is not None
        held = HeldBack(ui.app.desk.voice, "read")
        ui.app.ask(ui.app.screen._edit_voice, opens=True)
        await gone_elsewhere(ui, held)
        assert len(ui.app.screen_stack) == 1


@pytest.mark.parametrize("on", ["schedule", "setup"])
async def test_refused_zone_is_notified_on_other_screen(tmp_path: Path, on: str) -> None:
    async with on_setup(tmp_path, furnished) as ui:
        desk = ui.app.desk
        assert desk is not None
        held = HeldBack(desk.schedule, "set_zone")
        if on == "schedule":
            await ui.press("2")
            assert isinstance(ui.app.screen, WeekChanges)
            ui.app.screen._set_zone("Europe/Nowhere")
        else:
            screen = ui.app.screen
            ui.app.carry_out(lambda desk: screen._set_zone(desk, "Europe/Prague", "Europe/Nowhere"))
        await gone_elsewhere(ui, held)
        assert len(ui.app.screen_stack) == 1
        assert any("Europe/Nowhere" in message for message in ui.toasts)


async def test_feed_import_does_not_open_elsewhere(tmp_path: Path) -> None:
    async with on_sources(tmp_path, three_sources) as ui:
        sources = ui.app.screen
        await ui.app.switch_mode("engagement")
        sources.post_message(FeedsRead(()))
        await ui.wait()
        assert len(ui.app.screen_stack) == 1


async def test_overwrite_prompt_becomes_toast_elsewhere(tmp_path: Path) -> None:
    file = tmp_path / "there.opml"
    file.write_text("mine")
    async with on_sources(tmp_path, three_sources) as ui:
        assert ui.app.desk is not None
        held = HeldBack(ui.app.desk.sources, "export_opml")
        ui.app.screen._export(f"{file}")
        await gone_elsewhere(ui, held)
        assert len(ui.app.screen_stack) == 1
        assert any("is there already" in message for message in ui.toasts)
        assert file.read_text() == "mine"
