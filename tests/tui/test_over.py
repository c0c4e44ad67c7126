"""What lies over a screen closes itself and nothing else, and nothing that is typed in it is lost."""

import asyncio
from collections.abc import Awaitable, Callable
from pathlib import Path
from typing import Any

import pytest
from textual.events import Paste
from textual.widgets import Input, Static

from copydesk.desk.accounts import Accounts
from copydesk.desk.drafts import Drafts
from copydesk.desk.sources import Sources
from copydesk.desk.voice import Voices
from copydesk.tui.modals import typed_form
from copydesk.tui.modals.ask import LineScreen, YesScreen
from copydesk.tui.modals.moment import MomentScreen, Said
from copydesk.tui.modals.voice import VoiceScreen
from copydesk.tui.screens.setup import SetupScreen
from deciding_fixtures import reviewing
from held_answers import so
from setup_screen import answer, asked, furnished, gone, on_setup, setup_desk, until, write
from tui_fixtures import FakeDesk, Seen, on_screen


class Gate:
    """Lets nothing through until it is opened."""

    def __init__(self, monkeypatch: pytest.MonkeyPatch, owner: type, name: str) -> None:
        self.open = asyncio.Event()
        self.came = 0
        real: Callable[..., Awaitable[Any]] = getattr(owner, name)

        async def wait(*args: Any, **named: Any) -> Any:
            self.came += 1
            await self.open.wait()
            return await real(*args, **named)

        monkeypatch.setattr(owner, name, wait)


async def press(seen: Seen, *keys: str) -> None:
    """As `Seen.press`, while somebody waits: the console does not come to rest."""
    for key in keys:
        await seen._pilot.press(key)


async def test_one_below_another_closes_when_it_is_on_top_again(tmp_path: Path) -> None:
    async with on_screen(FakeDesk(3)) as seen:
        answers: list[object] = []
        below, above = YesScreen("Below?"), LineScreen("Above?")
        await seen.app.push_screen(below, answers.append)
        await seen.app.push_screen(above, answers.append)
        below.close(True)
        await seen.wait()
        assert seen.app.screen is above
        above.close("yes")
        await seen.wait()
        assert answers == ["yes", True]
        assert len(seen.app.screen_stack) == 1


async def test_one_that_is_closed_closes_nothing_else(tmp_path: Path) -> None:
    async with on_screen(FakeDesk(3)) as seen:
        first, second = YesScreen("First?"), YesScreen("Second?")
        await seen.app.push_screen(first)
        first.close(False)
        await seen.app.push_screen(second)
        first.close(False)
        await seen.wait()
        assert seen.app.screen is second


