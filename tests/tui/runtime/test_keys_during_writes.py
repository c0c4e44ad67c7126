"""Tests for keys pressed during writes: each acts on the newest data and on the screen it was pressed on."""

import asyncio
from pathlib import Path

import pytest

from console_driver import ConsoleDriver, FakeDesk, make_console, open_console, successful_run, wait_until_idle
from copydesk.editor import Autosave
from copydesk.errors import StoreError
from copydesk.model.draft import Status
from copydesk.tui.compose.dialog import ComposeDialog
from copydesk.tui.compose.unsaved import COMPOSE_FOLDER
from copydesk.tui.dialogs.prompt import PromptDialog
from copydesk.tui.runtime import desk_tasks
from copydesk.tui.setup.voice_dialog import VoiceDialog
from copydesk.tui.sources.form_state import SourceLocation
from copydesk.tui.sources.messages import LocationTested
from copydesk.tui.sources.source_dialogs import SourceDialog
from copydesk.tui.widgets.inputs import SafeTextArea
from delayed_responses import DelayedResponse, assert_stays, wait_until
from desk_fixtures import URL_ONE, URL_TWO, create_source
from review_driver import open_review
from setup_driver import add_sample_setup, open_setup
from sources_driver import open_sources


async def test_source_toggled_twice_is_unchanged(tmp_path: Path) -> None:
    async with open_sources(tmp_path, lambda desk: create_source(desk, URL_ONE)) as ui:
        desk = ui.app.desk
        assert desk is not None
        held = DelayedResponse(desk.sources, "list_overviews")
        ui.app.simulate_key("space")
        await held.wait_until_called()
        ui.app.simulate_key("space")
        await wait_until(lambda: ui.app.type_ahead._held, lambda: ui.pilot.pause(0))
        held.released.set()
        await ui.wait()
        (source,) = await desk.sources.list()
        assert source.enabled


async def test_voice_editor_loads_latest_voice(tmp_path: Path) -> None:
    async with open_setup(tmp_path, add_sample_setup) as ui:
        desk = ui.app.desk
        assert desk is not None
        held = DelayedResponse(desk.accounts, "list")
        await desk.voice.update({"style": "Newer words."})
        await held.wait_until_called()
        await ui.pilot.press("j", "e")
        await wait_until(lambda: isinstance(ui.app.screen, VoiceDialog), lambda: ui.pilot.pause(0.01))
        assert ui.app.screen.query_one("#style", SafeTextArea).text == "Newer words."
        held.released.set()
        await ui.wait()


async def test_run_starts_after_failed_start() -> None:
    desk = FakeDesk(3)
    desk.open_error = StoreError("It is somewhere else.")
    app = make_console(desk)
    async with app.run_test(size=(120, 32), notifications=True) as pilot:
        await wait_until_idle(pilot)
        ui = ConsoleDriver(app, pilot)
        await ui.press("P")
        desk.open_error, desk.pipeline.result = None, successful_run()
        desk.pipeline.resume.set()
        await ui.press("full_stop", "P")
        assert app.run_view is not None
        assert app.run_view.finished_run is not None


async def test_action_is_dropped_when_its_screen_is_left(tmp_path: Path) -> None:
    async with open_setup(tmp_path, add_sample_setup, key="2") as ui:
        desk = ui.app.desk
        assert desk is not None
        held = DelayedResponse(desk.accounts, "list")
        ui.app.run_key_action(next(key for key in ui.app.keys if key.id == "setup.edit"))
        await held.wait_until_called()
        await ui.app.switch_mode("review")
        held.released.set()
        await ui.wait()
        assert len(ui.app.screen_stack) == 1


async def test_key_after_a_draft_was_chosen_acts_on_it(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(desk_tasks, "READ_TIMEOUT", 600)
    async with open_review(tmp_path) as review:
        released = asyncio.Event()

        async def read(_: object) -> None:
            await released.wait()

        first, *_, last = review.screen.queue.window.rows
        review.app.run_desk_task(read)
        review.app.show_draft(last.id)
        review.app.simulate_key("a")
        await assert_stays(review, lambda: review.current.id == first.id)
        released.set()
        await review.wait()
        assert await review.get_status(first.id) is first.status
        assert await review.get_status(last.id) is Status.APPROVED


@pytest.mark.parametrize("name", ["run", "generate", "post"])
async def test_chosen_action_does_not_wait_for_background_work(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, name: str
) -> None:
    monkeypatch.setattr(desk_tasks, "READ_TIMEOUT", 600)
    async with open_review(tmp_path) as review:
        first, released = review.current, asyncio.Event()

        async def work(_: object) -> None:
            await released.wait()

        review.app.run_desk_task(work, name=name)
        review.app.run_key_action(next(key for key in review.app.keys if key.id == "review.approve"))
        await review.wait_for(lambda: review.current.id != first.id)
        released.set()


async def test_closed_prompt_is_not_autosaved(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("copydesk.tui.dialogs.prompt.AUTOSAVE_DELAY", 60)
    saved: list[str] = []

    async def save(text: str) -> None:
        saved.append(text)

    async with open_console(FakeDesk(1)) as ui:
        line = PromptDialog("Why?", autosave=save)
        ui.app.push_screen(line)
        await ui.press("x")
        line.close("x")
        await line.flush_autosave()
        await ui.wait()
        assert saved == []


async def test_fetch_of_changed_address_is_ignored(tmp_path: Path) -> None:
    async with open_sources(tmp_path) as ui:
        desk = ui.app.desk
        assert desk is not None
        await ui.press("A", *URL_ONE)
        form = ui.app.screen
        assert isinstance(form, SourceDialog)
        result = await desk.sources.test_candidate({"type": "rss", "url": URL_ONE})
        await ui.press("x")
        form.post_message(LocationTested(SourceLocation(form._type, URL_ONE), result))
        await ui.wait()
        assert not form.query_one("#found").display
        assert URL_TWO not in ui.text
        await ui.press("backspace")
        assert "Enter save ·" in ui.text


async def test_cleared_form_is_not_autosaved(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    async with open_setup(tmp_path, key="1") as ui:
        monkeypatch.setattr("copydesk.tui.dialogs.autosaved_form.AUTOSAVE_DELAY", 60)
        await ui.press("c", "x", "ctrl+n", "y")
        form = ui.app.screen
        assert isinstance(form, ComposeDialog)
        await form.flush_autosave()
        assert Autosave(tmp_path / COMPOSE_FOLDER).list_all() == []
