"""Tests for dialogs: each closes only itself, and text typed in it is never lost."""

import asyncio
from collections.abc import Awaitable, Callable
from pathlib import Path
from typing import Any

import pytest
from textual.events import Paste
from textual.widgets import Input, Static

from console_driver import ConsoleDriver, FakeDesk, open_console, type_text
from copydesk.desk.accounts.service import Accounts
from copydesk.desk.drafts.service import Drafts
from copydesk.desk.sources.service import Sources
from copydesk.desk.voice import Voices
from copydesk.tui.dialogs import autosaved_form
from copydesk.tui.dialogs.prompt import ConfirmDialog, PromptDialog
from copydesk.tui.review.dialogs import ParsedTime, TimePrompt
from copydesk.tui.setup import voice_dialog
from copydesk.tui.setup.screen import SetupScreen
from copydesk.tui.setup.voice_dialog import VoiceDialog
from delayed_responses import wait_until
from review_driver import open_review
from setup_driver import (
    add_sample_setup,
    open_setup,
    open_setup_desk,
    type_answer,
    wait_for_prompt,
    wait_for_text,
    wait_until_absent,
)


class Gate:
    """Blocks one method of a class until `open` is set, and counts its calls."""

    def __init__(self, monkeypatch: pytest.MonkeyPatch, owner: type, name: str) -> None:
        self.open = asyncio.Event()
        self.calls = 0
        original: Callable[..., Awaitable[Any]] = getattr(owner, name)

        async def wait(*args: Any, **kwargs: Any) -> Any:
            self.calls += 1
            await self.open.wait()
            return await original(*args, **kwargs)

        monkeypatch.setattr(owner, name, wait)


async def press_keys(ui: ConsoleDriver, *keys: str) -> None:
    """Press keys without waiting for the console to settle: a call is blocked."""
    for key in keys:
        await ui.pilot.press(key)


async def test_covered_dialog_closes_when_uncovered(tmp_path: Path) -> None:
    async with open_console(FakeDesk(3)) as ui:
        answers: list[object] = []
        below, above = ConfirmDialog("Below?"), PromptDialog("Above?")
        await ui.app.push_screen(below, answers.append)
        await ui.app.push_screen(above, answers.append)
        below.close(True)
        await ui.wait()
        assert ui.app.screen is above
        above.close("yes")
        await ui.wait()
        assert answers == ["yes", True]
        assert len(ui.app.screen_stack) == 1


async def test_closed_dialog_closes_no_other(tmp_path: Path) -> None:
    async with open_console(FakeDesk(3)) as ui:
        first, second = ConfirmDialog("First?"), ConfirmDialog("Second?")
        await ui.app.push_screen(first)
        first.close(False)
        await ui.app.push_screen(second)
        first.close(False)
        await ui.wait()
        assert ui.app.screen is second


