"""Asks for the passphrase of the keys to accounts on the screen: on the terminal itself nobody could answer."""

import asyncio
from collections.abc import Mapping
from typing import TYPE_CHECKING

from copydesk.errors import FieldError, InvalidError
from copydesk.tui.modals.fields import Field, FieldsScreen

if TYPE_CHECKING:
    from copydesk.desk import Desk
    from copydesk.tui.desk_app import DeskApp

ONCE, TWICE = "passphrase", "once more"
NEW = "A new passphrase for the keys to your accounts"
KNOWN = "The passphrase of the keys to your accounts"
HINT = "It is kept nowhere: without it the accounts have to be connected again."


async def passphrase(app: "DeskApp", *, new: bool) -> str:
    """What the user answers; empty where he leaves it. A new one is asked for twice."""
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
    app.push_screen(screen, end)
    try:
        with app.type_ahead.meanwhile():
            return await answered
    finally:
        if not answered.done() and screen.is_current:  # whoever asked is gone
            screen.dismiss(None)
