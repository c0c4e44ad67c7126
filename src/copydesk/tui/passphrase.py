"""Asks for the passphrase of the keys to accounts on the screen: on the terminal itself nobody could answer."""

import asyncio
from collections.abc import Mapping
from typing import TYPE_CHECKING

from textual.widgets import Input, TextArea

from copydesk.errors import FieldError, InvalidError
from copydesk.tui.modals.fields import Field, FieldsScreen

if TYPE_CHECKING:
    from copydesk.desk import Desk
    from copydesk.tui.desk_app import DeskApp

ONCE, TWICE = "passphrase", "once more"
NEW = "A new passphrase for the keys to your accounts"
KNOWN = "The passphrase of the keys to your accounts"
WAITS = "The keys to your accounts are locked. The passphrase is asked for when this is closed."
LOOK = 0.1
"""Seconds between two looks whether somebody still types."""
HINT = "It is kept nowhere: without it the accounts have to be connected again."


async def passphrase(app: "DeskApp", *, new: bool) -> str:
    """What the user answers; empty where he leaves it, or the console ends. A new one is asked for twice."""
    with app.type_ahead.meanwhile():
        asking = asyncio.create_task(_answer(app, new=new))
        ending = asyncio.create_task(app.ends.wait())
        try:
            await asyncio.wait((asking, ending), return_when=asyncio.FIRST_COMPLETED)
            return asking.result() if asking.done() else ""
        finally:
            asking.cancel()
            ending.cancel()


async def _answer(app: "DeskApp", *, new: bool) -> str:
    answered: asyncio.Future[str] = asyncio.get_running_loop().create_future()
    given: list[str] = []

    async def take(_: "Desk", values: Mapping[str, str]) -> str:
        if new and values[ONCE] != values[TWICE]:
            raise InvalidError(FieldError(TWICE, "is another one"))
        given[:] = [values[ONCE]]
        return ""

    def end(said: str | None) -> None:
        if not answered.done():
            answered.set_result(given[0] if said is not None and given else "")

    names = (ONCE, TWICE) if new else (ONCE,)
    fields = [Field(name, name, secret=True, longest=1000) for name in names]
    screen = FieldsScreen(NEW if new else KNOWN, fields, take, hint=HINT if new else "")
    await _until_nobody_types(app)
    # By the app, which hears the answer: whatever asked may be a form that goes away.
    app.call_later(app.push_screen, screen, end)
    try:
        return await answered
    finally:
        app.call_later(screen.close)  # whoever asked may be gone


async def _until_nobody_types(app: "DeskApp") -> None:
    """A question that comes by itself must not take the keys that are meant for something else."""
    told = False
    while _somebody_types(app):
        if not told:
            app.notify(WAITS, severity="warning")
        told = True
        await asyncio.sleep(LOOK)


def _somebody_types(app: "DeskApp") -> bool:
    stack = app.screen_stack
    if len(stack) > 1:
        return not getattr(stack[-1], "idle", False)
    return bool(stack) and isinstance(stack[0].focused, Input | TextArea)
