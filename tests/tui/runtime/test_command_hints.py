"""Tests for shell commands in messages: they carry the console's own options, so that they act on the same desk."""

from pathlib import Path

import pytest

from console_driver import NOW, ConsoleDriver, FakeDesk, wait_until_idle
from copydesk.cli.context import Context
from copydesk.errors import ConflictError, NotFoundError
from copydesk.model.draft import Action, Status
from copydesk.model.transitions import next_status
from copydesk.tui.app import Console
from copydesk.tui.keys import replace_commands_with_keys
from copydesk.tui.review.dialogs import PostDialog, PostPlan

NOT_FOUND = NotFoundError("There is no source 'x'.", hint="List all sources: `copydesk source list`.")


@pytest.mark.parametrize(
    ("home", "sample", "command"),
    [
        (None, False, "copydesk source list"),
        (None, True, "copydesk --sample source list"),
        (Path("/my desk"), True, "copydesk --home '/my desk' --sample source list"),
    ],
)
async def test_toast_and_log_commands_name_desk(*, home: Path | None, sample: bool, command: str) -> None:
    advice = Context(home=home, sample=sample, debug=False).with_desk_options
    app = Console(FakeDesk(1).open, clock=lambda: NOW, qualify_commands=advice)  # type: ignore[arg-type]
    async with app.run_test(size=(120, 32), notifications=True) as pilot:
        await wait_until_idle(pilot)
        app.notify_error(NOT_FOUND)
        app.log_problem(str(NOT_FOUND))
        await wait_until_idle(pilot)
        message = f"There is no source 'x'. List all sources: `{command}`."
        assert ConsoleDriver(app, pilot).toasts == [message]
        assert {entry.text for entry in app.read_log()} == {message}


def test_alternatives_to_refused_action_name_keys() -> None:
    refusal = "Already scheduled for Mon 30 Nov 09:00. Use reschedule, unschedule or post instead."
    assert (
        replace_commands_with_keys(refusal)
        == "Already scheduled for Mon 30 Nov 09:00. S reschedules, T unschedules, p posts now."
    )


@pytest.mark.parametrize(
    "command", ["copydesk account connect bluesky", "`copydesk account connect mastodon --url https://a.example`"]
)
async def test_log_names_the_keys_that_connect_an_account(command: str) -> None:
    app = Console(FakeDesk(1).open, clock=lambda: NOW)  # type: ignore[arg-type]
    async with app.run_test(size=(120, 32)) as pilot:
        await wait_until_idle(pilot)
        app.log_problem(f"2 due drafts wait for an account. Connect one: {command}.")
        (entry,) = app.read_log()
        assert entry.text == "2 due drafts wait for an account. Connect one: 6, then A."


def test_command_for_another_machine_is_no_key() -> None:
    text = "No credentials for bluesky:me on desk-2. Connect it there: `copydesk account connect bluesky`."
    assert replace_commands_with_keys(text) == text


def test_refusal_while_posting_names_the_key_of_needs_you() -> None:
    with pytest.raises(ConflictError) as refused:
        next_status(Action.CANCEL_SCHEDULE, Status.POSTING, archived=False)
    text = replace_commands_with_keys(str(refused.value))
    assert text.endswith("Unfinished deliveries continue. Press 0 for those that wait for you.")
    assert "copydesk" not in text


async def test_post_dialog_commands_name_desk() -> None:
    async def read() -> PostPlan:
        raise ConflictError("No account is connected.", hint="List all sources: copydesk source list")

    advice = Context(home=None, sample=True, debug=False).with_desk_options
    app = Console(FakeDesk(1).open, clock=lambda: NOW, qualify_commands=advice)  # type: ignore[arg-type]
    async with app.run_test(size=(120, 32), notifications=True) as pilot:
        await wait_until_idle(pilot)
        app.push_screen(PostDialog(read))
        await wait_until_idle(pilot)
        (toast,) = ConsoleDriver(app, pilot).toasts
        assert advice("copydesk source list") in toast
