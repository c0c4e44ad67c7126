"""Tests for the passphrase prompt: it waits while the user types, and closes with its caller or the console."""

import asyncio
from pathlib import Path

import pytest

from console_driver import ConsoleDriver, FakeDesk, open_console
from copydesk.desk.accounts.service import Accounts
from copydesk.errors import NotFoundError
from copydesk.tui.dialogs.base import WaitDialog
from copydesk.tui.dialogs.passphrase import prompt_passphrase
from copydesk.tui.dialogs.prompt import PromptDialog
from delayed_responses import wait_until
from setup_driver import open_setup, open_setup_desk, type_answer, wait_for_prompt

PROMPT = "Passphrase for your account credentials"


async def wait_for_screens(ui: ConsoleDriver, count: int) -> None:
    """Wait until the stack holds `count` screens."""
    await wait_until(lambda: len(ui.app.screen_stack) == count, lambda: ui.pilot.pause(0.01))


async def test_prompt_waits_while_dialog_has_input() -> None:
    async with open_console(FakeDesk(3)) as ui:
        await ui.app.push_screen(PromptDialog("Why?"))
        prompt = asyncio.create_task(prompt_passphrase(ui.app, new=False))
        await type_answer(ui, "because")
        assert ui.toasts == ["Your account credentials are locked. The passphrase prompt opens when you close this."]
        assert "because" in ui.text
        await type_answer(ui, "\n")
        await wait_for_prompt(ui, PROMPT)
        await type_answer(ui, "words\n")
        assert await prompt == "words"


async def test_prompt_waits_while_search_has_input() -> None:
    async with open_console(FakeDesk(3)) as ui:
        await ui.press("slash")
        prompt = asyncio.create_task(prompt_passphrase(ui.app, new=False))
        await type_answer(ui, "feeds")
        assert PROMPT not in ui.text
        await ui.pilot.press("enter")
        await wait_for_prompt(ui, PROMPT)
        await type_answer(ui, "words\n")
        assert await prompt == "words"


async def test_background_job_asks_once_and_the_user_again() -> None:
    answers: list[str] = []

    async with open_console(FakeDesk(3)) as ui:
        prompt = asyncio.create_task(prompt_passphrase(ui.app, new=False))
        await wait_for_prompt(ui, "metrics and webhooks need it now")
        await ui.pilot.press("escape")
        assert await prompt == ""
        assert await prompt_passphrase(ui.app, new=False) == ""

        async def post(_: object) -> None:
            answers.append(await prompt_passphrase(ui.app, new=False))

        ui.app.run_desk_task(post)
        await wait_for_prompt(ui, PROMPT)
        assert "metrics and webhooks need it now" not in ui.text
        await type_answer(ui, "words\n")
        await wait_until(lambda: answers == ["words"], lambda: ui.pilot.pause(0.01))


async def test_enter_goes_to_the_empty_repetition() -> None:
    async with open_console(FakeDesk(3)) as ui:
        prompt = asyncio.create_task(prompt_passphrase(ui.app, new=True))
        await wait_for_prompt(ui, "New passphrase for your account credentials")
        await type_answer(ui, "correct horse battery\n")
        assert "does not match" not in ui.text
        await type_answer(ui, "correct horse battery\n")
        assert await prompt == "correct horse battery"


async def test_prompt_opens_over_wait_dialog() -> None:
    async with open_console(FakeDesk(3)) as ui:
        wait_dialog = WaitDialog("Opening …")
        await ui.app.push_screen(wait_dialog)
        prompt = asyncio.create_task(prompt_passphrase(ui.app, new=False))
        await wait_for_prompt(ui, PROMPT)
        wait_dialog.finish()
        await type_answer(ui, "words\n")
        assert await prompt == "words"
        await wait_for_screens(ui, 1)


async def test_prompt_closes_when_caller_is_cancelled() -> None:
    async with open_console(FakeDesk(3)) as ui:
        prompt = asyncio.create_task(prompt_passphrase(ui.app, new=False))
        await wait_for_prompt(ui, PROMPT)
        prompt.cancel()
        await wait_for_screens(ui, 1)


async def test_exiting_console_answers_prompt(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    answers: list[str] = []

    async with open_setup_desk(tmp_path) as desk:
        await desk.accounts.connect("keyed", {"handle": "harbour", "password": "open"})
    async with asyncio.timeout(60), open_setup(tmp_path) as ui:
        assert ui.app.desk is not None
        request_passphrase = ui.app.desk._context.shared.prompt_passphrase
        assert request_passphrase is not None

        async def remove(*_: object) -> None:
            answers.append(await request_passphrase(new=False))
            raise NotFoundError("It was refused.")

        monkeypatch.setattr(Accounts, "remove", remove)
        await ui.pilot.press("D", "y")
        await wait_for_prompt(ui, PROMPT)
        ui.app.exit(0)
    assert answers == [""]


async def test_exiting_console_cancels_hung_write(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("copydesk.tui.runtime.desk_tasks.WRITE_TIMEOUT", 0.05)
    cancelled: list[str] = []

    async def hang(name: str) -> None:
        try:
            await asyncio.Event().wait()
        finally:
            cancelled.append(name)

    async with asyncio.timeout(60), open_console(FakeDesk(3)) as ui:
        ui.app.enqueue_write(lambda _: hang("first"))
        ui.app.enqueue_write(lambda _: hang("second"))
        ui.app.exit(0)
    assert cancelled == ["first"]
