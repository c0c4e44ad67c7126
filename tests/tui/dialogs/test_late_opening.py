"""Tests for dialogs that open late: typed keys wait for them, and they open only on their own screen."""

import asyncio
from collections.abc import AsyncIterator
from contextlib import asynccontextmanager
from pathlib import Path

import pytest
from textual.screen import Screen

from console_driver import NOW, ConsoleDriver, FakeDesk, wait_until_idle
from copydesk.editor import Autosave
from copydesk.model.schedule import Slot
from copydesk.tui.app import Console
from copydesk.tui.compose import actions, unsaved
from copydesk.tui.compose.dialog import ComposeDialog
from copydesk.tui.dialogs.autosaved_form import AutosavedText
from copydesk.tui.dialogs.base import PageDialog
from copydesk.tui.review.dialogs import FilterDialog
from copydesk.tui.runtime.key_buffer import Hold
from copydesk.tui.schedule.screen import ScheduleScreen
from copydesk.tui.sources.messages import FeedsLoaded
from copydesk.tui.widgets.inputs import SafeTextArea
from delayed_responses import DelayedResponse, wait_until
from review_driver import TEXTS, ReviewDriver, open_review
from schedule_driver import open_schedule
from schedule_fixtures import insert_drafts
from setup_driver import add_sample_setup, open_setup
from sources_driver import add_three_sources, open_sources


@asynccontextmanager
async def composing_held(
    home: Path, monkeypatch: pytest.MonkeyPatch
) -> AsyncIterator[tuple[ReviewDriver, DelayedResponse]]:
    """Press c on the review; the form opens when the yielded handle is released."""
    text = AutosavedText(Autosave(home / unsaved.COMPOSE_FOLDER), unsaved.NEW_DRAFT_NAME)
    monkeypatch.setattr(actions, "AutosavedText", lambda *_: text)
    held = DelayedResponse(text, "load")
    async with open_review(home, texts=TEXTS[:2]) as review:
        review.app.simulate_key("c")
        await held.wait_until_called()
        yield review, held


def top_screen(ui: ConsoleDriver) -> Screen[object]:
    return ui.app.screen_stack[-1]


async def type_held_keys(ui: ConsoleDriver, *keys: str) -> None:
    """Type keys one after another; each must be queued."""
    for key in keys:
        held_before = [*ui.app.type_ahead._held]
        ui.app.simulate_key(key)
        await wait_until(lambda before=held_before: [*ui.app.type_ahead._held] != before, lambda: ui.pilot.pause(0))


async def switch_away_and_release(ui: ConsoleDriver, held: DelayedResponse) -> None:
    """Switch to another screen, then release the answer."""
    await held.wait_until_called()
    await ui.app.switch_mode("engagement")
    held.released.set()
    await ui.wait()


# Keys


