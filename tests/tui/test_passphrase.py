"""Tests for the passphrase prompt: it waits while the user types, and closes with its caller or the console."""

import asyncio
from pathlib import Path

import pytest

from copydesk.desk.accounts import Accounts
from copydesk.errors import NotFoundError
from copydesk.tui.modals.ask import LineScreen
from copydesk.tui.modals.hold import HoldScreen
from copydesk.tui.passphrase import passphrase
from held_answers import so
from setup_screen import answer, asked, on_setup, setup_desk
from tui_fixtures import FakeDesk, Seen, on_screen

KNOWN = "The passphrase of the keys"


async def nothing_but(seen: Seen, count: int) -> None:
    """Wait until the stack holds `count` screens."""
    await so(lambda: len(seen.app.screen_stack) == count, lambda: seen._pilot.pause(0.01))


async def test_prompt_waits_while_dialog_has_input() -> None:
    async with on_screen(FakeDesk(3)) as ui:
        await ui.app.push_screen(LineScreen("Why?"))
        prompt = asyncio.create_task(passphrase(ui.app, new=False))
        await answer(ui, "because")
        assert ui.toasts == ["The keys to your accounts are locked. The passphrase is asked for when this is closed."]
        assert "because" in ui.text
        await answer(ui, "\n")
        await asked(ui, KNOWN)
        await answer(ui, "words\n")
        assert await prompt == "words"


async def test_prompt_waits_while_search_has_input() -> None:
    async with on_screen(FakeDesk(3)) as ui:
        await ui.press("slash")
        prompt = asyncio.create_task(passphrase(ui.app, new=False))
        await answer(ui, "feeds")
        assert KNOWN not in ui.text
        await ui._pilot.press("enter")
        await asked(ui, KNOWN)
        await answer(ui, "words\n")
        assert await prompt == "words"


async def test_prompt_opens_over_wait_dialog() -> None:
    async with on_screen(FakeDesk(3)) as ui:
        wait_dialog = HoldScreen("Opening …")
        await ui.app.push_screen(wait_dialog)
        prompt = asyncio.create_task(passphrase(ui.app, new=False))
        await asked(ui, KNOWN)
        wait_dialog.let_go()
        await answer(ui, "words\n")
        assert await prompt == "words"
        await nothing_but(ui, 1)


async def test_prompt_closes_when_caller_is_cancelled() -> None:
    async with on_screen(FakeDesk(3)) as ui:
        prompt = asyncio.create_task(passphrase(ui.app, new=False))
        await asked(ui, KNOWN)
        prompt.cancel()
        await nothing_but(ui, 1)


async def test_exiting_console_answers_prompt(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    answers: list[str] = []

    async with setup_desk(tmp_path) as desk:
        await desk.accounts.connect("keyed", {"handle": "harbour", "password": "open"})
    async with asyncio.timeout(60), on_setup(tmp_path) as ui:
        assert ui.app.desk is not None
        request_passphrase = ui.app.desk.ground.ask
        assert request_passphrase is not None

        async def remove(*_: object) -> None:
            answers.append(await request_passphrase(new=False))
            raise NotFoundError("It was refused.")

        monkeypatch.setattr(Accounts, "remove", remove)
        await ui._pilot.press("D", "y")
        await asked(ui, KNOWN)
        ui.app.exit(0)
    assert answers == [""]


async def test_exiting_console_cancels_hung_write(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("copydesk.tui.asking.LAST_WRITES", 0.05)
    cancelled: list[str] = []

    async def hang(name: str) -> None:
        try:
            await asyncio.Event().wait()
        finally:
            cancelled.append(name)

    async with asyncio.timeout(60), on_screen(FakeDesk(3)) as ui:
        ui.app.carry_out(lambda _: hang("first"))
        ui.app.carry_out(lambda _: hang("second"))
        ui.app.exit(0)
    assert cancelled == ["first"]