async def test_a_voice_that_is_saved_twice_while_the_desk_is_slow_is_saved_once(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr("copydesk.tui.type_ahead.PATIENCE", 0.05)
    gate = Gate(monkeypatch, Voices, "update")
    async with setup_desk(tmp_path) as desk:
        gate.open.set()
        await furnished(desk)
        gate.open.clear()
        gate.came = 0
    async with on_setup(tmp_path) as seen:
        await seen.press("j", "e")
        await write(seen, "More. ")
        await press(seen, "ctrl+s", "ctrl+s", "x", "escape")
        await asked(seen, "It is being saved")
        assert "xPlain" not in seen.text
        gate.open.set()
        await until(seen, "The voice is kept.")
        assert isinstance(seen.app.screen, SetupScreen)
    assert gate.came == 1


async def test_an_unexpected_error_is_said_and_saving_can_be_tried_again(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    async def fail(*_: object) -> None:
        raise RuntimeError("a flat tyre")

    async with on_setup(tmp_path, furnished) as seen:
        with monkeypatch.context() as broken:
            broken.setattr(Voices, "update", fail)
            await seen.press("j", "e")
            await write(seen, "More. ")
            await seen.press("ctrl+s")
            await until(seen, "Copydesk did not expect this: RuntimeError('a flat tyre').")
        await write(seen, "Yet ")
        assert "More. Yet Plain words." in seen.text
        await seen.press("ctrl+s")
        await until(seen, "The voice is kept.")


async def test_a_voice_that_was_typed_when_the_console_died_is_offered_again(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(typed_form, "KEEP_AFTER", 0.01)
    file = tmp_path / "voice" / "voice.v0.md"
    async with on_setup(tmp_path, furnished) as seen:
        await seen.press("j", "e")
        await write(seen, "More. ")
        await so(lambda: file.exists() and "More. " in file.read_text(), seen.wait)
    async with on_setup(tmp_path) as seen:
        await seen.press("j", "e")
        await until(seen, "and did not save it.")
        assert "More. Plain words." in seen.text
        await seen.press("ctrl+s")
        await until(seen, "The voice is kept.")
        assert not file.exists()


async def test_what_was_tried_is_shown_as_the_format_that_it_is(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    gate = Gate(monkeypatch, Voices, "try_out")
    async with on_setup(tmp_path, furnished) as seen:
        await press(seen, "j", "e")
        await asked(seen, "How you write")
        screen = seen.app.screen
        assert isinstance(screen, VoiceScreen)
        await so(lambda: gate.came, lambda: seen._pilot.pause(0.01))
        await press(seen, "tab", "tab", "tab", "right")
        await asked(seen, "‹THREAD›")
        shown: list[str] = []
        monkeypatch.setattr(screen.tried, "set_title", shown.append)
        gate.open.set()
        await until(seen, "THREAD")
        await so(lambda: shown, lambda: seen._pilot.pause(0.01))
        assert shown == ["THREAD by the offline writer, of an item of yours"]


@pytest.mark.usefixtures("impatient")
async def test_a_time_that_is_read_when_its_question_was_left_says_nothing(tmp_path: Path) -> None:
    go_on = asyncio.Event()

    async def read(_: str) -> Said:
        await go_on.wait()
        return Said("no time", good=False)

    async with on_screen(FakeDesk(3)) as seen:
        screen = MomentScreen("When?", read)
        await seen.app.push_screen(screen)
        await press(seen, "x", "enter", "escape")
        await so(lambda: not screen.query(Static), lambda: seen._pilot.pause(0.01))
        go_on.set()
        await seen.wait()
        assert seen.toasts == []


async def test_a_draft_whose_making_fails_unexpectedly_can_be_made_again(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    async def fail(*_: object) -> None:
        raise RuntimeError("a flat tyre")

    async with on_setup(tmp_path, key="1") as seen:
        await seen.press("c")
        await until(seen, "A new draft")
        await write(seen, "Words.")
        with monkeypatch.context() as broken:
            broken.setattr(Drafts, "create", fail)
            await seen.press("ctrl+s")
            await until(seen, "Copydesk did not expect this: RuntimeError('a flat tyre').")
        await seen.press("ctrl+s")
        await until(seen, "The draft is made")


async def test_nothing_is_typed_into_a_text_that_is_being_saved(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr("copydesk.tui.type_ahead.PATIENCE", 0.05)
    gate = Gate(monkeypatch, Drafts, "change")
    async with reviewing(tmp_path) as review:
        first = review.current
        await review.press("e", "ctrl+end", *" Really.")
        await press(review, "ctrl+s", "x", "y", "escape", "ctrl+s")
        await asked(review, "It is being saved")
        gate.open.set()
        await gone(review, "It is being saved")
        assert (await review.desk.drafts.get(first.id)).text == f"{first.text} Really."
        assert len(review.app.screen_stack) == 1
        assert gate.came == 1
        await review.press("e", "ctrl+end", "!")
        assert f"{first.text} Really.!" in review.text


async def test_an_account_that_is_left_while_it_is_connected_is_not_connected(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr("copydesk.tui.type_ahead.PATIENCE", 0.05)
    gate = Gate(monkeypatch, Accounts, "connect")
    async with on_setup(tmp_path) as seen:
        await seen.press("n", *["j"] * 11, "enter")
        await until(seen, "Connect an account of keyed")
        await answer(seen, "me\topen\n")
        await press(seen, "escape")
        assert gate.came == 1
        gate.open.set()
        await until(seen, "It was left before it was done")
    async with setup_desk(tmp_path) as desk:
        assert not await desk.accounts.list()


async def test_a_source_that_is_left_while_it_is_saved_is_told_of(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr("copydesk.tui.type_ahead.PATIENCE", 0.05)
    gate = Gate(monkeypatch, Sources, "create")
    async with on_setup(tmp_path, key="3") as seen:
        await seen.press("n")
        await write(seen, "https://one.example/feed")
        await press(seen, "ctrl+s", "escape", "escape")
        await asked(seen, "It is being saved")
        gate.open.set()
        await until(seen, "Added ")


async def test_a_source_that_is_left_while_it_is_read_is_read_no_further(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    gate = Gate(monkeypatch, Sources, "try_out")
    async with on_setup(tmp_path, key="3") as seen:
        await seen.press("n")
        await write(seen, "https://one.example/feed")
        await press(seen, "enter")
        await asked(seen, "Reading it …")
        await press(seen, "escape", "escape")
        await seen.wait()  # for ever, if it were still being read
        assert len(seen.app.screen_stack) == 1
        assert gate.came == 1


@pytest.mark.parametrize(
    ("screen", "keys"), [("1", ["c", *["tab"] * 2]), ("6", ["j", "e", *["tab"] * 10]), ("3", ["n"])]
)
async def test_what_is_pasted_into_a_line_is_no_command_to_the_terminal(
    tmp_path: Path, screen: str, keys: list[str]
) -> None:
    async with on_setup(tmp_path, furnished, key=screen) as seen:
        await seen.press(*keys)
        line = seen.app.focused
        assert isinstance(line, Input)
        await write(seen, "ab")
        await seen.press("left")
        seen.app.post_message(Paste("x\x1b[2Jy"))
        await seen.wait()
        await write(seen, "z")
        assert line.value == "axyzb"
