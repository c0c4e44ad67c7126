"""Prompt for the passphrase of the stored credentials in a dialog: the terminal itself belongs to the console."""

import asyncio
from collections.abc import Mapping
from typing import TYPE_CHECKING

from textual.widgets import Input, TextArea

from copydesk.errors import FieldError, InvalidError
from copydesk.tui import labels
from copydesk.tui.dialogs.fields import Field, FieldsDialog
from copydesk.tui.runtime.desk_tasks import REQUESTED_BY_USER

if TYPE_CHECKING:
    from copydesk.desk import Desk
    from copydesk.tui.desk_app import DeskApp

CHECK_INTERVAL = 0.1
"""Seconds between two checks whether the user is still typing elsewhere."""


async def prompt_passphrase(app: "DeskApp", *, new: bool) -> str:
    """Return the passphrase that the user enters; a new one must be entered twice.

    Return an empty string if the user cancels, or the console exits. Background jobs, which retry, ask only until the
    user cancels once; what the user starts asks again.
    """
    is_requested = REQUESTED_BY_USER.get()
    if app.has_declined_passphrase and not is_requested:
        return ""
    hint = labels.PASSPHRASE_NEW_HINT if new else "" if is_requested else labels.PASSPHRASE_JOBS_HINT
    # Keys held for the operation that needs the passphrase are for this dialog.
    with app.type_ahead.suspend_holds():
        prompt = asyncio.create_task(_prompt(app, hint, new=new))
        exiting = asyncio.create_task(app.desk_tasks.shutting_down.wait())
        try:
            await asyncio.wait((prompt, exiting), return_when=asyncio.FIRST_COMPLETED)
            answer = prompt.result() if prompt.done() else ""
            app.has_declined_passphrase = not answer
            return answer
        finally:
            prompt.cancel()
            exiting.cancel()


async def _prompt(app: "DeskApp", hint: str, *, new: bool) -> str:
    answer: asyncio.Future[str] = asyncio.get_running_loop().create_future()
    accepted: list[str] = []

    async def submit(_: "Desk", values: Mapping[str, str]) -> str:
        if new and values[labels.PASSPHRASE_FIELD] != values[labels.PASSPHRASE_REPEAT_FIELD]:
            raise InvalidError(FieldError(labels.PASSPHRASE_REPEAT_FIELD, labels.PASSPHRASE_MISMATCH))
        if new:
            from copydesk.desk.accounts.service import check_new_passphrase  # noqa: PLC0415 - not needed for the first paint

            check_new_passphrase(values[labels.PASSPHRASE_FIELD])
        accepted[:] = [values[labels.PASSPHRASE_FIELD]]
        return ""

    def finish(result: str | None) -> None:
        if not answer.done():
            answer.set_result(accepted[0] if result is not None and accepted else "")

    names = (labels.PASSPHRASE_FIELD, labels.PASSPHRASE_REPEAT_FIELD) if new else (labels.PASSPHRASE_FIELD,)
    fields = [Field(name, name, secret=True, max_length=1000, required=True) for name in names]
    title = labels.PASSPHRASE_NEW_TITLE if new else labels.PASSPHRASE_TITLE
    screen = FieldsDialog(title, fields, submit, hint=hint, effect=labels.CONFIRM)
    await _wait_until_idle(app)
    # Through the app, which receives the result: the screen that needs the passphrase may close.
    app.call_later(app.push_screen, screen, finish)
    try:
        return await answer
    finally:
        app.call_later(screen.close)  # the caller may have been cancelled


async def _wait_until_idle(app: "DeskApp") -> None:
    """Wait until no field has the focus.

    A dialog that opens by itself must not swallow keys meant for something else.
    """
    notified = False
    while _is_typing(app):
        if not notified:
            app.notify(labels.PASSPHRASE_LOCKED, severity="warning")
        notified = True
        await asyncio.sleep(CHECK_INTERVAL)


def _is_typing(app: "DeskApp") -> bool:
    stack = app.screen_stack
    if len(stack) > 1:
        return not getattr(stack[-1], "is_waiting", False)
    return bool(stack) and isinstance(stack[0].focused, Input | TextArea)
