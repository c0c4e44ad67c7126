"""Tests for keys pressed during writes: each acts on the newest data and on the screen it was pressed on."""

from pathlib import Path

import pytest

from copydesk.editor import TypedTexts
from copydesk.errors import StoreError
from copydesk.tui.composing import FOLDER
from copydesk.tui.modals.ask import LineScreen
from copydesk.tui.modals.compose import ComposeScreen
from copydesk.tui.modals.source_form import SourceForm
from copydesk.tui.modals.voice import VoiceScreen
from copydesk.tui.source_entry import Place
from copydesk.tui.source_messages import PlaceTried
from copydesk.tui.widgets.typing import Typing
from desk_fixtures import ONE, TWO, add
from held_answers import HeldBack, so
from setup_screen import furnished, on_setup
from sources_on_screen import on_sources, three_sources
from tui_fixtures import FakeDesk, Seen, console, finished, on_screen, settled


async def test_source_toggled_twice_is_unchanged(tmp_path: Path) -> None:
    async with on_sources(tmp_path, lambda desk: add(desk, ONE)) as ui:
        desk = ui.app.desk
        assert desk is not None
        held = HeldBack(desk.sources, "overview")
        ui.app.simulate_key("space")
        await held.asked()
        ui.app.simulate_key("space")
        await so(lambda: ui.app.type_ahead._held, lambda: ui._pilot.pause(0))
        held.go.set()
        await ui.wait()
        (source,) = await desk.sources.list()
        assert source.enabled


async def test_voice_editor_loads_latest_voice(tmp_path: Path) -> None:
    async with on_setup(tmp_path, furnished) as ui:
        desk = ui.app.desk
        assert desk is not None
        held = HeldBack(desk.accounts, "list")
        await desk.voice.update({"style": "Newer words."})
        await held.asked()
        await ui._pilot.press("j", "e")
        await so(lambda: isinstance(ui.app.screen, VoiceScreen), lambda: ui._pilot.pause(0.01))
        assert ui.app.screen.query_one("#style", Typing).text == "Newer words."
        held.go.set()
        await ui.wait()


async def test_run_starts_after_failed_start() -> None:
    desk = FakeDesk(3)
    desk.trouble = StoreError("It is somewhere else.")
    app = console(desk)
    async with app.run_test(size=(120, 32), notifications=True) as pilot:
        await settled(pilot)
        ui = Seen(app, pilot)
        await ui.press("P")
        desk.trouble, desk.pipeline.result = None, finished()
        desk.pipeline.go_on.set()
        await ui.press("full_stop", "P")
        assert app.run_view is not None
        assert app.run_view.ended is not None


async def test_action_is_dropped_when_its_screen_is_left(tmp_path: Path) -> None:
    async with on_setup(tmp_path, furnished, key="2") as ui:
        desk = ui.app.desk
        assert desk is not None
        held = HeldBack(desk.accounts, "list")
        ui.app.do(next(key for key in ui.app.keys if key.id == "setup.edit"))
        await held.asked()
        await ui.app.switch_mode("review")
        held.go.set()
        await ui.wait()
        assert len(ui.app.screen_stack) == 1


async def test_closed_prompt_is_not_autosaved() -> None:
    saved: list[str] = []

    async def save(text: str) -> None:
        saved.append(text)

    async with on_screen(FakeDesk(1)) as ui:
        line = LineScreen("Why?", keep=save)
        ui.app.push_screen(line)
        await ui.press("x")
        line.close("x")
        await line.keep_typed()
        await ui.wait()
        assert saved == []


async def test_fetch_of_changed_address_is_ignored(tmp_path: Path) -> None:
    async with on_sources(tmp_path, three_sources) as ui:
        desk = ui.app.desk
        assert desk is not None
        await ui.press("n", *ONE)
        form = ui.app.screen
        assert isinstance(form, SourceForm)
        result = await desk.sources.try_out("rss", ONE)
        await ui.press("x")
        form.post_message(PlaceTried(Place(form._type, ONE), result))
        await ui.wait()
        assert not form.query_one("#found").display
        assert TWO not in ui.text
        await ui.press("backspace")
        assert "saves it" in ui.text


async def test_cleared_form_is_not_autosaved(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    async with on_setup(tmp_path, key="1") as ui:
        monkeypatch.setattr("copydesk.tui.modals.typed_form.KEEP_AFTER", 60)
        await ui.press("c", "x", "ctrl+n", "y")
        form = ui.app.screen
        assert isinstance(form, ComposeScreen)
        await form.keep_typed()
        assert TypedTexts(tmp_path / FOLDER).every() == []
