"""A key acts on what was written by the one before it, and on the screen that it was pressed on."""

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


async def test_a_source_that_is_switched_twice_is_as_it_was(tmp_path: Path) -> None:
    async with on_sources(tmp_path, lambda desk: add(desk, ONE)) as seen:
        desk = seen.app.desk
        assert desk is not None
        held = HeldBack(desk.sources, "overview")
        seen.app.simulate_key("space")
        await held.asked()
        seen.app.simulate_key("space")
        await so(lambda: seen.app.type_ahead._held, lambda: seen._pilot.pause(0))
        held.go.set()
        await seen.wait()
        (source,) = await desk.sources.list()
        assert source.enabled


async def test_the_voice_is_edited_as_it_was_saved_last_whatever_is_shown(tmp_path: Path) -> None:
    async with on_setup(tmp_path, furnished) as seen:
        desk = seen.app.desk
        assert desk is not None
        held = HeldBack(desk.accounts, "list")
        await desk.voice.update({"style": "Newer words."})
        await held.asked()
        await seen._pilot.press("j", "e")
        await so(lambda: isinstance(seen.app.screen, VoiceScreen), lambda: seen._pilot.pause(0.01))
        assert seen.app.screen.query_one("#style", Typing).text == "Newer words."
        held.go.set()
        await seen.wait()


async def test_a_run_that_could_not_begin_hinders_no_later_one() -> None:
    desk = FakeDesk(3)
    desk.trouble = StoreError("It is somewhere else.")
    app = console(desk)
    async with app.run_test(size=(120, 32), notifications=True) as pilot:
        await settled(pilot)
        seen = Seen(app, pilot)
        await seen.press("P")
        desk.trouble, desk.pipeline.result = None, finished()
        desk.pipeline.go_on.set()
        await seen.press("full_stop", "P")
        assert app.run_view is not None
        assert app.run_view.ended is not None


async def test_an_action_of_a_screen_that_was_left_by_then_is_not_done_on_another(tmp_path: Path) -> None:
    async with on_setup(tmp_path, furnished, key="2") as seen:
        desk = seen.app.desk
        assert desk is not None
        held = HeldBack(desk.accounts, "list")
        seen.app.do(next(each for each in seen.app.keys if each.id == "setup.edit"))
        await held.asked()
        await seen.app.switch_mode("review")
        held.go.set()
        await seen.wait()
        assert len(seen.app.screen_stack) == 1


async def test_what_was_answered_is_not_kept_though_that_was_about_to_be() -> None:
    kept: list[str] = []

    async def keep(text: str) -> None:
        kept.append(text)

    async with on_screen(FakeDesk(1)) as seen:
        line = LineScreen("Why?", keep=keep)
        seen.app.push_screen(line)
        await seen.press("x")
        line.close("x")
        await line.keep_typed()
        await seen.wait()
        assert kept == []


async def test_what_was_found_at_an_address_that_stands_there_no_more_is_not_shown(tmp_path: Path) -> None:
    async with on_sources(tmp_path, three_sources) as seen:
        desk = seen.app.desk
        assert desk is not None
        await seen.press("n", *ONE)
        form = seen.app.screen
        assert isinstance(form, SourceForm)
        found = await desk.sources.try_out("rss", ONE)
        await seen.press("x")
        form.post_message(PlaceTried(Place(form._type, ONE), found))
        await seen.wait()
        assert not form.query_one("#found").display
        assert TWO not in seen.text
        await seen.press("backspace")
        assert "saves it" in seen.text


async def test_of_a_form_that_was_emptied_nothing_is_kept_though_that_was_about_to_be(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    async with on_setup(tmp_path, key="1") as seen:
        monkeypatch.setattr("copydesk.tui.modals.typed_form.KEEP_AFTER", 60)
        await seen.press("c", "x", "ctrl+n", "y")
        form = seen.app.screen
        assert isinstance(form, ComposeScreen)
        await form.keep_typed()
        assert TypedTexts(tmp_path / FOLDER).every() == []