async def test_saving_voice_twice_saves_once(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("copydesk.tui.runtime.desk_tasks.MAX_WRITE_HOLD", 0.05)
    gate = Gate(monkeypatch, Voices, "update")
    async with open_setup_desk(tmp_path) as desk:
        gate.open.set()
        await add_sample_setup(desk)
        gate.open.clear()
        gate.calls = 0
    async with open_setup(tmp_path) as ui:
        await ui.press("j", "e")
        await type_text(ui, "More. ")
        await press_keys(ui, "ctrl+s", "ctrl+s", "x", "escape")
        await wait_for_prompt(ui, "Saving…")
        assert "xPlain" not in ui.text
        gate.open.set()
        await wait_for_text(ui, "Saved your voice.")
        assert isinstance(ui.app.screen, SetupScreen)
    assert gate.calls == 1


async def test_save_can_be_retried_after_unexpected_error(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    async def fail(*_: object) -> None:
        raise RuntimeError("a flat tyre")

    async with open_setup(tmp_path, add_sample_setup) as ui:
        with monkeypatch.context() as patch:
            patch.setattr(Voices, "update", fail)
            await ui.press("j", "e")
            await type_text(ui, "More. ")
            await ui.press("ctrl+s")
            await wait_for_text(ui, "Unexpected error: RuntimeError('a flat tyre').")
        await type_text(ui, "Yet ")
        assert "More. Yet Plain words." in ui.text
        await ui.press("ctrl+s")
        await wait_for_text(ui, "Saved your voice.")


async def test_unsaved_voice_is_restored_after_crash(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(autosaved_form, "AUTOSAVE_DELAY", 0.01)
    file = tmp_path / "voice" / "voice.v0.md"
    async with open_setup(tmp_path, add_sample_setup) as ui:
        await ui.press("j", "e")
        await type_text(ui, "More. ")
        await wait_until(lambda: file.exists() and "More. " in file.read_text(), ui.wait)
    async with open_setup(tmp_path) as ui:
        await ui.press("j", "e")
        await wait_for_text(ui, "Restored unsaved text from")
        assert "More. Plain words." in ui.text
        await ui.press("ctrl+s")
        await wait_for_text(ui, "Saved your voice.")
        assert not file.exists()


async def test_late_voice_preview_of_another_format_is_not_shown(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    gate = Gate(monkeypatch, Voices, "preview")
    async with open_setup(tmp_path, add_sample_setup) as ui:
        await press_keys(ui, "j", "e")
        await wait_for_prompt(ui, "Ctrl+S save")
        assert isinstance(ui.app.screen, VoiceDialog)
        await wait_until(lambda: gate.calls, lambda: ui.pilot.pause(0.01))
        await press_keys(ui, *["tab"] * 4, "right")
        await wait_for_prompt(ui, "‹thread›")
        titles: list[str] = []
        monkeypatch.setattr(voice_dialog, "set_title", lambda _, title: titles.append(title))
        gate.open.set()
        await wait_for_text(ui, "Too little text for a thread")
        assert titles == ["Preview"]


async def test_voice_preview_title_names_no_format_after_an_error(tmp_path: Path) -> None:
    async with open_setup(tmp_path, add_sample_setup) as ui:
        await ui.press("j", "e")
        await wait_for_text(ui, "─ Preview: short, offline writer ─")
        await ui.press(*["tab"] * 4, "right")
        await wait_for_text(ui, "Too little text for a thread")
        assert "─ Preview ─" in ui.text


@pytest.mark.usefixtures("no_key_waiting")
async def test_time_parsed_after_cancel_is_ignored(tmp_path: Path) -> None:
    proceed = asyncio.Event()

    async def read(_: str) -> ParsedTime:
        await proceed.wait()
        return ParsedTime("no time", is_valid=False)

    async with open_console(FakeDesk(3)) as ui:
        screen = TimePrompt("When?", read)
        await ui.app.push_screen(screen)
        await press_keys(ui, "x", "enter", "escape")
        await wait_until(lambda: not screen.query(Static), lambda: ui.pilot.pause(0.01))
        proceed.set()
        await ui.wait()
        assert ui.toasts == []


async def test_create_can_be_retried_after_unexpected_error(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    async def fail(*_: object) -> None:
        raise RuntimeError("a flat tyre")

    async with open_setup(tmp_path, key="1") as ui:
        await ui.press("c")
        await wait_for_text(ui, "New draft")
        await type_text(ui, "Words.")
        with monkeypatch.context() as patch:
            patch.setattr(Drafts, "create", fail)
            await ui.press("ctrl+s")
            await wait_for_text(ui, "Unexpected error: RuntimeError('a flat tyre').")
        await ui.press("ctrl+s")
        await wait_for_text(ui, "Draft created")


async def test_saving_text_ignores_typing(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("copydesk.tui.runtime.desk_tasks.MAX_WRITE_HOLD", 0.05)
    gate = Gate(monkeypatch, Drafts, "edit")
    async with open_review(tmp_path) as review:
        first = review.current
        await review.press("e", "ctrl+end", *" Really.")
        await press_keys(review, "ctrl+s", "x", "y", "escape", "ctrl+s")
        await wait_for_prompt(review, "Saving…")
        gate.open.set()
        await wait_until_absent(review, "Saving…")
        assert (await review.desk.drafts.get(first.id)).text == f"{first.text} Really."
        assert len(review.app.screen_stack) == 1
        assert gate.calls == 1
        await review.press("e", "ctrl+end", "!")
        assert f"{first.text} Really.!" in review.text


async def test_leaving_during_connect_cancels_it(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("copydesk.tui.runtime.key_buffer.MAX_HOLD", 0.05)
    gate = Gate(monkeypatch, Accounts, "connect")
    async with open_setup(tmp_path) as ui:
        await ui.press("A", *["j"] * 11, "enter")
        await wait_for_text(ui, "Connect an account · keyed")
        await type_answer(ui, "me\topen\n")
        await press_keys(ui, "escape")
        assert gate.calls == 1
        gate.open.set()
        await wait_for_text(ui, "Cancelled. Anything saved by then")
    async with open_setup_desk(tmp_path) as desk:
        assert not await desk.accounts.list()


async def test_leaving_during_save_reports_result(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("copydesk.tui.runtime.key_buffer.MAX_HOLD", 0.05)
    gate = Gate(monkeypatch, Sources, "create")
    async with open_setup(tmp_path, key="3") as ui:
        await ui.press("A")
        await type_text(ui, "https://one.example/feed")
        await press_keys(ui, "ctrl+s", "escape", "escape")
        await wait_for_prompt(ui, "Saving…")
        gate.open.set()
        await wait_for_text(ui, "Added ")


async def test_leaving_during_test_fetch_stops_it(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    gate = Gate(monkeypatch, Sources, "test_candidate")
    async with open_setup(tmp_path, key="3") as ui:
        await ui.press("A")
        await type_text(ui, "https://one.example/feed")
        await press_keys(ui, "enter")
        await wait_for_prompt(ui, "Fetching…")
        await press_keys(ui, "escape", "y")
        await ui.wait()  # would never return while the source is being fetched
        assert len(ui.app.screen_stack) == 1
        assert gate.calls == 1


@pytest.mark.parametrize(
    ("screen", "keys"), [("1", ["c", *["tab"] * 2]), ("6", ["j", "e", *["tab"] * 11]), ("3", ["A"])]
)
async def test_pasted_escape_sequences_are_removed(tmp_path: Path, screen: str, keys: list[str]) -> None:
    async with open_setup(tmp_path, add_sample_setup, key=screen) as ui:
        await ui.press(*keys)
        line = ui.app.focused
        assert isinstance(line, Input)
        await type_text(ui, "ab")
        await ui.press("left")
        ui.app.post_message(Paste("x\x1b[2Jy"))
        await ui.wait()
        await type_text(ui, "z")
        assert line.value == "axyzb"


@pytest.mark.parametrize("keys", [["r"], ["at", "A"], ["c", *["tab"] * 2]], ids=["prompt", "fields", "compose"])
async def test_all_lines_of_a_paste_are_kept(tmp_path: Path, keys: list[str]) -> None:
    async with open_review(tmp_path) as review:
        await review.press(*keys)
        line = review.app.focused
        assert isinstance(line, Input)
        review.app.post_message(Paste("Too long.\n\nShorten it.\n"))
        await review.wait()
        assert line.value == "Too long. Shorten it."
