"""`copydesk` on a terminal: the console. Apart, and lean, because nothing may stand before its first paint."""

import gc
import sys
from collections.abc import Sequence
from typing import TYPE_CHECKING

from copydesk.cli.context import Context
from copydesk.errors import CopydeskError
from copydesk.settings import Settings

if TYPE_CHECKING:
    from copydesk.model.draft import ListedDraft
    from copydesk.tui.keys import Key

SHOWN = 200
"""Drafts that the first look brings; the console shows no more at once."""


def console(context: Context) -> None:
    """Open the console; the exit code is its own."""
    # What is imported now lives to the end: looking through it for garbage would be a tenth of the start.
    gc.disable()
    from copydesk.tui.app import Console  # noqa: PLC0415 - Textual is not for the commands
    from copydesk.tui.kept_theme import FILE  # noqa: PLC0415 - as above

    try:
        settings = context.settings()
        database, keys = settings.database_file, _keys(settings)
    except CopydeskError as error:
        context.fail(error)

    def glance() -> "Sequence[ListedDraft]":
        from copydesk.desk.glance import glance  # noqa: PLC0415 - after the first paint

        gc.freeze()
        gc.enable()
        return glance(database, SHOWN)

    app = Console(
        context.desk,
        glance=glance,
        jobs=True,
        name="sample" if context.sample else "",
        keys=keys,
        advice=context.advice,
        theme_file=settings.data_home / FILE,
    )
    sys.exit(app.run() or 0)


def console_on_web(context: Context, port: int | None) -> None:
    """Serve the console to a browser. What is wrong with the settings is said here, not in the browser."""
    from copydesk.cli import web  # noqa: PLC0415 - what the terminal's console needs comes without it

    try:
        _keys(context.settings())
        web.serve(context, port or web.PORT)
    except CopydeskError as error:
        context.fail(error)


def _keys(settings: Settings) -> "Sequence[Key]":
    """The key table, with the user's own keys in it."""
    from copydesk.tui.keymap import with_own_keys  # noqa: PLC0415 - Textual is not for the commands

    return with_own_keys(settings.keys, settings.file)