async def test_keys_after_compose_go_to_form(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    async with composing_held(tmp_path, monkeypatch) as (review, held):
        await type_held_keys(review, *"quick3")
        held.released.set()
        await review.wait()
        form = top_screen(review)
        assert isinstance(form, ComposeDialog)
        assert form.query_one("#text", SafeTextArea).text == "quick3"
        assert not review.app._exit


@pytest.mark.parametrize("key", ["f", "H"])
async def test_number_after_opening_key_does_not_switch_screen(tmp_path: Path, key: str) -> None:
    async with open_review(tmp_path, texts=TEXTS[:2]) as review:
        held = (
            DelayedResponse(review.desk.sources, "list")
            if key == "f"
            else DelayedResponse(review.desk.drafts, "describe_history")
        )
        review.app.simulate_key(key)
        await held.wait_until_called()
        await type_held_keys(review, "3")
        held.released.set()
        await review.wait()
        assert review.app.current_mode == "review"
        assert isinstance(top_screen(review), FilterDialog | PageDialog)


async def test_compose_waits_for_open_desk() -> None:
    desk, opened = FakeDesk(3), asyncio.Event()

    @asynccontextmanager
    async def open_later() -> AsyncIterator[FakeDesk]:
        await opened.wait()
        async with desk.open():
            yield desk

    app = Console(open_later, clock=lambda: NOW)  # type: ignore[arg-type]
    async with app.run_test(size=(120, 32), notifications=True) as pilot:
        ui = ConsoleDriver(app, pilot)
        await type_held_keys(ui, "c", *"quick")
        opened.set()
        await wait_until_idle(pilot)
        form = top_screen(ui)
        assert isinstance(form, ComposeDialog)
        assert form.query_one("#text", SafeTextArea).text == "quick"


async def test_screen_switch_does_not_wait_for_reads(tmp_path: Path) -> None:
    async with open_review(tmp_path, texts=TEXTS[:2]) as review:
        held = DelayedResponse(review.desk.drafts.views, "load")
        review.app.simulate_key("full_stop")
        await held.wait_until_called()
        review.app.simulate_key("3")
        await wait_until(lambda: review.app.current_mode == "sources", lambda: review.pilot.pause(0))
        held.released.set()
        await review.wait()


# Another screen


@pytest.mark.parametrize(("key", "service", "name"), [("f", "sources", "list"), ("H", "drafts", "describe_history")])
async def test_dialog_of_review_does_not_open_elsewhere(tmp_path: Path, key: str, service: str, name: str) -> None:
    async with open_review(tmp_path, texts=TEXTS[:2]) as review:
        held = DelayedResponse(getattr(review.desk, service), name)
        review.app.simulate_key(key)
        await switch_away_and_release(review, held)
        assert len(review.app.screen_stack) == 1


async def test_diff_does_not_open_elsewhere(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    async with open_review(tmp_path, texts=TEXTS[:2]) as review:
        first, second = (row.id for row in review.screen.queue.window.rows)

        async def versions(*_: object) -> tuple[str, str]:
            return first, second

        monkeypatch.setattr(review.screen.review_actions.inspecting, "_versions", versions)
        held = DelayedResponse(review.desk.drafts, "compare")
        review.app.simulate_key("d")
        await switch_away_and_release(review, held)
        assert len(review.app.screen_stack) == 1


async def test_compose_form_does_not_open_elsewhere(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    async with composing_held(tmp_path, monkeypatch) as (review, held):
        await switch_away_and_release(review, held)
        assert len(review.app.screen_stack) == 1


async def test_dialog_does_not_open_over_newer_one(tmp_path: Path) -> None:
    async with open_review(tmp_path, texts=TEXTS[:2]) as review:
        held = DelayedResponse(review.desk.sources, "list")
        review.app.simulate_key("f")
        await held.wait_until_called()
        review.app.action_help()
        held.released.set()
        await review.wait()
        assert len(review.app.screen_stack) == 2
        assert not isinstance(top_screen(review), FilterDialog)


@pytest.mark.parametrize(("key", "service", "name"), [("s", "drafts", "list"), ("Q", "schedule", "auto_schedule")])
async def test_schedule_dialog_does_not_open_elsewhere(tmp_path: Path, key: str, service: str, name: str) -> None:
    async with open_schedule(tmp_path) as ui:
        await ui.press("]")
        await insert_drafts(ui.desk)
        await ui.desk.schedule.set_slots([Slot(day_of_week=1, hour=9, minute=0)])
        assert ui.app.desk is not None
        held = DelayedResponse(getattr(ui.app.desk, service), name)
        ui.app.simulate_key(key)
        await switch_away_and_release(ui, held)
        assert len(ui.app.screen_stack) == 1


async def test_platform_list_does_not_open_elsewhere(tmp_path: Path) -> None:
    async with open_setup(tmp_path, add_sample_setup) as ui:
        assert ui.app.desk is not None
        held = DelayedResponse(ui.app.desk._context.platforms, "load")
        ui.app.screen._load_form("keyed")
        await switch_away_and_release(ui, held)
        assert len(ui.app.screen_stack) == 1


async def test_voice_form_does_not_open_elsewhere(tmp_path: Path) -> None:
    async with open_setup(tmp_path, add_sample_setup) as ui:
        assert ui.app.desk is not None
        held = DelayedResponse(ui.app.desk.voice, "get")
        ui.app.run_desk_task(ui.app.screen._edit_voice, hold_keys=Hold.SCREEN)
        await switch_away_and_release(ui, held)
        assert len(ui.app.screen_stack) == 1


@pytest.mark.parametrize("start", ["schedule", "setup"])
async def test_refused_zone_is_notified_on_other_screen(tmp_path: Path, start: str) -> None:
    async with open_setup(tmp_path, add_sample_setup) as ui:
        desk = ui.app.desk
        assert desk is not None
        held = DelayedResponse(desk.schedule, "set_zone")
        if start == "schedule":
            await ui.press("2")
            assert isinstance(ui.app.screen, ScheduleScreen)
            ui.app.screen._set_zone("Europe/Nowhere")
        else:
            screen = ui.app.screen
            ui.app.enqueue_write(lambda desk: screen._set_zone(desk, "Europe/Prague", "Europe/Nowhere"))
        await switch_away_and_release(ui, held)
        assert len(ui.app.screen_stack) == 1
        assert any("Europe/Nowhere" in message for message in ui.toasts)


async def test_feed_import_does_not_open_elsewhere(tmp_path: Path) -> None:
    async with open_sources(tmp_path, add_three_sources) as ui:
        sources = ui.app.screen
        await ui.app.switch_mode("engagement")
        sources.post_message(FeedsLoaded(()))
        await ui.wait()
        assert len(ui.app.screen_stack) == 1


async def test_overwrite_prompt_becomes_toast_elsewhere(tmp_path: Path) -> None:
    file = tmp_path / "there.opml"
    file.write_text("mine")
    async with open_sources(tmp_path, add_three_sources) as ui:
        assert ui.app.desk is not None
        held = DelayedResponse(ui.app.desk.sources, "export_opml")
        ui.app.screen._transfer._export_to(f"{file}")
        await switch_away_and_release(ui, held)
        assert len(ui.app.screen_stack) == 1
        assert any("already exists; nothing was exported." in message for message in ui.toasts)
        assert file.read_text() == "mine"
